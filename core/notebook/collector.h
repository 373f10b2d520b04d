/* The output collector: IOPub messages in, nbformat outputs out. Pure, unless
 * it is told where artifacts are kept.
 *
 * Rules (messaging.rst, nbformat 4.5 schema):
 * - neighbouring stream messages of one name merge into one output, and the
 *   text is what a terminal would show after \r and \b (ANSI sequences stay);
 * - lines that come again and again in stderr are folded (fold.h);
 * - update_display_data changes every output with that display_id, and so does
 *   a display_data or execute_result that repeats a known display_id (which is
 *   also appended as an output of its own); an update never appends;
 * - clear_output(wait=false) removes all outputs now; wait=true does so just
 *   before the next appended output, and never when none comes;
 * - while an Output widget captures (comm messages set the msg_id of its
 * model), outputs and clear_output are the widget's: its outputs stand
 * together, and clearing them leaves the cell's others (ipywidgets, "Output
 * widgets");
 * - only schema keys are kept: no transient, no extra keys in error;
 * - over the caps head and tail of the text are kept with a marker between them
 *   that tells the exact bytes and lines dropped. Streams give way first, the
 *   largest one always; then whole outputs from the middle, with an output in
 *   their place that tells how many. The newest output always stays;
 * - artifacts (mimebundle_is_artifact) have a budget of their own: the larger
 *   of `bytes` and twice `image_bytes`. What is beyond it, or too large itself,
 *   is kept as a file only, and its output says where.
 *
 * What one message costs is bounded by its own size and by the limits. */
#ifndef CELLPOST_NOTEBOOK_COLLECTOR_H
#define CELLPOST_NOTEBOOK_COLLECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/fs.h"
#include "core/json/json.h"
#include "core/notebook/display_update.h"
#include "core/notebook/media.h"
#include "core/notebook/output.h"

struct collector;
struct collector *collector_new(const struct output_limits *limits);
void collector_free(struct collector *collector);
void collector_done(struct collector **collector);

/* From now on artifacts that are too large to be kept among the outputs go
 * beneath the task's directory at once. Both are borrowed. */
void collector_keep_artifacts(struct collector *collector, int task_directory,
                              const char *task, enum fs_sync sync);

/* Adds those of them that the outputs tell of to a list of media_store, in the
 * order of the outputs; `output` is SIZE_MAX for one that only an earlier
 * cell's output tells of. */
void collector_add_media(const struct collector *collector,
                         struct media **media, size_t *count);

/* Takes one message (stream, display_data, execute_result, error,
 * update_display_data, clear_output, comm_open, comm_msg, comm_close; others
 * are ignored). Returns true when the visible outputs changed. Never fails:
 * what is missing or of the wrong kind is treated as empty. */
bool collector_add(struct collector *collector, const char *type,
                   const struct json *content);

/* Appends a display_data of our own making (the pager's mimebundle). */
void collector_add_page(struct collector *collector, const struct json *data);

/* The outputs as an nbformat array, rendered now: text as a terminal shows it,
 * truncation markers in place. Stream text and mime values are single strings
 * (cell.h splits them into lines for the notebook). The caller owns it and
 * shares nothing with the collector, so that another thread may have it. */
struct json *collector_outputs(const struct collector *collector);

/* True when an output has the display_id of that message's content. */
bool collector_shows(const struct collector *collector,
                     const struct json *content);

/* The display_ids of the first `count` outputs, borrowed; NULL where there is
 * none. */
void collector_display_ids(const struct collector *collector, const char **ids,
                           size_t count);

/* Changes to outputs of earlier cells: an update_display_data, known here or
 * not (an id may have been shown by several cells), and a display that shows an
 * id for the first time in this run. Hands the next one over: 1 and *ret
 * (display_update_free) or 0. Only the newest per display_id is kept, and of
 * at most 1024 ids. */
int collector_take_update(struct collector *collector,
                          struct display_update *ret);

/* True once more than bytes_hard were received. */
bool collector_hard_limit(const struct collector *collector);
uint64_t collector_bytes(const struct collector *collector); /* all received */
void collector_dropped(const struct collector *collector,
                       struct output_dropped *ret);

#endif
