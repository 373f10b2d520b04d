/* libFuzzer target: any bytes as JSON. What is accepted must survive being
 * written and read again, and what is written must be strict JSON. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/json/json.h"

#define MOST ((size_t)16 << 20)

static const struct json_rules strict = {
    .max_bytes = 1 << 20, .max_depth = 64, .max_memory = 64 << 20};
static const struct json_rules tolerant = {.max_bytes = 1 << 20,
                                           .max_depth = 64,
                                           .max_memory = 64 << 20,
                                           .tolerant = true};
static const struct json_rules kept = {.max_bytes = 1 << 20,
                                       .max_depth = 64,
                                       .max_memory = 64 << 20,
                                       .raw_depth = 2,
                                       .tolerant = true};
/* For our own output, which may be longer than what came in. */
static const struct json_rules again = {.max_bytes = MOST, .max_depth = 64};

static void require(bool holds, const char *what) {
  if (holds)
    return;
  fprintf(stderr, "does not hold: %s\n", what);
  abort();
}

static struct json *read_again(const struct buf *text) {
  require(utf8_is_valid(text->data, text->length), "output is UTF-8");
  struct json *value = NULL;
  struct err err = {0};
  if (json_parse(text->data, text->length, &again, &value, &err) < 0) {
    fprintf(stderr, "%s\n", err.text);
    require(false, "output is strict JSON");
  }
  return value;
}

static void check_written(const struct json *value) {
  CLEANUP(buf_free) struct buf first = BUF_INIT(MOST);
  CLEANUP(buf_free) struct buf second = BUF_INIT(MOST);
  require(json_write(value, &first) == 0, "compact output fits");
  CLEANUP(json_done) struct json *back = read_again(&first);
  require(json_equal(value, back), "compact output means the same");
  require(json_write(back, &second) == 0, "compact output fits again");
  require(first.length == second.length &&
              memcmp(first.data, second.data, first.length) == 0,
          "compact output is a fixed point");
  for (int sort = 0; sort < 2; sort++) {
    buf_reset(&second);
    require(json_write_indented(value, sort != 0, 0, &second) == 0,
            "indented output fits");
    CLEANUP(json_done) struct json *indented = read_again(&second);
    require(json_equal(value, indented), "indented output means the same");
  }
  CLEANUP(json_done) struct json *copy = json_copy(value);
  require(json_equal(value, copy), "a copy is equal");
}

static void check_full_buffer(const struct json *value, size_t length) {
  CLEANUP(buf_free) struct buf whole = BUF_INIT(MOST);
  require(json_write(value, &whole) == 0, "output fits");
  CLEANUP(buf_free) struct buf small = BUF_INIT(length % whole.length);
  require(json_write(value, &small) == -1 && small.length == 0,
          "a full buffer stays as it was");
}

static void check_string(const char *text, size_t length) {
  CLEANUP(buf_free) struct buf literal = BUF_INIT(MOST);
  CLEANUP(buf_free) struct buf repaired = BUF_INIT(MOST);
  require(json_write_string(text, length, &literal) == 0, "a literal fits");
  require(utf8_repair(text, length, &repaired) == 0, "a repair fits");
  require(utf8_is_valid(repaired.data, repaired.length),
          "repaired text is UTF-8");
  CLEANUP(json_done) struct json *back = read_again(&literal);
  require(json_text_length(back) == repaired.length &&
              memcmp(json_text(back), buf_string(&repaired), repaired.length) ==
                  0,
          "a literal reads as the repaired text");
  if (utf8_is_valid(text, length))
    require(repaired.length == length &&
                memcmp(buf_string(&repaired), text, length) == 0,
            "valid text needs no repair");
}

static void look_everywhere(struct json *value) {
  void *state = NULL;
  const char *key;
  struct json *member;
  for (size_t i = 0; i < json_length(value); i++)
    look_everywhere(json_at(value, i));
  while (json_next(value, &state, &key, &member))
    look_everywhere(member);
}

/* What stays text means the same, before and after a look inside. */
static void check_kept(const char *text, size_t length,
                       const struct json *value) {
  CLEANUP(json_done) struct json *raw = NULL;
  CLEANUP(buf_free) struct buf written = BUF_INIT(MOST);
  require(json_parse(text, length, &kept, &raw, NULL) == 0,
          "what is mended can be kept as text");
  require(json_write_indented(raw, true, 0, &written) == 0, "text fits");
  CLEANUP(json_done) struct json *back = NULL;
  require(json_parse(written.data, written.length, &tolerant, &back, NULL) == 0,
          "text can be read");
  look_everywhere(raw);
  require(json_equal(raw, value), "a look inside finds the same");
  require(strstr(written.data, "\\u0000") != NULL || json_equal(back, value),
          "text means the same");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length) {
  const char *text = (const char *)data;
  CLEANUP(json_done) struct json *untouched = json_integer(1);
  struct json *exact = untouched, *mended = untouched;
  struct err err = {0};
  if (json_parse(text, length, &strict, &exact, &err) < 0)
    require(exact == untouched && err.kind != ERR_NONE && err.text[0] != '\0',
            "a refusal says why and leaves the output alone");
  if (json_parse(text, length, &tolerant, &mended, &err) < 0)
    require(mended == untouched && exact == untouched,
            "what is refused for kernels is refused for all");
  if (mended != untouched) {
    check_written(mended);
    check_kept(text, length, mended);
    check_full_buffer(mended, length);
  }
  if (exact != untouched) {
    check_written(exact);
    require(json_equal(exact, mended), "valid text is not mended");
    json_free(exact);
  }
  if (mended != untouched)
    json_free(mended);
  check_string(text, length);
  return 0;
}
