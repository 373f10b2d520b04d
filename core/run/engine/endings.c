#include "core/run/engine/endings.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <utlist.h>

#include "core/base/buf.h"
#include "core/base/fs.h"
#include "core/base/layout.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/notebook/media.h"

struct kept {
  struct run_ending *ending;
  size_t bytes;
  struct kept *prev, *next;
};

struct endings {
  pthread_mutex_t mutex;
  struct kept *first;
  size_t bytes;
};

struct endings *endings_new(void) {
  struct endings *endings = mem_new(sizeof *endings);
  pthread_mutex_init(&endings->mutex, NULL);
  return endings;
}

/* The mutex is held, or nobody else is left. */
static void forget(struct endings *endings, struct kept *kept) {
  DL_DELETE(endings->first, kept);
  endings->bytes -= kept->bytes;
  run_ending_free(kept->ending);
  free(kept);
}

void endings_free(struct endings *endings) {
  if (endings == NULL)
    return;
  while (endings->first != NULL)
    forget(endings, endings->first);
  pthread_mutex_destroy(&endings->mutex);
  free(endings);
}

/* What would fail again for ever: the run has an end, or is not there. */
static bool is_final(enum err_kind kind) {
  return kind == ERR_CONFLICT || kind == ERR_NOT_FOUND ||
         kind == ERR_INTERNAL || kind == ERR_TOO_LARGE;
}

static size_t size_of(const struct run_ending *ending) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(ENDINGS_BYTES);
  if (json_write(ending->outputs, &text) < 0)
    return ENDINGS_BYTES + 1;
  return text.length;
}

static void add_note(struct run_ending *ending, const char *note) {
  struct run_record *record = (struct run_record *)(uintptr_t)ending->record;
  if (record->notes == NULL)
    record->notes = json_array();
  json_push(record->notes, json_string(note));
}

static void keep(struct endings *endings, const struct run_ending *ending,
                 const struct err *why) {
  struct run_ending given = *ending;
  CLEANUP(json_done) struct json *none = json_array();
  size_t bytes = size_of(ending);
  pthread_mutex_lock(&endings->mutex);
  bool fits = endings->bytes + bytes <= ENDINGS_BYTES;
  if (!fits) {
    given.outputs = none;
    given.display_count = given.event_count = 0;
    bytes = 0;
  }
  struct kept *kept = mem_new(sizeof *kept);
  *kept = (struct kept){.ending = run_ending_copy(&given), .bytes = bytes};
  CLEANUP(mem_free_pointer)
  char *note =
      mem_format("this end was recorded later than it came: %.300s", why->text);
  add_note(kept->ending, note);
  if (!fits)
    add_note(kept->ending, "its outputs are not recorded: too many ends had "
                           "to wait");
  endings->bytes += bytes;
  DL_APPEND(endings->first, kept);
  pthread_mutex_unlock(&endings->mutex);
}

int endings_finish(struct endings *endings, struct store *store,
                   const struct run_ending *ending, struct err *err) {
  struct err fault = {0};
  if (run_finish(store, ending, &fault) == 0)
    return 0;
  if (!is_final(fault.kind))
    keep(endings, ending, &fault);
  return err_set(err, fault.kind, "%s", fault.text);
}

bool endings_wait(struct endings *endings) {
  pthread_mutex_lock(&endings->mutex);
  bool any = endings->first != NULL;
  pthread_mutex_unlock(&endings->mutex);
  return any;
}

static void renew_artifacts(const struct run_ending *ending,
                            int tasks_directory) {
  if (ending->artifact_count == 0 || tasks_directory < 0)
    return;
  CLEANUP(mem_free_pointer)
  char *path = mem_format("%s/" LAYOUT_ARTIFACTS, ending->record->task);
  CLEANUP(mem_close_descriptor)
  int directory =
      fs_open_beneath(tasks_directory, path, O_RDONLY | O_DIRECTORY, 0, NULL);
  for (size_t i = 0; directory >= 0 && i < ending->artifact_count; i++)
    media_renew(directory, ending->artifacts[i].name);
}

void endings_retry(struct endings *endings, struct store *store,
                   int tasks_directory) {
  pthread_mutex_lock(&endings->mutex);
  while (endings->first != NULL) {
    struct err err = {0};
    const struct run_ending *ending = endings->first->ending;
    if (run_finish(store, ending, &err) < 0 && !is_final(err.kind))
      break;
    if (err.kind != ERR_NONE)
      log_error("the end of run %s is not recorded: %s", ending->record->id,
                err.text);
    forget(endings, endings->first);
  }
  const struct kept *kept;
  DL_FOREACH(endings->first, kept) {
    /* cppcheck-suppress uninitvar ; the macro sets it */
    renew_artifacts(kept->ending, tasks_directory);
  }
  pthread_mutex_unlock(&endings->mutex);
}
