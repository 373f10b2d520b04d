/* Whole values: copies, and whether two are equal. */
#include <string.h>

#include "core/base/mem.h"
#include "core/json/json.h"
#include "core/json/json_raw.h"

static struct json *copy_array(const struct json *value) {
  struct json *copy = json_array();
  for (size_t i = 0; i < json_length(value); i++)
    json_push(copy, json_copy(json_at(value, i)));
  return copy;
}

static struct json *copy_object(const struct json *value) {
  struct json *copy = json_object();
  void *state = NULL;
  const char *key;
  struct json *member;
  while (json_next(value, &state, &key, &member))
    json_set(copy, key, json_copy(member));
  return copy;
}

/* Not json_object_deep_copy, which cuts strings at a NUL. */
struct json *json_copy(const struct json *value) {
  size_t length;
  const char *raw = json_raw(value, &length);
  if (raw != NULL)
    return json_raw_new(raw, length);
  const char *digits = json_digits(value);
  switch (json_kind(value)) {
  case JSON_BOOL:
    return json_boolean(json_as_boolean(value, false));
  case JSON_INTEGER:
    return json_integer(json_as_integer(value, 0));
  case JSON_NUMBER:
    return digits != NULL ? json_number_text(digits, strlen(digits))
                          : json_number(json_as_number(value, 0));
  case JSON_STRING:
    return json_string_valid(json_text(value), json_text_length(value));
  case JSON_ARRAY:
    return copy_array(value);
  case JSON_OBJECT:
    return copy_object(value);
  case JSON_NULL:
  default:
    return NULL;
  }
}

static bool equal_arrays(const struct json *a, const struct json *b) {
  for (size_t i = 0; i < json_length(a); i++) {
    if (!json_equal(json_at(a, i), json_at(b, i)))
      return false;
  }
  return true;
}

static bool equal_objects(const struct json *a, const struct json *b) {
  void *state = NULL;
  const char *key;
  struct json *value;
  while (json_next(a, &state, &key, &value)) {
    if (!json_has(b, key) || !json_equal(value, json_get(b, key)))
      return false;
  }
  return true;
}

/* Scalars are equal when they are written alike, so that no digits are lost in
 * a comparison by way of double; containers when they are text as yet. */
static bool equal_texts(const struct json *a, const struct json *b) {
  CLEANUP(buf_free) struct buf left = BUF_INIT(BUF_NOTEBOOK);
  CLEANUP(buf_free) struct buf right = BUF_INIT(BUF_NOTEBOOK);
  json_write_sorted(a, &left);
  json_write_sorted(b, &right);
  return left.length == right.length &&
         memcmp(left.data, right.data, left.length) == 0;
}

bool json_equal(const struct json *a, const struct json *b) {
  enum json_kind kind = json_kind(a);
  if (a == b)
    return true;
  if (kind != json_kind(b))
    return false;
  size_t length;
  if (json_raw(a, &length) != NULL || json_raw(b, &length) != NULL)
    return equal_texts(a, b);
  if (json_length(a) != json_length(b))
    return false;
  switch (kind) {
  case JSON_ARRAY:
    return equal_arrays(a, b);
  case JSON_OBJECT:
    return equal_objects(a, b);
  case JSON_STRING:
    return json_text_length(a) == json_text_length(b) &&
           memcmp(json_text(a), json_text(b), json_text_length(a)) == 0;
  case JSON_NULL:
  case JSON_BOOL:
  case JSON_INTEGER:
  case JSON_NUMBER:
  default:
    return equal_texts(a, b);
  }
}
