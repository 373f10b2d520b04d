#include "fcgi/http/router.h"

#include <string.h>

#include "core/base/fs.h"
#include "core/base/id.h"

/* The next part of a pattern ("/v1/{task}" has "v1" and "{task}"); false at the
 * end. */
static bool next_part(const char **pattern, const char **part, size_t *length) {
  if (**pattern != '/')
    return false;
  *part = *pattern + 1;
  *length = strcspn(*part, "/");
  *pattern = *part + *length;
  return true;
}

/* Matches part by part; a {name} stands for one segment, of which `wide` many
 * more may follow it; {path} for all the rest. */
static bool is_match(const char *pattern, char *const *segments, size_t count,
                     size_t wide, struct route_match *match) {
  const char *part;
  size_t length, at = 0;
  for (; next_part(&pattern, &part, &length); at++) {
    if (at >= count)
      return false;
    if (strncmp(part, "{path}", length) == 0) {
      match->path_at = at;
      return true;
    }
    if (*part != '{') {
      if (strlen(segments[at]) != length ||
          strncmp(segments[at], part, length) != 0)
        return false;
      continue;
    }
    if (strncmp(part, "{task}", length) == 0)
      match->task = segments[at];
    else
      match->run = segments[at];
    at += wide;
  }
  return at == count;
}

static bool is_method(const struct route *route, const char *method) {
  const char *wanted = strcmp(method, "HEAD") == 0 ? "GET" : method;
  return strcmp(route->method, wanted) == 0;
}

static int check_ids(const struct route_match *match, struct err *err) {
  char text[FS_PRINTABLE];
  if (match->task != NULL && !id_is_task(match->task))
    return err_set(err, ERR_INVALID,
                   "\"%s\" is no task id: wanted are 1 to 128 letters, digits, "
                   "\".\", \"_\" and \"-\", a letter or digit first, no \"..\"",
                   fs_printable(match->task, text));
  if (match->run != NULL && !id_is_uuid(match->run))
    return err_set(err, ERR_INVALID, "\"%s\" is no run id: wanted is a UUID",
                   fs_printable(match->run, text));
  return 0;
}

static void allow_method(struct buf *allow, const char *method) {
  buf_format(allow, "%s%s", allow->length == 0 ? "" : ", ", method);
  if (strcmp(method, "GET") == 0)
    buf_text(allow, ", HEAD");
}

/* "/v1/tasks/a/b/execute" can only mean a task called "a/b". */
static int no_route(const struct route *table, size_t count,
                    char *const *segments, size_t segment_count,
                    struct err *err) {
  for (size_t i = 0; i < count; i++)
    for (size_t wide = 1; wide < segment_count; wide++) {
      struct route_match match = {0};
      if (strstr(table[i].pattern, "}/") != NULL &&
          is_match(table[i].pattern, segments, segment_count, wide, &match))
        return err_set(err, ERR_INVALID, "a task id holds no slash");
    }
  return err_set(err, ERR_NOT_FOUND, "there is nothing at this path");
}

int router_match(const struct route *table, size_t count, const char *method,
                 char *const *segments, size_t segment_count,
                 struct route_match *ret, struct buf *allow, struct err *err) {
  size_t before = allow->length;
  for (size_t i = 0; i < count; i++) {
    struct route_match match = {.route = &table[i]};
    if (!is_match(table[i].pattern, segments, segment_count, 0, &match))
      continue;
    if (!is_method(&table[i], method)) {
      allow_method(allow, table[i].method);
      continue;
    }
    buf_truncate(allow, before);
    if (check_ids(&match, err) < 0)
      return -1;
    *ret = match;
    return 0;
  }
  if (allow->length == before)
    return no_route(table, count, segments, segment_count, err);
  return err_set(err, ERR_DENIED, "this path takes %s only", buf_string(allow));
}
