/* The wire format: what is sent can be read, and what a kernel gets wrong is
 * either tolerated or named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/crypto.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/jupyter/wire.h"

static const struct wire_key secret = {.bytes = "0123456789abcdef", .size = 16};
static const struct wire_key unsigned_key = {.size = 0};

enum { PLAIN_FRAMES = 6 };

/* A message in the making: topic, delimiter, signature, four JSON frames. */
struct draft {
  struct wire_frame frames[WIRE_FRAMES_MAX];
  size_t count;
  char signature[CRYPTO_SHA256_HEX];
};

static void add(struct draft *draft, const char *text, size_t size) {
  draft->frames[draft->count++] = (struct wire_frame){text, size};
}

static void compose(struct draft *draft, const struct wire_key *key,
                    const char *const json[4]) {
  struct crypto_part parts[4];
  draft->count = 0;
  add(draft, "kernel.1.stream", 15);
  add(draft, "<IDS|MSG>", 9);
  for (size_t i = 0; i < 4; i++)
    parts[i] = (struct crypto_part){json[i], strlen(json[i])};
  crypto_hmac_sha256(key->bytes, key->size, parts, 4, draft->signature);
  add(draft, draft->signature, key->size == 0 ? 0 : 64);
  for (size_t i = 0; i < 4; i++)
    add(draft, json[i], strlen(json[i]));
}

static const char *const stream[4] = {
    "{\"msg_id\":\"m1\",\"session\":\"s1\",\"msg_type\":\"stream\"}",
    "{\"msg_id\":\"p1\"}", "{}", "{\"name\":\"stdout\",\"text\":\"hi\"}"};

static int decode(const struct draft *draft, const struct wire_key *key,
                  struct message *ret, struct err *err) {
  return wire_decode(key, draft->frames, draft->count, ret, err);
}

static void expect_refusal(const struct draft *draft, const char *reason) {
  struct message message = {.type = "untouched"};
  struct err err = {0};
  assert_int_equal(decode(draft, &secret, &message, &err), -1);
  assert_int_equal(err.kind, ERR_PROTOCOL);
  if (strstr(err.text, reason) == NULL)
    fail_msg("\"%s\" does not say \"%s\"", err.text, reason);
  assert_string_equal(message.type, "untouched");
}

static void a_request_comes_back_as_it_was(void **state) {
  (void)state;
  const struct wire_key *keys[] = {&secret, &unsigned_key};
  for (size_t k = 0; k < 2; k++) {
    CLEANUP(json_done) struct json *content = json_object();
    CLEANUP(json_done) struct json *parent = json_object();
    json_set_text(content, "code", "print(\"\xC3\xA9\\\n\")");
    json_set_text(parent, "msg_id", "their-id");
    struct wire_request request = {.type = "execute_request",
                                   .id = "id \"1\"",
                                   .session = "session",
                                   .username = "user",
                                   .parent = parent,
                                   .content = content};
    CLEANUP(buf_free) struct buf bytes = BUF_INIT(BUF_SMALL);
    size_t sizes[WIRE_REQUEST_FRAMES];
    buf_text(&bytes, "before");
    assert_int_equal(wire_encode(keys[k], &request, &bytes, sizes, NULL), 0);
    struct wire_frame frames[WIRE_REQUEST_FRAMES];
    size_t at = strlen("before");
    for (size_t i = 0; i < WIRE_REQUEST_FRAMES; i++) {
      frames[i] = (struct wire_frame){bytes.data + at, sizes[i]};
      at += sizes[i];
    }
    assert_int_equal(at, bytes.length);
    CLEANUP(message_free) struct message message = {0};
    assert_int_equal(
        wire_decode(keys[k], frames, WIRE_REQUEST_FRAMES, &message, NULL), 0);
    assert_string_equal(message.type, "execute_request");
    assert_string_equal(message.id, "id \"1\"");
    assert_string_equal(message.session, "session");
    assert_string_equal(message.parent_id, "their-id");
    assert_true(json_equal(message.content, content));
    assert_int_equal(json_length(message.metadata), 0);
    assert_int_equal(message.bytes, bytes.length - strlen("before"));
    assert_string_equal(json_get_text(message.header, "version"), "5.4");
    assert_string_equal(json_get_text(message.header, "username"), "user");
    assert_int_equal(strlen(json_get_text(message.header, "date")), 27);
  }
}

/* Made with jupyter_client's Session: the signature must be what the reference
 * computes, not only what we compute ourselves. */
static void the_signature_is_the_reference_s(void **state) {
  (void)state;
  struct draft draft = {.count = 0};
  add(&draft, "<IDS|MSG>", 9);
  add(&draft,
      "c7351ca4dbf43e0b037875e395054a41836170e1b718ce29e660167cdcff74ee", 64);
  for (size_t i = 0; i < 4; i++)
    add(&draft, stream[i], strlen(stream[i]));
  CLEANUP(message_free) struct message message = {0};
  assert_int_equal(decode(&draft, &secret, &message, NULL), 0);
  assert_string_equal(message.type, "stream");
}

