/* The texts that a model reads. Pure and deterministic. */
#ifndef CELLPOST_REPORT_TEXT_H
#define CELLPOST_REPORT_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/json/json.h"

/* All that the texts are made from. Pointers are borrowed and may be NULL. */
struct text_source {
  const char *status;         /* ok, error, timeout, … */
  const struct json *outputs; /* nbformat array */
  const struct json *images;  /* the answer's images: {mime, uri, width, height,
                                 bytes, output} */
  const struct json *files;   /* the answer's files */
  const struct json *error;   /* the answer's error object */
  const char *kernel_state;   /* kept, fresh, lost: after the run */
  const char *kernel_reason;
  const char *ended_by;      /* which step ended the run: "SIGINT", … */
  const char *full_text_uri; /* where the whole text is */
  int64_t wall_ms;
  int64_t timeout_ms; /* 0: none */
  size_t limit;       /* characters (code points) */
};

/* `text`: stdout, stderr, results (richest readable text: markdown, latex,
 * text/plain; never html) and image placeholders in order, without ANSI,
 * identical neighbouring lines folded with a count, bounded: head a quarter,
 * tail three quarters, never inside a character, a marker with the counts and
 * the URI of the full text between them. An error's place and exception stand
 * where it happened. When the run did not end ok, a last line (never cut) says
 * how it ended. */
int text_compose(const struct text_source *source, struct buf *out);

/* The same without bound (for the full-text artifact), and whether the bound
 * text leaves something out. */
int text_compose_full(const struct text_source *source, struct buf *out);

/* error.prompt: one text to act on: status first, then error, place, what
 * survived, partial output, hint. At most 4,000 characters. */
int text_prompt(const struct text_source *source, struct buf *out);

#endif
