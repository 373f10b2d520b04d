#include "fcgi/http/request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"
#include "core/base/id.h"
#include "core/base/mem.h"

const char *request_header(const struct request *request, const char *name) {
  const char *value = door_param(request->door, name);
  return value == NULL || *value == '\0' ? NULL : value;
}

bool request_has_header(const struct request *request, const char *name) {
  return door_param(request->door, name) != NULL;
}

static bool is_request_id(const char *text) {
  size_t length = strspn(text, "0123456789abcdefghijklmnopqrstuvwxyz"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_");
  return length != 0 && length < REQUEST_ID_SIZE && text[length] == '\0';
}

static void name_request(struct request *request) {
  const char *given = request_header(request, "REQUEST_ID");
  if (given != NULL && is_request_id(given))
    snprintf(request->id, sizeof request->id, "%s", given);
  else
    id_new(request->id);
}

static int hex_digit(char digit) {
  if (digit >= '0' && digit <= '9')
    return digit - '0';
  digit |= 0x20;
  return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

enum coding { CODING_NONE, CODING_PATH, CODING_QUERY };

/* Decodes %XX, in a query also "+" (WHATWG URL, urlencoded parsing). NULL, with
 * *err set: it cannot be. */
static char *decode(const char *text, size_t length, enum coding coding,
                    struct err *err) {
  CLEANUP(mem_free_pointer) char *decoded = mem_copy_bytes(text, length);
  size_t out = 0;
  for (size_t i = 0; i < length; i++) {
    if (coding == CODING_NONE || text[i] != '%') {
      decoded[out++] = coding == CODING_QUERY && text[i] == '+' ? ' ' : text[i];
      continue;
    }
    int high = i + 2 < length ? hex_digit(text[i + 1]) : -1;
    int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
    if (low < 0 || high * 16 + low == 0) {
      err_set(err, ERR_INVALID, "the %s holds %s",
              coding == CODING_QUERY ? "query" : "path",
              low < 0 ? "a \"%\" that is not followed by two hexadecimal digits"
                      : "%00, a NUL character, which is taken nowhere");
      return NULL;
    }
    decoded[out++] = (char)(high * 16 + low);
    i += 2;
  }
  decoded[out] = '\0';
  return MEM_STEAL(decoded);
}

static int read_path(struct request *request, const char *path, size_t length,
                     enum coding coding, struct err *err) {
  for (const char *end = path + length; path < end;) {
    path++; /* the slash */
    const char *slash = memchr(path, '/', (size_t)(end - path));
    size_t size = (size_t)((slash == NULL ? end : slash) - path);
    if (request->segment_count == REQUEST_SEGMENTS)
      return err_set(err, ERR_NOT_FOUND, "the path has over %d parts",
                     REQUEST_SEGMENTS);
    char *segment = decode(path, size, coding, err);
    if (segment == NULL)
      return -1;
    request->segments[request->segment_count++] = segment;
    path += size;
  }
  return 0;
}

static int read_query(struct request *request, const char *query,
                      struct err *err) {
  while (*query != '\0') {
    size_t size = strcspn(query, "&");
    size_t name_size = strcspn(query, "=&");
    size_t value_at = name_size < size ? name_size + 1 : size;
    if (size != 0) {
      if (request->parameter_count == REQUEST_PARAMETERS)
        return err_set(err, ERR_INVALID, "the query has over %d parameters",
                       REQUEST_PARAMETERS);
      struct request_parameter *parameter =
          &request->parameters[request->parameter_count++];
      parameter->name = decode(query, name_size, CODING_QUERY, err);
      parameter->value =
          decode(query + value_at, size - value_at, CODING_QUERY, err);
      if (parameter->name == NULL || parameter->value == NULL)
        return -1;
    }
    query += size + (query[size] == '&');
  }
  return 0;
}

/* PATH_INFO is decoded by the web server already and counts where a program is
 * mounted beneath a path (plain CGI); REQUEST_URI is what the client sent. */
static int read_target(struct request *request, struct err *err) {
  const char *info = request_header(request, "PATH_INFO");
  const char *target = request_header(request, "REQUEST_URI");
  const char *path = info != NULL ? info : target;
  request->target = mem_copy_text(target != NULL ? target : path);
  if (path == NULL || *path != '/')
    return err_set(err, ERR_INVALID, "the request has no path");
  size_t length = info != NULL ? strlen(info) : strcspn(path, "?");
  return read_path(request, path, length,
                   info == NULL ? CODING_PATH : CODING_NONE, err);
}

int request_open(struct request *request, struct door *door, struct err *err) {
  *request = (struct request){.door = door, .body = BUF_INIT(BUF_REQUEST_BODY)};
  name_request(request);
  const char *method = request_header(request, "REQUEST_METHOD");
  snprintf(request->method, sizeof request->method, "%s",
           method == NULL ? "" : method);
  if (read_target(request, err) < 0)
    return -1;
  const char *query = request_header(request, "QUERY_STRING");
  return query == NULL ? 0 : read_query(request, query, err);
}

void request_free(struct request *request) {
  free(request->target);
  for (size_t i = 0; i < request->segment_count; i++)
    free(request->segments[i]);
  for (size_t i = 0; i < request->parameter_count; i++) {
    free(request->parameters[i].name);
    free(request->parameters[i].value);
  }
  buf_free(&request->body);
}

const char *request_parameter(const struct request *request, const char *name) {
  for (size_t i = 0; i < request->parameter_count; i++)
    if (strcmp(request->parameters[i].name, name) == 0)
      return request->parameters[i].value;
  return NULL;
}

/* strtoll alone would take white space and signs. */
int request_read_number(const char *text, int64_t *ret) {
  size_t length = strspn(text, "0123456789");
  if (length == 0 || length > 18 || text[length] != '\0')
    return -1;
  *ret = strtoll(text, NULL, 10);
  return 0;
}

int request_integer(const struct request *request, const char *name,
                    int64_t least, int64_t most, int64_t otherwise,
                    int64_t *ret, struct err *err) {
  const char *text = request_parameter(request, name);
  int64_t value = otherwise;
  if (text != NULL &&
      (request_read_number(text, &value) < 0 || value < least || value > most))
    return err_set(err, ERR_FIELD,
                   "the query parameter \"%s\" must be a whole number from "
                   "%lld to %lld",
                   name, (long long)least, (long long)most);
  *ret = value;
  return 0;
}

bool request_has_body(const struct request *request) {
  const char *length = request_header(request, "CONTENT_LENGTH");
  return length != NULL && strcmp(length, "0") != 0;
}

int request_read_body(struct request *request, int64_t limit, struct err *err) {
  const char *announced = request_header(request, "CONTENT_LENGTH");
  int64_t length = 0;
  if (announced != NULL && request_read_number(announced, &length) < 0)
    return err_set(err, ERR_INVALID, "Content-Length is not a number");
  if (length > limit || length > (int64_t)BUF_REQUEST_BODY)
    return err_set(err, ERR_TOO_LARGE,
                   "the body has %lld bytes, at most %lld are taken",
                   (long long)length, (long long)limit);
  char *bytes = buf_reserve(&request->body, (size_t)length);
  size_t got = door_read(request->door, bytes, (size_t)length);
  request->body.length = got;
  bytes[got] = '\0';
  if (got != (size_t)length)
    return err_set(err, ERR_INVALID, "the body ended after %zu of %lld bytes",
                   got, (long long)length);
  return 0;
}
