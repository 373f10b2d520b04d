/* What a run left, as the texts of this room are made from it. */
#ifndef CELLPOST_REPORT_TEXT_SOURCE_H
#define CELLPOST_REPORT_TEXT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/json/json.h"

/* Pointers are borrowed and may be NULL. */
struct text_source {
  const char *status;         /* ok, error, timeout, … */
  const struct json *outputs; /* nbformat array */
  const struct json *images;  /* the answer's images: {mime, uri, width, height,
                                 bytes, output} */
  const struct json *files;   /* the answer's files */
  const struct json *error;   /* the answer's error object */
  const struct json *late;    /* the answer's late_outputs: of earlier runs */
  const struct json *notes;   /* the answer's: sentences */
  const char *hint;           /* of a run without an error; or NULL */
  bool died;                  /* the kernel ended in this run */
  const char *kernel_state;   /* kept, fresh, lost: after the run */
  const char *kernel_reason;
  const char *ended_by;      /* which step ended the run: "SIGINT", … */
  const char *full_text_uri; /* where the whole text is */
  int64_t wall_ms;
  int64_t timeout_ms; /* 0: none */
  size_t limit;       /* characters (code points) */
};

#endif
