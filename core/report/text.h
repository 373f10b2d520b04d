/* The texts that a model reads. Pure and deterministic. */
#ifndef CELLPOST_REPORT_TEXT_H
#define CELLPOST_REPORT_TEXT_H

#include "core/base/buf.h"
#include "core/report/text_source.h"

/* `text`: stdout, stderr, results (richest readable text: markdown, latex,
 * text/plain; never html) and image placeholders in order, without ANSI,
 * identical neighbouring lines folded with a count, bounded: head a quarter,
 * tail three quarters, never inside a character, a marker with the counts and
 * the URI of the full text between them. An error's place and exception stand
 * where it happened. When the run did not end ok, a last line (never cut) says
 * how it ended. */
int text_compose(const struct text_source *source, struct buf *out);

/* The same without bound and fold, for the artifact that has all of it. */
int text_compose_full(const struct text_source *source, struct buf *out);

/* error.prompt: one text to act on: status first, then error, place, what
 * survived, partial output, hint. At most 4,000 characters. */
int text_prompt(const struct text_source *source, struct buf *out);

#endif
