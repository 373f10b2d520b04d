#include "core/upkeep/verify.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/crypto.h"
#include "core/base/fs.h"
#include "core/base/layout.h"
#include "core/base/mem.h"
#include "core/store/store.h"
#include "core/store/task.h"
#include "core/store/verify.h"
#include "core/upkeep/verify_notebook.h"

#define AT_ONCE 100

/* A run that goes on can make a notebook look wrong for a moment: what is said
 * so many times in a row is true. */
#define TIMES_SAID 4
#define TIMES_ASKED 40
#define PAUSE_MS 250

struct verify {
  struct store *store;
  int tasks; /* the directory tasks/ */
  struct verify_report report;
};

static int differ(struct err *err, const struct verify_artifact *artifact,
                  const char *what) {
  err_set(err, ERR_CONFLICT, "artifact %.100s of task %s %s", artifact->name,
          artifact->task, what);
  return 1;
}

/* One that retention removes at this moment is nobody's any more. */
static int check_absence(const struct verify *verify,
                         const struct verify_artifact *artifact,
                         struct err *err) {
  if (!artifact->needed)
    return 0;
  int there = verify_artifact_is_there(verify->store, artifact->id, err);
  return there <= 0 ? there : differ(err, artifact, "is not there");
}

static int check_artifact(const struct verify *verify,
                          const struct verify_artifact *artifact,
                          struct err *err) {
  CLEANUP(buf_free) struct buf content = BUF_INIT(BUF_ANSWER);
  struct err fault = {0};
  CLEANUP(mem_free_pointer)
  char *path =
      mem_format("%s/" LAYOUT_ARTIFACTS "/%s", artifact->task, artifact->name);
  if (fs_read_file(verify->tasks, path, &content, &fault) < 0)
    return fault.kind == ERR_NOT_FOUND
               ? check_absence(verify, artifact, err)
               : err_set(err, fault.kind, "%s: %.400s", path, fault.text);
  char digest[CRYPTO_SHA256_HEX];
  crypto_sha256(buf_string(&content), content.length, digest);
  if ((int64_t)content.length != artifact->bytes ||
      strcmp(digest, artifact->sha256) != 0)
    return differ(err, artifact, "does not match its digest");
  return 0;
}

static int check_artifacts(struct verify *verify, struct err *err) {
  int64_t after = 0;
  size_t count;
  int result = 0;
  do {
    struct verify_artifact *list = NULL;
    if (verify_list_artifacts(verify->store, after, AT_ONCE, &list, &count,
                              err) < 0)
      return -1;
    for (size_t i = 0; i < count && result == 0; i++) {
      result = check_artifact(verify, &list[i], err);
      after = list[i].id;
    }
    verify->report.artifacts += (int64_t)count;
    verify_artifacts_free(list, count);
  } while (count == AT_ONCE && result == 0);
  return result;
}

static void wait_a_moment(void) {
  struct timespec pause = {0, PAUSE_MS * 1000000L};
  nanosleep(&pause, NULL);
}

/* Counts what was seen of a notebook that is in order; `said` names the first
 * cell that is missing. */
static int pass(struct verify *verify, const struct verify_cells *cells,
                const struct err *said) {
  struct verify_report *report = &verify->report;
  if (cells->missing > 0 && report->without_cell == 0)
    snprintf(report->first_without_cell, sizeof report->first_without_cell,
             "%.399s", said->text);
  report->without_cell += cells->missing;
  report->notebooks++;
  report->cells += cells->found;
  return 0;
}

/* Asks again while the complaints change. */
static int check_notebook(struct verify *verify, const char *task,
                          struct err *err) {
  struct err last = {0};
  struct verify_cells cells = {0};
  int said = 0, result = 0;
  for (int asked = 0; asked < TIMES_ASKED && said < TIMES_SAID; asked++) {
    CLEANUP(task_record_free) struct task_record record = {0};
    struct err found = {0};
    if (task_get(verify->store, task, &record, &found) < 0)
      return found.kind == ERR_NOT_FOUND
                 ? 0 /* deleted meanwhile */
                 : err_set(err, found.kind, "%s", found.text);
    result =
        verify_notebook(verify->store, verify->tasks, &record, &cells, &found);
    if (result < 0)
      return err_set(err, found.kind, "%s", found.text);
    if (result == 0)
      return pass(verify, &cells, NULL);
    said = strcmp(found.text, last.text) == 0 ? said + 1 : 1;
    last = found;
    if (said < TIMES_SAID)
      wait_a_moment();
  }
  if (result == 2)
    return pass(verify, &cells, &last);
  err_set(err, last.kind, "%s", last.text);
  return 1;
}

static int check_notebooks(struct verify *verify, struct err *err) {
  CLEANUP(mem_free_pointer) char *after = NULL;
  size_t count;
  int result = 0;
  do {
    struct task_record *list = NULL;
    if (task_list(verify->store, NULL, after, AT_ONCE, &list, &count, err) < 0)
      return -1;
    for (size_t i = 0; i < count && result == 0; i++)
      result = check_notebook(verify, list[i].id, err);
    if (count > 0) {
      mem_free_pointer(&after);
      after = mem_copy_text(list[count - 1].id);
    }
    task_list_free(list, count);
  } while (count == AT_ONCE && result == 0);
  return result;
}

static int check_files(const struct conf *conf, const char *database,
                       struct verify *verify, struct err *err) {
  CLEANUP(mem_free_pointer)
  char *path = mem_format("%s/" LAYOUT_TASKS, conf->state_directory);
  CLEANUP(mem_close_descriptor) int tasks = fs_open_directory(path, err);
  if (tasks < 0 ||
      store_open(database, CONF_SYNC_NEVER, &verify->store, err) < 0)
    return -1;
  verify->tasks = tasks;
  int result = check_artifacts(verify, err);
  if (result == 0)
    result = check_notebooks(verify, err);
  store_close(verify->store);
  return result;
}

int verify_all(const struct conf *conf, struct verify_report *ret,
               struct err *err) {
  struct verify verify = {.tasks = -1};
  CLEANUP(mem_free_pointer)
  char *database = mem_format("%s/" LAYOUT_DATABASE, conf->state_directory);
  int result = verify_database(database, &verify.report.runs, err);
  if (result == 0)
    result = check_files(conf, database, &verify, err);
  if (result == 0)
    *ret = verify.report;
  return result;
}
