/* The wire format of the Jupyter messaging protocol, as pure functions.
 *
 * A message is `[identity…] "<IDS|MSG>" hmac header parent_header metadata
 * content [buffer…]` (jupyter_client, docs/messaging.rst, "The wire protocol").
 * The HMAC covers the four JSON frames as received, byte for byte; buffers are
 * not signed. Invalid UTF-8 is repaired after the signature was checked and
 * before the JSON is parsed (ipykernel sends it: print("\udcff")). */
#ifndef CELLPOST_JUPYTER_WIRE_H
#define CELLPOST_JUPYTER_WIRE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/json/json.h"

#define WIRE_KEY_SIZE 256
#define WIRE_ID_SIZE 128   /* a msg_id or session of ours, with its NUL */
#define WIRE_FRAMES_MAX 16 /* identities and what is read behind them */

struct wire_frame {
  const void *data;
  size_t size;
};

/* The signing key. size 0: messages carry an empty signature, unchecked. */
struct wire_key {
  unsigned char bytes[WIRE_KEY_SIZE];
  size_t size;
};

/* One received message. `type`, `id`, `parent_id`, `session` are borrowed from
 * the JSON below and never NULL ("" when the kernel left them out). The four
 * JSON members are objects, never NULL: null or a wrong kind from the kernel
 * becomes {}. */
struct message {
  const char *type;
  const char *id;
  const char *parent_id;
  const char *session;
  struct json *header;
  struct json *parent;
  struct json *metadata;
  struct json *content;
  size_t bytes;          /* size of all frames */
  bool skipped;          /* wire_decode_head: neither verified nor parsed */
  unsigned buffer_count; /* binary frames behind the content (not kept) */
};

void message_free(struct message *message); /* also the cleanup function */

/* True when everything that is read of a message is among its first frames: all
 * that follows are buffers. */
bool wire_is_complete(const struct wire_frame *frames, size_t count);

/* Decodes and verifies. ERR_PROTOCOL names the fault: no delimiter, too few
 * frames, bad signature, header not JSON, no msg_type. */
int wire_decode(const struct wire_key *key, const struct wire_frame *frames,
                size_t count, struct message *ret, struct err *err);

/* Only the head of an output (stream, display_data, execute_result,
 * update_display_data): content and metadata are {}, and the signature is not
 * looked at, so that a message costs the same however long it is. 1 and *ret;
 * 0: it is something else, or broken. */
int wire_decode_head(const struct wire_frame *frames, size_t count,
                     struct message *ret);

/* What we send. NULL for parent, content and metadata stands for {}. */
struct wire_request {
  const char *type;
  const char *id;      /* made by the caller: unique */
  const char *session; /* one id per client incarnation */
  const char *username;
  const struct json *parent; /* input_reply carries the request's header */
  const struct json *content;
  const struct json *metadata;
};

/* Six frames: delimiter, hmac, header, parent_header, metadata, content, each
 * appended to `bytes` back to back, with sizes[i] set. Protocol version 5.4. */
#define WIRE_REQUEST_FRAMES 6
int wire_encode(const struct wire_key *key, const struct wire_request *request,
                struct buf *bytes, size_t sizes[WIRE_REQUEST_FRAMES],
                struct err *err);

#endif
