/* json-c's type has the name of our function json_object(). */
#define json_object json_c_object
#include <json-c/json.h>
#undef json_object

#include "core/json/json.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/json/json_raw.h"

/* `struct json` is json-c's object under a name of our own: it is never
 * defined, only cast, so nobody else needs json-c's headers. */
static json_c_object *inner(const struct json *value) {
  return (json_c_object *)(uintptr_t)value;
}

static struct json *outer(json_c_object *value) { return (struct json *)value; }

/* json-c returns NULL when memory is out; so does null in our own terms. */
static struct json *made(json_c_object *value) {
  if (value == NULL)
    abort();
  return outer(value);
}

static bool is_kind(const struct json *value, json_type type) {
  return json_object_is_type(inner(value), type) != 0;
}

struct json *json_object(void) {
  return made(json_object_new_object());
}

/* Small at first: json-c's own default takes 256 bytes for "[]". */
struct json *json_array(void) {
  return made(json_object_new_array_ext(4));
}

struct json *json_object_small(void) {
  struct json *object = json_object();
  if (lh_table_resize(json_object_get_object(inner(object)), 1) != 0)
    abort();
  return object;
}

struct raw {
  size_t length;
  char text[];
};

static void free_raw(json_c_object *value, void *raw) {
  (void)value;
  free(raw);
}

/* The text travels as json-c's user data, as the digits of a number do. */
struct json *json_raw_new(const char *text, size_t length) {
  struct raw *raw = mem_new(sizeof *raw + length + 1);
  raw->length = length;
  memcpy(raw->text, text, length);
  struct json *container = text[0] == '{' ? json_object_small() : json_array();
  json_object_set_userdata(inner(container), raw, free_raw);
  return container;
}

static const struct raw *raw_of(const struct json *value) {
  return is_kind(value, json_type_object) || is_kind(value, json_type_array)
             ? json_object_get_userdata(inner(value))
             : NULL;
}

const char *json_raw(const struct json *value, size_t *length) {
  const struct raw *raw = raw_of(value);
  if (raw == NULL)
    return NULL;
  *length = raw->length;
  return raw->text;
}

/* Fills a container that is still text; whoever looks inside calls this. */
static void open_up(const struct json *value) {
  const struct raw *raw = raw_of(value);
  if (raw == NULL)
    return;
  struct json *parsed = json_raw_parse(raw->text, raw->length);
  json_object_set_userdata(inner(value), NULL, NULL);
  struct json *container = outer(inner(value)), *member;
  for (size_t i = 0; is_kind(parsed, json_type_array) &&
                     i < json_object_array_length(inner(parsed));
       i++)
    json_push(container,
              json_share(outer(json_object_array_get_idx(inner(parsed), i))));
  void *state = NULL;
  const char *key;
  while (json_next(parsed, &state, &key, &member))
    json_set(container, key, json_share(member));
  json_free(parsed);
}

struct json *json_string(const char *text) {
  return text == NULL ? NULL : json_string_n(text, strlen(text));
}

struct json *json_string_n(const char *text, size_t length) {
  if (text == NULL || utf8_is_valid(text, length))
    return json_string_valid(text, length);
  CLEANUP(buf_free) struct buf repaired = BUF_INIT(3 * length);
  utf8_repair(text, length, &repaired);
  return json_string_valid(buf_string(&repaired), repaired.length);
}

struct json *json_string_valid(const char *text, size_t length) {
  if (text == NULL)
    return NULL;
  if (length > JSON_STRING_MOST)
    abort();
  return made(json_object_new_string_len(text, (int)length));
}

struct json *json_integer(int64_t value) {
  return made(json_object_new_int64(value));
}

struct json *json_number(double value) {
  return __builtin_isfinite(value) ? made(json_object_new_double(value)) : NULL;
}

/* The digits travel as json-c's user data. The double stays 0: most numbers
 * are only passed on, so their value is worked out when somebody asks. */
struct json *json_number_text(const char *digits, size_t length) {
  struct json *number = made(json_object_new_double(0));
  json_object_set_userdata(inner(number), mem_copy_bytes(digits, length),
                           json_object_free_userdata);
  return number;
}

const char *json_digits(const struct json *value) {
  if (!is_kind(value, json_type_double))
    return NULL;
  return json_object_get_userdata(inner(value));
}

struct json *json_boolean(bool value) {
  return made(json_object_new_boolean(value));
}

struct json *json_share(const struct json *value) {
  return outer(json_object_get(inner(value)));
}

void json_free(struct json *value) { json_object_put(inner(value)); }

void json_done(struct json **value) {
  json_free(*value);
  *value = NULL;
}

void json_set(struct json *object, const char *key, struct json *value) {
  open_up(object);
  if (!is_kind(object, json_type_object)) {
    json_free(value);
    return;
  }
  CLEANUP(buf_free) struct buf repaired = BUF_INIT(3 * strlen(key));
  if (!utf8_is_valid(key, strlen(key))) {
    utf8_repair(key, strlen(key), &repaired);
    key = buf_string(&repaired);
  }
  if (json_object_object_add(inner(object), key, inner(value)) != 0)
    abort();
}

