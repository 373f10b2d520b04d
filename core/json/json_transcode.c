/* JSON text to JSON text, without values in between. */
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/json/json.h"
#include "core/json/json_raw.h"
#include "core/json/json_scan.h"

/* A member of an object that is being copied: where its key is in `keys`
 * and its text ("key": value) in `out`. */
struct member {
  size_t key, key_length;
  size_t start, end;
  size_t place; /* among the members as they came */
};

struct transcoder {
  struct json_scan *scan;
  const struct json_style *style;
  unsigned levels; /* that may still be opened */
  struct buf *out;
  struct buf keys;        /* of the open objects, decoded: a stack */
  struct member *members; /* the same */
  size_t count, capacity;
  struct err *err;
};

static int copy_value(struct transcoder *t, int token, unsigned depth);

static int next_token(struct transcoder *t) {
  return json_scan_next(t->scan, t->err);
}

static int copy_array(struct transcoder *t, unsigned depth) {
  int token = next_token(t);
  if (token == JSON_TOKEN_CLOSE_ARRAY)
    return buf_text(t->out, "[]");
  for (char before = '[';; before = ',') {
    buf_byte(t->out, before);
    json_write_break(t->style, depth + 1, t->out);
    if (copy_value(t, token, depth + 1) < 0)
      return -1;
    token = next_token(t);
    if (token == JSON_TOKEN_CLOSE_ARRAY)
      break;
    if (token != JSON_TOKEN_COMMA)
      return json_scan_expected(t->scan, token, "\",\" or \"]\"", t->err);
    token = next_token(t);
  }
  json_write_break(t->style, depth, t->out);
  return buf_byte(t->out, ']');
}

static size_t push_member(struct transcoder *t, size_t place) {
  if (t->count == t->capacity) {
    t->capacity = t->capacity * 2 + 16;
    t->members = mem_grow(t->members, t->capacity, sizeof *t->members);
  }
  t->members[t->count] = (struct member){.key = t->keys.length,
                                         .key_length = t->scan->bytes_length,
                                         .start = t->out->length,
                                         .place = place};
  buf_append(&t->keys, t->scan->bytes, t->scan->bytes_length);
  return t->count++;
}

static int copy_member(struct transcoder *t, int token, size_t place,
                       unsigned depth) {
  if (token != JSON_TOKEN_STRING)
    return json_scan_expected(t->scan, token, "a key in double quotes", t->err);
  size_t member = push_member(t, place);
  json_write_string(t->scan->bytes, t->scan->bytes_length, t->out);
  buf_append(t->out, ": ", t->style->indented ? 2 : 1);
  token = next_token(t);
  if (token != JSON_TOKEN_COLON)
    return json_scan_expected(t->scan, token, "\":\"", t->err);
  if (copy_value(t, next_token(t), depth) < 0)
    return -1;
  t->members[member].end = t->out->length;
  return 0;
}

static int compare_keys(const char *keys, const struct member *one,
                        const struct member *other) {
  size_t shorter =
      one->key_length < other->key_length ? one->key_length : other->key_length;
  int order = memcmp(keys + one->key, keys + other->key, shorter);
  return order != 0 ? order
                    : (one->key_length > other->key_length) -
                          (one->key_length < other->key_length);
}

static int compare_places(const void *a, const void *b) {
  const struct member *one = a, *other = b;
  return (one->place > other->place) - (one->place < other->place);
}

/* By key, then as they came. */
static int compare_members(const void *a, const void *b, void *keys) {
  int order = compare_keys(keys, a, b);
  return order != 0 ? order : compare_places(a, b);
}

/* The members are sorted: of equal keys leaves the last one, at the first one's
 * place. Returns how many there are. */
static size_t drop_twins(const char *keys, struct member *members,
                         size_t count) {
  size_t kept = 0;
  for (size_t i = 0; i < count; i++) {
    struct member *last = kept == 0 ? NULL : &members[kept - 1];
    if (last == NULL || compare_keys(keys, last, &members[i]) != 0) {
      members[kept++] = members[i];
      continue;
    }
    members[i].place = last->place;
    *last = members[i];
  }
  return kept;
}

/* Writes the members anew, in their present order. */
static void write_anew(struct transcoder *t, const struct member *members,
                       size_t count, size_t begin, unsigned depth) {
  CLEANUP(buf_free) struct buf old = BUF_INIT(t->out->limit);
  buf_append(&old, t->out->data + begin, t->out->length - begin);
  buf_truncate(t->out, begin);
  for (size_t i = 0; i < count; i++) {
    buf_byte(t->out, i == 0 ? '{' : ',');
    json_write_break(t->style, depth + 1, t->out);
    buf_append(t->out, old.data + (members[i].start - begin),
               members[i].end - members[i].start);
  }
}

