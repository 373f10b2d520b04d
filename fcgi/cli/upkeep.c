#include "fcgi/cli/upkeep.h"

#include <stdio.h>
#include <unistd.h>

#include "core/base/layout.h"
#include "core/base/mem.h"
#include "core/store/backup.h"
#include "core/upkeep/gc.h"
#include "core/upkeep/verify.h"

static char *database_of(const struct conf *conf) {
  return mem_format("%s/" LAYOUT_DATABASE, conf->state_directory);
}

int upkeep_verify(const struct conf *conf, const char *argument,
                  struct err *err) {
  (void)argument;
  struct verify_report report;
  int result = verify_all(conf, &report, err);
  if (result != 0)
    return result > 0 ? 1 : 2;
  printf("%lld runs, %lld artifacts, %lld notebooks with %lld cells: no "
         "discrepancy\n",
         (long long)report.runs, (long long)report.artifacts,
         (long long)report.notebooks, (long long)report.cells);
  return 0;
}

int upkeep_gc(const struct conf *conf, const char *argument, struct err *err) {
  (void)argument;
  CLEANUP(mem_free_pointer) char *database = database_of(conf);
  struct store *store;
  struct gc_report report;
  if (access(database, F_OK) != 0) {
    err_set(err, ERR_NOT_FOUND, "there is no database %s", database);
    return 1;
  }
  if (store_open(database, conf->sync, &store, err) < 0)
    return 1;
  int result = gc_run(conf, store, NULL, &report, err);
  store_close(store);
  if (result < 0)
    return 1;
  printf("removed: %lld runs, %lld events, %lld files (%lld bytes), the files "
         "of %lld tasks\n",
         (long long)report.runs, (long long)report.events,
         (long long)report.removed.files, (long long)report.removed.bytes,
         (long long)report.removed.tasks);
  if (report.removed.unknown > 0)
    printf("left alone: %lld directories in tasks/ that belong to no task\n",
           (long long)report.removed.unknown);
  return 0;
}

int upkeep_backup(const struct conf *conf, const char *argument,
                  struct err *err) {
  CLEANUP(mem_free_pointer) char *database = database_of(conf);
  return backup_database(database, argument, err) < 0;
}