void json_set_text(struct json *object, const char *key, const char *text) {
  json_set(object, key, json_string(text));
}

void json_set_integer(struct json *object, const char *key, int64_t value) {
  json_set(object, key, json_integer(value));
}

void json_set_boolean(struct json *object, const char *key, bool value) {
  json_set(object, key, json_boolean(value));
}

void json_set_time(struct json *object, const char *key, int64_t wall_us) {
  char text[CLOCK_ISO_SIZE];
  if (wall_us != 0)
    clock_format_iso(wall_us, text);
  json_set_text(object, key, wall_us == 0 ? NULL : text);
}

void json_remove(struct json *object, const char *key) {
  open_up(object);
  if (is_kind(object, json_type_object))
    json_object_object_del(inner(object), key);
}

void json_push(struct json *array, struct json *value) {
  open_up(array);
  if (!is_kind(array, json_type_array))
    json_free(value);
  else if (json_object_array_add(inner(array), inner(value)) != 0)
    abort();
}

void json_replace_at(struct json *array, size_t index, struct json *value) {
  open_up(array);
  if (!is_kind(array, json_type_array) || index >= json_length(array))
    json_free(value);
  else
    json_object_array_put_idx(inner(array), index, inner(value));
}

void json_remove_at(struct json *array, size_t index, size_t count) {
  open_up(array);
  size_t length = is_kind(array, json_type_array) ? json_length(array) : 0;
  if (index >= length)
    return;
  if (count > length - index)
    count = length - index;
  json_object_array_del_idx(inner(array), index, count);
}

enum json_kind json_kind(const struct json *value) {
  switch (json_object_get_type(inner(value))) {
  case json_type_boolean:
    return JSON_BOOL;
  case json_type_int:
    return JSON_INTEGER;
  case json_type_double:
    return JSON_NUMBER;
  case json_type_string:
    return JSON_STRING;
  case json_type_array:
    return JSON_ARRAY;
  case json_type_object:
    return JSON_OBJECT;
  case json_type_null:
  default:
    return JSON_NULL;
  }
}

struct json *json_get(const struct json *object, const char *key) {
  open_up(object);
  json_c_object *value = NULL;
  if (is_kind(object, json_type_object))
    json_object_object_get_ex(inner(object), key, &value);
  return outer(value);
}

bool json_has(const struct json *object, const char *key) {
  open_up(object);
  return is_kind(object, json_type_object) &&
         json_object_object_get_ex(inner(object), key, NULL) != 0;
}

struct json *json_at(const struct json *array, size_t index) {
  open_up(array);
  if (!is_kind(array, json_type_array))
    return NULL;
  return outer(json_object_array_get_idx(inner(array), index));
}

size_t json_length(const struct json *value) {
  open_up(value);
  if (is_kind(value, json_type_array))
    return json_object_array_length(inner(value));
  if (is_kind(value, json_type_object))
    return (size_t)json_object_object_length(inner(value));
  return 0;
}

const char *json_text(const struct json *value) {
  if (!is_kind(value, json_type_string))
    return NULL;
  return json_object_get_string(inner(value));
}

size_t json_text_length(const struct json *value) {
  if (!is_kind(value, json_type_string))
    return 0;
  return (size_t)json_object_get_string_len(inner(value));
}

int64_t json_as_integer(const struct json *value, int64_t otherwise) {
  if (!is_kind(value, json_type_int))
    return otherwise;
  return json_object_get_int64(inner(value));
}

/* strtod reads a point as the decimal mark because the programs never call
 * setlocale. */
double json_as_number(const struct json *value, double otherwise) {
  if (is_kind(value, json_type_int))
    return (double)json_object_get_int64(inner(value));
  if (!is_kind(value, json_type_double))
    return otherwise;
  const char *digits = json_digits(value);
  return digits != NULL ? strtod(digits, NULL)
                        : json_object_get_double(inner(value));
}

bool json_as_boolean(const struct json *value, bool otherwise) {
  if (!is_kind(value, json_type_boolean))
    return otherwise;
  return json_object_get_boolean(inner(value)) != 0;
}

const char *json_get_text(const struct json *object, const char *key) {
  return json_text(json_get(object, key));
}

int64_t json_get_integer(const struct json *object, const char *key,
                         int64_t otherwise) {
  return json_as_integer(json_get(object, key), otherwise);
}

bool json_next(const struct json *object, void **state, const char **key,
               struct json **value) {
  if (!is_kind(object, json_type_object))
    return false;
  if (*state == NULL)
    open_up(object);
  struct lh_entry *last = *state;
  struct lh_entry *entry =
      last == NULL ? lh_table_head(json_object_get_object(inner(object)))
                   : lh_entry_next(last);
  if (entry == NULL)
    return false;
  *state = entry;
  *key = lh_entry_k(entry);
  *value = outer(lh_entry_v(entry));
  return true;
}
