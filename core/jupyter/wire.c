#include "core/jupyter/wire.h"

#include <malloc.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/crypto.h"
#include "core/base/mem.h"

static const char delimiter[] = "<IDS|MSG>";
enum {
  DELIMITER_SIZE = sizeof delimiter - 1,
  SIGNATURE_SIZE = CRYPTO_SHA256_HEX - 1,
  JSON_FRAMES = 4, /* header, parent_header, metadata, content */
};

/* Above this a message is worth giving its memory back to the system: malloc
 * would keep it for a next one that may never come. */
#define BIG_MESSAGE ((size_t)8 << 20)

void message_free(struct message *message) {
  json_free(message->header);
  json_free(message->parent);
  json_free(message->metadata);
  json_free(message->content);
  if (message->bytes > BIG_MESSAGE)
    malloc_trim(0);
  *message =
      (struct message){.type = "", .id = "", .parent_id = "", .session = ""};
}

/* The identities in front of the delimiter are anything, also none at all
 * (ipykernel's iopub_welcome has no topic frame). */
static size_t find_delimiter(const struct wire_frame *frames, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (frames[i].size == DELIMITER_SIZE &&
        memcmp(frames[i].data, delimiter, DELIMITER_SIZE) == 0)
      return i;
  }
  return count;
}

static int check_signature(const struct wire_key *key,
                           const struct wire_frame *signature,
                           const struct wire_frame *json, struct err *err) {
  if (key->size == 0)
    return 0;
  struct crypto_part parts[JSON_FRAMES];
  for (size_t i = 0; i < JSON_FRAMES; i++)
    parts[i] = (struct crypto_part){json[i].data, json[i].size};
  char expected[CRYPTO_SHA256_HEX];
  crypto_hmac_sha256(key->bytes, key->size, parts, JSON_FRAMES, expected);
  if (signature->size != SIGNATURE_SIZE ||
      !crypto_equal(signature->data, expected, SIGNATURE_SIZE))
    return err_set(err, ERR_PROTOCOL, "message with a wrong signature");
  return 0;
}

/* One JSON frame as an object; an empty frame, null and any other kind of
 * value become {} (kernels in the wild send null for metadata). */
static int parse_frame(const struct wire_frame *frame, const char *name,
                       struct json **ret, struct err *err) {
  struct json *value = NULL;
  if (frame->size != 0 && json_parse(frame->data, frame->size,
                                     &JSON_RULES_KERNEL, &value, err) < 0) {
    if (err != NULL)
      err->kind = ERR_PROTOCOL;
    return err_wrap(err, "message whose %s is broken", name);
  }
  if (json_kind(value) != JSON_OBJECT) {
    json_free(value);
    value = json_object();
  }
  *ret = value;
  return 0;
}

static const char *text_or_empty(const struct json *object, const char *key) {
  const char *text = json_get_text(object, key);
  return text == NULL ? "" : text;
}

bool wire_is_complete(const struct wire_frame *frames, size_t count) {
  return find_delimiter(frames, count) + 2 + JSON_FRAMES <= count;
}

/* The frames behind the delimiter: signature, four of JSON, then buffers. NULL:
 * there are too few. */
static const struct wire_frame *find_signature(const struct wire_frame *frames,
                                               size_t count, struct err *err) {
  size_t at = find_delimiter(frames, count);
  if (at == count) {
    err_set(err, ERR_PROTOCOL, "message without a delimiter");
    return NULL;
  }
  if (count - at < 2 + JSON_FRAMES) {
    err_set(err, ERR_PROTOCOL,
            "message with only %zu frames behind the delimiter",
            count - at - 1);
    return NULL;
  }
  return &frames[at + 1];
}

static int parse_head(const struct wire_frame *json, struct message *message,
                      struct err *err) {
  if (parse_frame(&json[0], "header", &message->header, err) < 0 ||
      parse_frame(&json[1], "parent header", &message->parent, err) < 0)
    return -1;
  message->type = text_or_empty(message->header, "msg_type");
  if (*message->type == '\0')
    return err_set(err, ERR_PROTOCOL, "message without a msg_type");
  message->id = text_or_empty(message->header, "msg_id");
  message->parent_id = text_or_empty(message->parent, "msg_id");
  message->session = text_or_empty(message->header, "session");
  return 0;
}