/* All members are in `out` from `begin` on, as they came. */
static void arrange(struct transcoder *t, size_t first, size_t begin,
                    unsigned depth) {
  struct member *members = t->members + first;
  size_t count = t->count - first;
  char *keys = t->keys.length == 0 ? "" : t->keys.data;
  bool in_order = true;
  for (size_t i = 1; i < count && in_order; i++)
    in_order = compare_keys(keys, &members[i - 1], &members[i]) < 0;
  if (in_order)
    return;
  qsort_r(members, count, sizeof *members, compare_members, keys);
  size_t kept = drop_twins(keys, members, count);
  if (kept == count && !t->style->sort)
    return;
  if (!t->style->sort)
    qsort(members, kept, sizeof *members, compare_places);
  write_anew(t, members, kept, begin, depth);
}

static int copy_members(struct transcoder *t, unsigned depth) {
  size_t first = t->count, keys = t->keys.length, begin = t->out->length;
  int token = next_token(t);
  if (token == JSON_TOKEN_CLOSE_OBJECT)
    return buf_text(t->out, "{}");
  for (size_t place = 0;; place++) {
    buf_byte(t->out, place == 0 ? '{' : ',');
    json_write_break(t->style, depth + 1, t->out);
    if (copy_member(t, token, place, depth + 1) < 0)
      return -1;
    token = next_token(t);
    if (token == JSON_TOKEN_CLOSE_OBJECT)
      break;
    if (token != JSON_TOKEN_COMMA)
      return json_scan_expected(t->scan, token, "\",\" or \"}\"", t->err);
    token = next_token(t);
  }
  if (!t->out->overflowed)
    arrange(t, first, begin, depth);
  t->count = first;
  buf_truncate(&t->keys, keys);
  json_write_break(t->style, depth, t->out);
  return buf_byte(t->out, '}');
}

static int copy_container(struct transcoder *t, bool is_object,
                          unsigned depth) {
  if (t->levels == 0)
    return err_set(t->err, ERR_INVALID, "JSON: nested too deep at byte %zu",
                   t->scan->start);
  t->levels--;
  int result = is_object ? copy_members(t, depth) : copy_array(t, depth);
  t->levels++;
  return result;
}

/* Recursion is as deep as `levels` allows, no deeper. */
static int copy_value(struct transcoder *t, int token, unsigned depth) {
  const struct json_scan *scan = t->scan;
  if (t->out->overflowed)
    return err_set(t->err, ERR_TOO_LARGE, "JSON: longer than %zu bytes",
                   t->out->limit);
  switch (token) {
  case JSON_TOKEN_OPEN_OBJECT:
  case JSON_TOKEN_OPEN_ARRAY:
    return copy_container(t, token == JSON_TOKEN_OPEN_OBJECT, depth);
  case JSON_TOKEN_NULL:
    return buf_text(t->out, "null");
  case JSON_TOKEN_TRUE:
    return buf_text(t->out, "true");
  case JSON_TOKEN_FALSE:
    return buf_text(t->out, "false");
  case JSON_TOKEN_STRING:
    if (scan->bytes_length > JSON_STRING_MOST)
      return json_scan_too_long(scan, t->err);
    return json_write_string(scan->bytes, scan->bytes_length, t->out);
  case JSON_TOKEN_INTEGER:
  case JSON_TOKEN_NUMBER:
    return buf_append(t->out, scan->bytes, scan->bytes_length);
  default:
    return json_scan_expected(t->scan, token, "a value", t->err);
  }
}

int json_transcode(struct json_scan *scan, int token,
                   const struct json_style *style, unsigned depth,
                   unsigned levels, struct buf *out, struct err *err) {
  struct transcoder t = {.scan = scan,
                         .style = style,
                         .levels = levels,
                         .out = out,
                         .keys = BUF_INIT(3 * scan->length),
                         .err = err};
  size_t before = out->length;
  int result = copy_value(&t, token, depth);
  if (result == 0 && out->overflowed)
    result =
        err_set(err, ERR_TOO_LARGE, "JSON: longer than %zu bytes", out->limit);
  if (result < 0)
    buf_truncate(out, before);
  buf_free(&t.keys);
  free(t.members);
  return result < 0 ? -1 : 0;
}
