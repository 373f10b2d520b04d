#include "fcgi/http/problem.h"

#include "core/base/buf.h"
#include "core/base/mem.h"

struct kind {
  int status;
  const char *type; /* after urn:cellpost:problem: */
  const char *title;
  bool internal;
};

static const struct kind kinds[] = {
    [ERR_NONE] = {500, "internal", "Internal fault", true},
    [ERR_INVALID] = {400, "invalid", "The request is not well formed", false},
    [ERR_FIELD] = {422, "field", "A field cannot be taken", false},
    [ERR_UNAUTHENTICATED] = {401, "unauthenticated", "Who asks is not known",
                             false},
    [ERR_DENIED] = {403, "denied", "Not allowed", false},
    [ERR_NOT_FOUND] = {404, "not-found", "Not found", false},
    [ERR_CONFLICT] = {409, "conflict", "It conflicts with the present state",
                      false},
    [ERR_TOO_LARGE] = {413, "too-large", "Too large", false},
    [ERR_MEDIA_TYPE] = {415, "media-type", "Content type not taken", false},
    [ERR_BUSY] = {429, "busy", "The queue is full", false},
    [ERR_UNAVAILABLE] = {503, "unavailable", "The service cannot do this now",
                         false},
    [ERR_TIMEOUT] = {504, "timeout", "A deadline passed", false},
    [ERR_NO_SPACE] = {507, "no-space", "There is no room for it", false},
    [ERR_IO] = {500, "internal", "Internal fault", true},
    [ERR_PROTOCOL] = {502, "protocol", "A kernel or the keeper misbehaved",
                      false},
    [ERR_INTERNAL] = {500, "internal", "Internal fault", true},
};

static const struct {
  int status;
  const char *type, *title;
} others[] = {
    {405, "method", "Method not allowed"},
    {421, "misdirected", "This host is not served here"},
};

static const struct {
  int status;
  const char *reason;
} reasons[] = {
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {303, "See Other"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {409, "Conflict"},
    {413, "Content Too Large"},
    {415, "Unsupported Media Type"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {500, "Internal Server Error"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {507, "Insufficient Storage"},
};

static const struct kind *kind_of(enum err_kind kind) {
  size_t index = (size_t)kind;
  return &kinds[index < COUNT_OF(kinds) ? index : ERR_INTERNAL];
}

int problem_status(enum err_kind kind) { return kind_of(kind)->status; }

bool problem_is_internal(enum err_kind kind) { return kind_of(kind)->internal; }

const char *problem_reason(int status) {
  for (size_t i = 0; i < COUNT_OF(reasons); i++)
    if (reasons[i].status == status)
      return reasons[i].reason;
  return "Unknown";
}

static void set_type(struct json *document, int status, enum err_kind kind) {
  const char *type = kind_of(kind)->type, *title = kind_of(kind)->title;
  for (size_t i = 0; i < COUNT_OF(others); i++)
    if (others[i].status == status) {
      type = others[i].type;
      title = others[i].title;
    }
  CLEANUP(mem_free_pointer)
  char *urn = mem_format("urn:cellpost:problem:%s", type);
  json_set_text(document, "type", urn);
  json_set_text(document, "title", title);
}

static void set_details(struct json *document, const struct json *details) {
  void *state = NULL;
  const char *key;
  struct json *value;
  while (json_next(details, &state, &key, &value))
    if (!json_has(document, key))
      json_set(document, key, json_share(value));
}

struct json *problem_document(int status, const struct err *err,
                              const char *request_id,
                              const struct json *details) {
  struct json *document = json_object();
  set_type(document, status, err->kind);
  json_set_integer(document, "status", status);
  CLEANUP(mem_free_pointer)
  char *inside = mem_format("something failed inside the service; its log "
                            "says what, under request %s",
                            request_id);
  json_set_text(document, "detail",
                problem_is_internal(err->kind) ? inside : err->text);
  CLEANUP(mem_free_pointer)
  char *urn = mem_format("urn:cellpost:request:%s", request_id);
  json_set_text(document, "instance", urn);
  json_set_text(document, "request", request_id);
  set_details(document, details);
  return document;
}
