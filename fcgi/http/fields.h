/* A JSON object from outside, checked field by field against a table. Pure.
 *
 * Unknown fields are refused by name, and so is a value of the wrong type or
 * out of range: each is an ERR_FIELD whose text says what would be right. */
#ifndef CELLPOST_FCGI_HTTP_FIELDS_H
#define CELLPOST_FCGI_HTTP_FIELDS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/json/json.h"

enum field_type {
  FIELD_TEXT,    /* const char *: a clean line (line.h), `least` to `most`
                    characters */
  FIELD_CODE,    /* struct field_code: any text without NUL */
  FIELD_NUMBER,  /* double, over `least`, up to `most` */
  FIELD_INTEGER, /* int64_t, from `least` to `most` */
  FIELD_BOOLEAN, /* bool */
  FIELD_CHOICE,  /* int: the index in `choices` */
  FIELD_TEXTS,   /* const struct json *: an array of at most `most` strings */
  FIELD_TAGS,    /* the same; each as nbformat wants tags: not empty, without a
                    comma, none twice */
  FIELD_ENVIRONMENT, /* const struct json *: an object of at most `most` NAME:
                        text without NUL */
  FIELD_OBJECT, /* const struct json *: an object; its members are for somebody
                   else to check */
};

struct field_code {
  const char *bytes;
  size_t length;
};

struct field {
  const char *name;
  enum field_type type;
  bool required;
  size_t offset; /* of the member that receives the value */
  double least, most;
  const char *const *choices; /* ends with NULL */
};

/* Code with a NUL is refused: what kernels make of it is anything from an error
 * to no answer at all. ERR_FIELD names the field and the place. */
int fields_check_code(const char *name, const char *bytes, size_t length,
                      struct json **details, struct err *err);

/* Sets the members of *target for the fields that `object` has; the others keep
 * what they hold. Texts are borrowed from `object`. On failure *details (may be
 * NULL) receives {"field": name, "did_you_mean": name?} for the problem
 * document, and *target may be half set. */
int fields_read(const struct json *object, const struct field *fields,
                size_t count, void *target, struct json **details,
                struct err *err);

/* Parses a JSON body, which must be one object. ERR_INVALID names the fault and
 * the byte. The caller owns *ret. */
int fields_parse(const char *bytes, size_t length, struct json **ret,
                 struct err *err);

#endif
