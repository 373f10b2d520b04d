/* The table of configuration keys and what their values may be; private to
 * the conf_*.c files. */
#ifndef CELLPOST_CONF_CONF_TABLE_H
#define CELLPOST_CONF_CONF_TABLE_H

#include <stddef.h>

#include "core/base/buf.h"
#include "core/conf/conf_settings.h"

/* sun_path has 108 bytes with its NUL (unix(7)). */
#define CONF_SOCKET_PATH 107

enum conf_type {
  CONF_INTEGER,  /* int64_t */
  CONF_SIZE,     /* int64_t, bytes */
  CONF_DURATION, /* double, seconds, whole milliseconds */
  CONF_DECIMAL,  /* double, three digits after the point */
  CONF_SWITCH,   /* bool */
  CONF_CHOICE,   /* an enum: the index in `choices` */
  CONF_WORD,     /* char *, one of `choices` */
  CONF_TEXT,     /* char *, not empty */
  CONF_PATH,     /* char *, absolute */
  CONF_PATHS,    /* char *, absolute paths with colons between, or empty */
  CONF_PAIRS,    /* char *, NAME=value with spaces between, or empty */
};

struct conf_key {
  const char *section;
  const char *name; /* as the field of struct conf */
  enum conf_type type;
  size_t offset;              /* of the field */
  double least;               /* numbers: the range; ignored elsewhere */
  double most;                /* numbers: the range; texts: bytes */
  const char *value;          /* the default as a file would have it; NULL: made
                                 from other keys */
  const char *const *choices; /* ends with NULL */
  const char *meaning;
};

extern const struct conf_key conf_keys[];
extern const size_t conf_key_count;

/* Sets the field of `key` from the text of a file. -1, with nothing changed,
 * when the text is not what the key wants. */
int conf_value_set(struct conf *conf, const struct conf_key *key,
                   const char *text);

/* Appends the value in force, as conf_value_set would read it. */
void conf_value_write(const struct conf *conf, const struct conf_key *key,
                      struct buf *out);

/* Appends what the key wants, as "a whole number from 1 to 4096". */
void conf_value_wanted(const struct conf_key *key, struct buf *out);

/* The field of a key whose type is stored as char *. */
char **conf_value_text(const struct conf *conf, const struct conf_key *key);
bool conf_type_is_text(enum conf_type type);

#endif
