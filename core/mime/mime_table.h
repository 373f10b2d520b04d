/* Extensions, their types, and on what content a type may be claimed; private
 * to the mime*.c files. */
#ifndef CELLPOST_MIME_MIME_TABLE_H
#define CELLPOST_MIME_MIME_TABLE_H

#include <stddef.h>

/* What the content must look like before an extension is believed. */
enum mime_basis {
  MIME_TEXT,   /* text of any kind, JSON and XML included */
  MIME_ZIP,    /* a zip archive */
  MIME_OLE,    /* a Compound File Binary, the container of old Office files */
  MIME_BINARY, /* bytes in which libmagic recognises nothing */
  MIME_CONTENT /* never believed: content itself must say so */
};

struct mime_row {
  const char *extension; /* lower case, without the dot */
  const char *type;
  enum mime_basis basis;
};

/* The first row of a type holds the extension that new files of it get. */
extern const struct mime_row mime_rows[];
extern const size_t mime_row_count;

/* The row of the last extension of `name`, in any case; NULL: unknown. */
const struct mime_row *mime_row_of(const char *name);

/* The type when the bytes begin with a signature of a format that libmagic
 * does not know or knows only in part; NULL: none. */
const char *mime_by_signature(const void *bytes, size_t size);

#endif