static size_t total_size(const struct wire_frame *frames, size_t count) {
  size_t bytes = 0;
  for (size_t i = 0; i < count; i++)
    bytes += frames[i].size;
  return bytes;
}

int wire_decode(const struct wire_key *key, const struct wire_frame *frames,
                size_t count, struct message *ret, struct err *err) {
  const struct wire_frame *signature = find_signature(frames, count, err);
  if (signature == NULL ||
      check_signature(key, signature, signature + 1, err) < 0)
    return -1;
  const struct wire_frame *json = signature + 1;
  CLEANUP(message_free) struct message message = {0};
  if (parse_head(json, &message, err) < 0 ||
      parse_frame(&json[2], "metadata", &message.metadata, err) < 0 ||
      parse_frame(&json[3], "content", &message.content, err) < 0)
    return -1;
  message.bytes = total_size(frames, count);
  message.buffer_count = (unsigned)(frames + count - json - JSON_FRAMES);
  *ret = message;
  message = (struct message){0};
  return 0;
}

int wire_decode_head(const struct wire_frame *frames, size_t count,
                     struct message *ret) {
  static const char *const types[] = {"stream", "display_data",
                                      "execute_result", "update_display_data"};
  const struct wire_frame *signature = find_signature(frames, count, NULL);
  CLEANUP(message_free) struct message message = {0};
  if (signature == NULL || parse_head(signature + 1, &message, NULL) < 0)
    return 0;
  for (size_t i = 0; i < COUNT_OF(types); i++) {
    if (strcmp(message.type, types[i]) != 0)
      continue;
    message.metadata = json_object();
    message.content = json_object();
    message.bytes = total_size(frames, count);
    message.skipped = true;
    *ret = message;
    message = (struct message){0};
    return 1;
  }
  return 0;
}

static void write_header(const struct wire_request *request, struct buf *out) {
  const char *const members[][2] = {
      {"{\"msg_id\":", request->id},
      {",\"session\":", request->session},
      {",\"username\":", request->username},
      {",\"msg_type\":", request->type},
  };
  for (size_t i = 0; i < COUNT_OF(members); i++) {
    buf_text(out, members[i][0]);
    json_write_string(members[i][1], strlen(members[i][1]), out);
  }
  char date[CLOCK_ISO_SIZE];
  clock_format_iso(clock_wall_us(), date);
  buf_format(out, ",\"date\":\"%s\",\"version\":\"5.4\"}", date);
}

static void write_object(const struct json *object, struct buf *out) {
  if (object == NULL)
    buf_text(out, "{}");
  else
    json_write(object, out);
}

/* Fills in the signature, whose place was left open. */
static void sign(const struct wire_key *key, char *signature, const char *json,
                 size_t size) {
  struct crypto_part part = {json, size};
  char hex[CRYPTO_SHA256_HEX];
  crypto_hmac_sha256(key->bytes, key->size, &part, 1, hex);
  memcpy(signature, hex, SIGNATURE_SIZE);
}

int wire_encode(const struct wire_key *key, const struct wire_request *request,
                struct buf *bytes, size_t sizes[WIRE_REQUEST_FRAMES],
                struct err *err) {
  static const char unsigned_yet[SIGNATURE_SIZE];
  size_t start = bytes->length, ends[WIRE_REQUEST_FRAMES];
  buf_append(bytes, delimiter, DELIMITER_SIZE);
  ends[0] = bytes->length;
  buf_append(bytes, unsigned_yet, key->size == 0 ? 0 : SIGNATURE_SIZE);
  ends[1] = bytes->length;
  write_header(request, bytes);
  ends[2] = bytes->length;
  write_object(request->parent, bytes);
  ends[3] = bytes->length;
  write_object(request->metadata, bytes);
  ends[4] = bytes->length;
  write_object(request->content, bytes);
  ends[5] = bytes->length;
  if (bytes->overflowed) {
    buf_truncate(bytes, start);
    return err_set(err, ERR_TOO_LARGE,
                   "%s does not fit into a message of %zu bytes", request->type,
                   bytes->limit);
  }
  if (key->size != 0)
    sign(key, bytes->data + ends[0], bytes->data + ends[1], ends[5] - ends[1]);
  for (size_t i = WIRE_REQUEST_FRAMES; i-- > 0;)
    sizes[i] = ends[i] - (i == 0 ? start : ends[i - 1]);
  return 0;
}
