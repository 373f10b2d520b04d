#include "fcgi/http/reply.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "fcgi/http/problem.h"

#define JSON_TYPE "application/json"
#define PROBLEM_TYPE "application/problem+json"

void reply_open(struct reply *reply, struct request *request) {
  *reply =
      (struct reply){.request = request, .headers = BUF_INIT(2 * BUF_LINE)};
}

void reply_free(struct reply *reply) { buf_free(&reply->headers); }

void reply_header(struct reply *reply, const char *name, const char *value) {
  int length = 0;
  while ((unsigned char)value[length] >= ' ' && value[length] != 0x7f)
    length++;
  buf_format(&reply->headers, "%s: %.*s\r\n", name, length, value);
}

static bool is_head(const struct reply *reply) {
  return strcmp(reply->request->method, "HEAD") == 0;
}

void reply_start(struct reply *reply, int status, const char *type) {
  CLEANUP(buf_free) struct buf head = BUF_INIT(4 * BUF_LINE);
  buf_format(&head,
             "Status: %d %s\r\nContent-Type: %s\r\nX-Request-Id: %s\r\n"
             "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n",
             status, problem_reason(status), type, reply->request->id);
  buf_append(&head, buf_string(&reply->headers), reply->headers.length);
  buf_text(&head, "\r\n");
  reply->status = status;
  door_write(reply->request->door, buf_string(&head), head.length);
}

int reply_write(struct reply *reply, const void *bytes, size_t length) {
  if (is_head(reply))
    return 0;
  reply->bytes += length;
  return door_write(reply->request->door, bytes, length);
}

int reply_flush(struct reply *reply) {
  return door_flush(reply->request->door);
}

void reply_text(struct reply *reply, int status, const char *type,
                const char *text, size_t length) {
  char digits[32];
  snprintf(digits, sizeof digits, "%zu", length);
  reply_header(reply, "Content-Length", digits);
  reply_start(reply, status, type);
  reply_write(reply, text, length);
}

static int reply_value(struct reply *reply, int status, const char *type,
                       const struct json *value, struct err *err) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_ANSWER);
  if (json_write(value, &text) < 0 || buf_byte(&text, '\n') < 0)
    return err_set(err, ERR_TOO_LARGE, "the answer is over %zu bytes",
                   text.limit);
  reply_text(reply, status, type, buf_string(&text), text.length);
  return 0;
}

int reply_json(struct reply *reply, int status, const struct json *value,
               struct err *err) {
  return reply_value(reply, status, JSON_TYPE, value, err);
}

static void add_retry(struct reply *reply) {
  char digits[32];
  snprintf(digits, sizeof digits, "%lld",
           (long long)(reply->retry_s > 0 ? reply->retry_s : 1));
  reply_header(reply, "Retry-After", digits);
}

void reply_problem(struct reply *reply, int status, const struct err *err,
                   const struct json *details) {
  if (status == 0)
    status = problem_status(err->kind);
  if (status == 429 || status == 503)
    add_retry(reply);
  CLEANUP(json_done)
  struct json *document =
      problem_document(status, err, reply->request->id, details);
  reply_value(reply, status, PROBLEM_TYPE, document, NULL);
}

void reply_break_off(struct reply *reply) {
  door_break_off(reply->request->door);
}

void reply_escape(const char *text, struct buf *out) {
  for (; *text != '\0'; text++)
    if (isalnum((unsigned char)*text) || strchr("-._~/", *text) != NULL)
      buf_byte(out, *text);
    else
      buf_format(out, "%%%02X", (unsigned char)*text);
}

void reply_finish(struct reply *reply) { door_finish(reply->request->door); }
