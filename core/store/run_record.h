/* A run as the history has it. */
#ifndef CELLPOST_STORE_RUN_RECORD_H
#define CELLPOST_STORE_RUN_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/json/json.h"

/* The life of a run: queued → running → one of the ends. Stored by name. */
enum run_status {
  RUN_QUEUED,
  RUN_RUNNING,
  RUN_OK,
  RUN_ERROR,
  RUN_TIMEOUT,
  RUN_INTERRUPTED,  /* somebody asked */
  RUN_CANCELLED,    /* before it started */
  RUN_OUTPUT_LIMIT, /* interrupted at the hard output cap */
  RUN_OOM,
  RUN_KERNEL_DIED,
  RUN_LOST,    /* the process that led it died; its end is unknown */
  RUN_NOT_RUN, /* accepted, but no kernel could be had (503), or the process
                  that was to lead it died before it began */
};
const char *run_status_name(enum run_status status);
enum run_status run_status_parse(const char *name); /* RUN_LOST if unknown */
static inline bool run_status_is_final(enum run_status status) {
  return status >= RUN_OK;
}

struct run_record {
  /* known when it is accepted */
  char *id; /* UUIDv7 */
  char *task;
  int64_t number; /* 1, 2, … within the task; given by the store */
  char *code;
  size_t code_length;
  char code_sha256[65];
  char *section;     /* or NULL */
  struct json *tags; /* array or NULL */
  bool silent;
  char *caller;          /* token name or "anonymous" */
  char *address;         /* of the client, or NULL */
  char *request_id;      /* or NULL */
  char *idempotency_key; /* or NULL */
  char body_sha256[65];  /* "" when there is no key */
  char *instance;        /* the process that leads it */
  int64_t timeout_ms;    /* 0: none */
  struct json *options; /* images, text_limit, traceback, limits: for replays of
                           the answer */
  int64_t queued_at;
  int64_t queued_boot_ns; /* the same by clock_boot_ns(); not stored, 0: not
                             known */
  /* known when it starts */
  int64_t started_at;  /* 0: not yet */
  char *kernel;        /* id, or NULL */
  int64_t generation;  /* of the kernel */
  char *kernel_state;  /* kept | fresh | lost: as the cell met it; lost, too,
                          when the kernel ended with it */
  char *kernel_reason; /* or NULL */
  char *cell;          /* notebook cell id, or NULL (silent, not written) */
  /* known when it ends */
  enum run_status status;
  int64_t ended_at;        /* 0: not yet */
  int64_t execution_count; /* -1: none */
  struct json *error;      /* the answer's error object, or NULL */
  char *text;              /* or NULL */
  struct json *files;      /* the answer's files array, or NULL */
  struct json *truncated;  /* the answer's truncated object, or NULL */
  struct json *images;     /* the answer's images without base64, or NULL */
  struct json *notes; /* array of sentences: what went wrong beside the run */
  struct json *late_told; /* the answer's late_outputs array, or NULL */
  char *ended_by;         /* "SIGINT", "SIGTERM", "SIGKILL", … or NULL */
  int64_t cpu_ms, memory_peak_bytes, output_bytes; /* -1 unknown */
  int64_t late_outputs;        /* arrived after the end, so far */
  int64_t cancel_requested_at; /* 0: nobody asked */
};
/* How much of each run a list holds. */
enum run_detail {
  RUN_WHOLE,
  RUN_SHOWN, /* of the code RUN_SHOWN_CODE bytes */
  RUN_BRIEF, /* of the code RUN_BRIEF_CODE bytes; no options, tags, text, files,
                truncated, images, notes, late_told */
};
#define RUN_SHOWN_CODE ((size_t)64 << 10)
#define RUN_BRIEF_CODE ((size_t)800) /* 200 characters */

void run_record_free(struct run_record *record); /* members; cleanup */

/* Sets the time of acceptance to now. */
void run_record_accept(struct run_record *record);
/* The present time on the clock of a run that is led here: what has passed
 * since it was accepted is measured by clock_boot_ns(), so that its times keep
 * their order and its durations are true whatever becomes of the wall clock. */
int64_t run_record_now(const struct run_record *record);
void run_list_free(struct run_record *list, size_t count);

/* One display that a run made, so that a later update finds its output. */
struct run_display {
  const char *display_id;
  size_t position;
};

#endif
