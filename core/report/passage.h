/* The passages that `text` and `prompt` share. Pure.
 *
 * Each appends whole lines (with their line end), or nothing when there is
 * nothing to say; whether all of it found room, the buffer itself tells. */
#ifndef CELLPOST_REPORT_PASSAGE_H
#define CELLPOST_REPORT_PASSAGE_H

#include <stdbool.h>

#include "core/base/buf.h"
#include "core/json/json.h"
#include "core/report/text_source.h"

/* Starts a new line unless one has just begun. */
void passage_end_line(struct buf *out);

/* Where the error lies and the source lines there:
 *   Error in line 3 of cell In[1] (called from line 2 of this cell):
 *   -> 3     return 1 / y
 * "Stopped in line …" when the status says that the code was ended. */
void passage_place(const struct json *error, const char *status,
                   struct buf *out);

/* "ZeroDivisionError: division by zero", the message cut to `limit`
 * characters. Works for the answer's error and for an error output alike. */
void passage_exception(const struct json *error, size_t limit, struct buf *out);

/* The class alone; where the kernel names none, the start of the message. Not a
 * whole line. */
void passage_name(const struct json *error, struct buf *out);

/* "Cause: KeyError: 'b'" for each cause, at most `most` of them, without those
 * that only say the same again. */
void passage_causes(const struct json *error, size_t most, struct buf *out);

/* All outputs in order as the model reads them; without error outputs when
 * `errors` is false. */
void passage_outputs(const struct text_source *source, bool errors,
                     struct buf *out);

/* What earlier runs have put out since the answer before, under a heading. */
void passage_late(const struct text_source *source, struct buf *out);

/* Runs of identical lines become one line and a count. */
void passage_fold(const char *text, size_t length, struct buf *out);

/* One line per note, between `before` and `after`; of many, the first. */
void passage_notes(const struct text_source *source, const char *before,
                   const char *after, struct buf *out);

/* One line per file that was created, changed or deleted, at most `most`. */
void passage_files(const struct json *files, size_t most, struct buf *out);

/* Behind a status: " of 2 s, ended by SIGINT"; behind the state of the
 * variables: " (signal 9)". Neither is a whole line. */
void passage_ending(const struct text_source *source, struct buf *out);
void passage_reason(const struct text_source *source, struct buf *out);

/* What a status means, in a sentence without its full stop; NULL for ok and for
 * words that are not known. What the state of the kernel means for the
 * variables, likewise. */
const char *passage_of_status(const char *status);
const char *passage_of_state(const struct text_source *source);

#endif