static void too_small_a_buffer_is_left_alone(void **state) {
  (void)state;
  struct wire_request request = {
      .type = "t", .id = "i", .session = "s", .username = "u"};
  CLEANUP(buf_free) struct buf bytes = BUF_INIT(100);
  size_t sizes[WIRE_REQUEST_FRAMES] = {7};
  struct err err = {0};
  buf_text(&bytes, "x");
  assert_int_equal(wire_encode(&secret, &request, &bytes, sizes, &err), -1);
  assert_int_equal(err.kind, ERR_TOO_LARGE);
  assert_string_equal(buf_string(&bytes), "x");
  assert_int_equal(sizes[0], 7);
}

static void identities_may_be_none_or_many(void **state) {
  (void)state;
  struct draft draft;
  compose(&draft, &secret, stream);
  struct message message = {0};
  assert_int_equal(
      wire_decode(&secret, draft.frames + 1, PLAIN_FRAMES, &message, NULL), 0);
  assert_string_equal(message.parent_id, "p1");
  message_free(&message);
  memmove(draft.frames + 3, draft.frames, draft.count * sizeof draft.frames[0]);
  for (size_t i = 0; i < 3; i++)
    draft.frames[i] = (struct wire_frame){"<IDS|MSG", 8};
  draft.count += 3;
  assert_int_equal(decode(&draft, &secret, &message, NULL), 0);
  assert_string_equal(message.session, "s1");
  message_free(&message);
}

static void buffers_are_counted_and_not_signed(void **state) {
  (void)state;
  struct draft draft;
  compose(&draft, &secret, stream);
  add(&draft, "\0\1\2", 3);
  add(&draft, "<IDS|MSG>", 9);
  CLEANUP(message_free) struct message message = {0};
  assert_int_equal(decode(&draft, &secret, &message, NULL), 0);
  assert_int_equal(message.buffer_count, 2);
  size_t whole = 15 + 9 + 64 + 3 + 9;
  for (size_t i = 0; i < 4; i++)
    whole += strlen(stream[i]);
  assert_int_equal(message.bytes, whole);
}

static void what_cannot_be_a_message_is_refused(void **state) {
  (void)state;
  struct draft draft;
  compose(&draft, &secret, stream);
  draft.count = 1;
  expect_refusal(&draft, "delimiter");
  draft.count = 0;
  expect_refusal(&draft, "delimiter");
  for (size_t count = 2; count < 1 + PLAIN_FRAMES; count++) {
    draft.count = count;
    expect_refusal(&draft, "frames");
  }
}

static void a_wrong_signature_is_refused(void **state) {
  (void)state;
  struct draft draft;
  compose(&draft, &secret, stream);
  draft.signature[63] ^= 1;
  expect_refusal(&draft, "signature");
  draft.signature[63] ^= 1;
  draft.frames[2].size = 63;
  expect_refusal(&draft, "signature");
  draft.frames[2].size = 0;
  expect_refusal(&draft, "signature");
  draft.frames[2].size = 64;
  for (size_t i = 3; i < 7; i++) {
    compose(&draft, &secret, stream);
    draft.frames[i] = (struct wire_frame){"{\"msg_type\":\"status\"}", 21};
    expect_refusal(&draft, "signature");
  }
  compose(&draft, &unsigned_key, stream);
  expect_refusal(&draft, "signature");
}

static void without_a_key_nothing_is_checked(void **state) {
  (void)state;
  struct draft draft;
  compose(&draft, &secret, stream);
  draft.signature[0] ^= 1;
  CLEANUP(message_free) struct message message = {0};
  assert_int_equal(decode(&draft, &unsigned_key, &message, NULL), 0);
}

static void null_and_wrong_kinds_become_empty_objects(void **state) {
  (void)state;
  static const char *const odd[] = {"null", "[]", "1", "\"x\"", "", " {} "};
  for (size_t i = 0; i < COUNT_OF(odd); i++) {
    const char *const json[4] = {"{\"msg_type\":\"status\",\"msg_id\":null,"
                                 "\"session\":5}",
                                 odd[i], odd[i], odd[i]};
    struct draft draft;
    compose(&draft, &secret, json);
    CLEANUP(message_free) struct message message = {0};
    assert_int_equal(decode(&draft, &secret, &message, NULL), 0);
    assert_string_equal(message.id, "");
    assert_string_equal(message.session, "");
    assert_string_equal(message.parent_id, "");
    struct json *const members[] = {message.parent, message.metadata,
                                    message.content};
    for (size_t m = 0; m < 3; m++) {
      assert_int_equal(json_kind(members[m]), JSON_OBJECT);
      assert_int_equal(json_length(members[m]), 0);
    }
  }
}

static void a_header_without_a_type_is_refused(void **state) {
  (void)state;
  static const char *const headers[] = {
      "{}", "null", "[]", "", "{\"msg_type\":null}", "{\"msg_type\":\"\"}"};
  for (size_t i = 0; i < COUNT_OF(headers); i++) {
    const char *const json[4] = {headers[i], "{}", "{}", "{}"};
    struct draft draft;
    compose(&draft, &secret, json);
    expect_refusal(&draft, "msg_type");
  }
}

