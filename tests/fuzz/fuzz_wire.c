/* libFuzzer target: any frames as a message from a kernel, and what the client
 * makes of it. The first byte says how the signature is treated, the rest is
 * frames with a newline between. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/crypto.h"
#include "core/base/mem.h"
#include "core/jupyter/client.h"
#include "core/jupyter/wire.h"

enum treatment {
  AS_IT_COMES,  /* unsigned: everything behind the delimiter is looked at */
  SIGNED_RIGHT, /* the third frame is replaced by the right signature */
  SIGNED_WRONG, /* checked as it comes, which is never right */
  TREATMENTS,
};

static const struct wire_key unsigned_key = {.size = 0};
static const struct wire_key secret = {.bytes = "secret", .size = 6};

static void require(bool holds, const char *what) {
  if (holds)
    return;
  fprintf(stderr, "does not hold: %s\n", what);
  abort();
}

/* Each frame in memory of its own, so that a read beyond its end is seen. */
static size_t split(const uint8_t *data, size_t size,
                    struct wire_frame *frames) {
  size_t count = 0;
  while (count < WIRE_FRAMES_MAX) {
    const uint8_t *end = size == 0 ? NULL : memchr(data, '\n', size);
    size_t length = end == NULL ? size : (size_t)(end - data);
    char *copy = malloc(length == 0 ? 1 : length);
    if (copy == NULL)
      abort();
    if (length != 0)
      memcpy(copy, data, length);
    frames[count++] = (struct wire_frame){copy, length};
    if (end == NULL)
      break;
    data += length + 1;
    size -= length + 1;
  }
  return count;
}

static void sign(struct wire_frame *frames, size_t count, char *hex) {
  struct crypto_part parts[4];
  if (count < 7)
    return;
  for (size_t i = 0; i < 4; i++)
    parts[i] = (struct crypto_part){frames[3 + i].data, frames[3 + i].size};
  crypto_hmac_sha256(secret.bytes, secret.size, parts, 4, hex);
  free((void *)(uintptr_t)frames[2].data);
  frames[2] = (struct wire_frame){mem_copy_bytes(hex, 64), 64};
}

static void check_message(const struct message *message) {
  require(message->type != NULL && *message->type != '\0', "a type");
  require(message->id != NULL && message->parent_id != NULL &&
              message->session != NULL,
          "texts are never NULL");
  const struct json *const members[] = {message->header, message->parent,
                                        message->metadata, message->content};
  for (size_t i = 0; i < COUNT_OF(members); i++)
    require(json_kind(members[i]) == JSON_OBJECT, "members are objects");
}

static void check_observation(const struct message *message) {
  CLEANUP(execution_free) struct execution execution = {.execution_count = -1};
  snprintf(execution.id, sizeof execution.id, "p1");
  for (enum channel_name from = 0; from < CHANNEL_COUNT; from++) {
    enum client_event event = client_observe(&execution, from, message);
    require(event != CLIENT_INPUT || from == CHANNEL_STDIN, "input on stdin");
    require((event != CLIENT_OUTPUT && event != CLIENT_FOREIGN) ||
                from == CHANNEL_IOPUB,
            "output on iopub");
  }
  require(!execution.failed || execution.error != NULL, "a failure's error");
  require(strcmp(message->parent_id, "p1") == 0 ||
              (!execution.replied && !execution.idle),
          "only our own messages end a run");
}

/* What was received can be sent and received again, and is the same. */
static void check_round_trip(const struct message *message) {
  CLEANUP(buf_free) struct buf bytes = BUF_INIT(BUF_KERNEL_MESSAGE);
  struct wire_request request = {.type = message->type,
                                 .id = message->id,
                                 .session = message->session,
                                 .username = "u",
                                 .parent = message->parent,
                                 .content = message->content,
                                 .metadata = message->metadata};
  size_t sizes[WIRE_REQUEST_FRAMES];
  struct wire_frame frames[WIRE_REQUEST_FRAMES];
  require(wire_encode(&secret, &request, &bytes, sizes, NULL) == 0, "it fits");
  const char *at = bytes.data;
  for (size_t i = 0; i < WIRE_REQUEST_FRAMES; at += sizes[i++])
    frames[i] = (struct wire_frame){at, sizes[i]};
  CLEANUP(message_free) struct message again = {0};
  struct err err = {0};
  if (wire_decode(&secret, frames, WIRE_REQUEST_FRAMES, &again, &err) < 0) {
    fprintf(stderr, "%s\n", err.text);
    require(false, "our own message can be read");
  }
  require(strcmp(again.type, message->type) == 0 &&
              strcmp(again.parent_id, message->parent_id) == 0,
          "texts survive");
  require(json_equal(again.content, message->content) &&
              json_equal(again.metadata, message->metadata) &&
              json_equal(again.parent, message->parent),
          "objects survive");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  enum treatment treatment = data[0] % TREATMENTS;
  struct wire_frame frames[WIRE_FRAMES_MAX];
  size_t count = split(data + 1, size - 1, frames);
  char hex[CRYPTO_SHA256_HEX] = "";
  if (treatment == SIGNED_RIGHT)
    sign(frames, count, hex);
  const struct wire_key *key =
      treatment == AS_IT_COMES ? &unsigned_key : &secret;
  CLEANUP(message_free) struct message message = {0};
  struct err err = {0};
  if (wire_decode(key, frames, count, &message, &err) == 0) {
    check_message(&message);
    check_observation(&message);
    check_round_trip(&message);
  } else {
    require(err.kind == ERR_PROTOCOL && err.text[0] != '\0', "a named fault");
  }
  while (count > 0)
    free((void *)(uintptr_t)frames[--count].data);
  return 0;
}
