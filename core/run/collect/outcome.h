/* What became of one cell. Each stage fills its own part; collect.h reads the
 * first part and adds the second, finish.h writes it all down. */
#ifndef CELLPOST_RUN_COLLECT_OUTCOME_H
#define CELLPOST_RUN_COLLECT_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/jupyter/client.h"
#include "core/notebook/media.h"
#include "core/run/engine/trail.h"
#include "core/run/late/late.h"
#include "core/store/kernel.h"
#include "core/store/run.h"

struct outcome {
  /* execute: what was seen of the kernel */
  struct execution execution;
  enum run_status verdict; /* RUN_OK unless the run was ended from outside */
  struct json *raised;  /* the error that the kernel published last, or NULL */
  const char *ended_by; /* "SIGINT", "interrupt_request", "SIGTERM", … */
  bool died;            /* the kernel is gone */
  bool abandoned;       /* it still runs: nobody could end it */
  bool unheard; /* not all that it publishes arrived: close the channel */
  struct kernel_record end; /* how it went, when it died and that is known */
  int64_t running_line;     /* at the moment it was ended, or -1 */
  struct trail trail;       /* what goes to the event log */
  struct late_batch late;   /* what other runs put out meanwhile */

  /* collect: what is told of it */
  int64_t ended_at; /* run_record_now() */
  struct json *outputs;
  enum run_status status;
  char *kernel_reason; /* why the kernel is gone, when it died; else NULL */
  int64_t cpu_ms, memory_peak_bytes, output_bytes; /* -1 unknown */
  struct media *media;                             /* artifacts of outputs */
  size_t media_count;
  struct media full_text; /* the whole text as an artifact; has_full_text */
  bool has_full_text;
  struct json *images, *files, *truncated, *error; /* of the answer; or NULL */
  size_t files_omitted; /* changed files that the list leaves out */
  char *text;

  /* every stage: sentences on what went wrong beside the run, or NULL */
  struct json *notes;
};
void outcome_free(struct outcome *outcome); /* members; cleanup */

void outcome_note(struct outcome *outcome, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The rest is pure and reads verdict, execution, died, end, outputs and
 * output_bytes. */

/* False: the kernel neither replied nor put out anything. Some kernels become
 * idle, too, after a request that they dropped. */
bool outcome_was_seen(const struct outcome *outcome);

/* The error that the kernel published last, or that of its reply; NULL when
 * there is none. Borrowed. */
const struct json *outcome_kernel_error(const struct outcome *outcome);

/* How the cell ended. An error that its code raised makes it fail, wherever the
 * kernel tells it: in the reply, or among the outputs alone (%%time, %%capture,
 * a __repr__ that raises). One without a reply failed, too, when it shows
 * nothing at all. */
enum run_status outcome_status(const struct outcome *outcome);

#endif