static void broken_json_is_refused_by_the_name_of_its_frame(void **state) {
  (void)state;
  static const char *const names[4] = {"header", "parent header", "metadata",
                                       "content"};
  for (size_t i = 0; i < 4; i++) {
    const char *json[4] = {stream[0], stream[1], stream[2], stream[3]};
    json[i] = "{\"a\":";
    struct draft draft;
    compose(&draft, &secret, json);
    expect_refusal(&draft, names[i]);
  }
}

/* ipykernel sends print("a\udcffb") as a raw 0xFF byte, signed as it is. */
static void invalid_utf8_is_repaired_after_the_check(void **state) {
  (void)state;
  const char *const json[4] = {stream[0], stream[1], stream[2],
                               "{\"name\":\"stdout\",\"text\":\"a\xFF"
                               "b \xED\xA0\x80 \\ud800\"}"};
  struct draft draft;
  compose(&draft, &secret, json);
  CLEANUP(message_free) struct message message = {0};
  assert_int_equal(decode(&draft, &secret, &message, NULL), 0);
  const char *text = json_get_text(message.content, "text");
  assert_true(utf8_is_valid(text, strlen(text)));
  assert_memory_equal(text,
                      "a\xEF\xBF\xBD"
                      "b \xEF\xBF\xBD",
                      9);
}

static void not_a_number_is_tolerated(void **state) {
  (void)state;
  const char *const json[4] = {stream[0], stream[1], stream[2],
                               "{\"a\":NaN,\"b\":-Infinity}"};
  struct draft draft;
  compose(&draft, &secret, json);
  CLEANUP(message_free) struct message message = {0};
  assert_int_equal(decode(&draft, &secret, &message, NULL), 0);
  assert_string_equal(json_get_text(message.content, "a"), "NaN");
  assert_string_equal(json_get_text(message.content, "b"), "-Infinity");
}

static void eighty_megabytes_pass(void **state) {
  (void)state;
  size_t size = (size_t)80 << 20;
  CLEANUP(mem_free_pointer) char *content = malloc(size + 16);
  assert_non_null(content);
  size_t start = (size_t)sprintf(content, "{\"text\":\"");
  memset(content + start, 'x', size);
  strcpy(content + start + size, "\"}");
  const char *const json[4] = {stream[0], stream[1], stream[2], content};
  struct draft draft;
  compose(&draft, &secret, json);
  CLEANUP(message_free) struct message message = {0};
  assert_int_equal(decode(&draft, &secret, &message, NULL), 0);
  assert_int_equal(json_text_length(json_get(message.content, "text")), size);
}

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED true
#elif defined(__has_feature)
#define SANITIZED __has_feature(address_sanitizer)
#else
#define SANITIZED false
#endif

static size_t resident_bytes(void) {
  unsigned long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  assert_non_null(file);
  assert_int_equal(fscanf(file, "%*u %lu", &pages), 1);
  fclose(file);
  return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Many small values, with something allocated behind them that stays: without
 * a trim malloc keeps all their megabytes. */
static void memory_of_many_values_is_given_back(void **state) {
  (void)state;
  if (SANITIZED)
    skip(); /* its allocator has a quarantine of its own */
  CLEANUP(buf_free) struct buf content = BUF_INIT((size_t)16 << 20);
  buf_text(&content, "{\"a\":[0");
  while (content.length < (size_t)9 << 20)
    buf_text(&content, ",\"a short text\"");
  buf_text(&content, "]}");
  const char *const json[4] = {stream[0], stream[1], stream[2], content.data};
  struct draft draft;
  compose(&draft, &unsigned_key, json);
  size_t before = resident_bytes();
  struct message message = {0};
  assert_int_equal(decode(&draft, &unsigned_key, &message, NULL), 0);
  size_t during = resident_bytes();
  char *stays = mem_copy_text("stays");
  message_free(&message);
  size_t after = resident_bytes();
  free(stays);
  assert_true(during > before + ((size_t)20 << 20));
  assert_true(after < before + ((size_t)8 << 20));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_request_comes_back_as_it_was),
      cmocka_unit_test(the_signature_is_the_reference_s),
      cmocka_unit_test(too_small_a_buffer_is_left_alone),
      cmocka_unit_test(identities_may_be_none_or_many),
      cmocka_unit_test(buffers_are_counted_and_not_signed),
      cmocka_unit_test(what_cannot_be_a_message_is_refused),
      cmocka_unit_test(a_wrong_signature_is_refused),
      cmocka_unit_test(without_a_key_nothing_is_checked),
      cmocka_unit_test(null_and_wrong_kinds_become_empty_objects),
      cmocka_unit_test(a_header_without_a_type_is_refused),
      cmocka_unit_test(broken_json_is_refused_by_the_name_of_its_frame),
      cmocka_unit_test(invalid_utf8_is_repaired_after_the_check),
      cmocka_unit_test(not_a_number_is_tolerated),
      cmocka_unit_test(eighty_megabytes_pass),
      cmocka_unit_test(memory_of_many_values_is_given_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
