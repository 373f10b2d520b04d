/* The end of a kernel: found out, recorded, cleared away. What the keeper has
 * not been able to record stays in the shim's directory: a later keeper finds
 * it there. */
#include "core/keeper/kernels/registry.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/keeper/kernels/ending.h"
#include "core/process/strays.h"

#define RETRY_NS (250 * CLOCK_MS)

/* A row that cannot be written for another reason than that the database is
 * locked will never be: then there is no end to record either. */
static bool can_record_end(struct kernel *kernel) {
  struct err err = {0};
  if (registry_list(kernel, &err) >= 0)
    return true;
  kernel->retry_at = clock_monotonic_ns() + RETRY_NS;
  if (err.kind != ERR_UNAVAILABLE)
    kernel->recorded = true;
  return false;
}

void registry_record_end(struct kernel *kernel) {
  if (!can_record_end(kernel))
    return;
  const struct control_kernel *last = kernel->last;
  enum kernel_end end = KERNEL_END_EXIT;
  while (strcmp(kernel_end_name(end), last->end) != 0)
    end++;
  struct err err = {0};
  int result = registry_begin_write(kernel->keeper, &err);
  if (result >= 0) {
    result = kernel_set_end(kernel->keeper->store, kernel->id, end,
                            last->exit_code, last->signal, last->reason,
                            last->memory_peak_bytes, kernel->ended_at, &err);
    registry_note_write(kernel->keeper, result, &err);
  }
  if (result >= 0) {
    kernel->recorded = true;
    return;
  }
  if (kernel->retry_at == 0)
    log_warning("the end of kernel %s is recorded later: %s", kernel->id,
                err.text);
  kernel->retry_at = clock_monotonic_ns() + RETRY_NS;
}

/* An earlier keeper may have asked for the end. */
static void remember_asked(struct kernel *kernel) {
  CLEANUP(mem_close_descriptor) int directory = registry_open_shim(kernel);
  if (kernel->asked == KERNEL_END_NONE && directory >= 0)
    kernel->asked = ending_read_asked(directory, kernel->asked_reason,
                                      sizeof kernel->asked_reason);
}

/* record NULL: how it ended is not known and will not be. */
static void finish(struct kernel *kernel, const struct exit_record *record) {
  remember_asked(kernel);
  struct ending ending = ending_of(kernel->asked, kernel->asked_reason, record);
  struct control_kernel *last = mem_new(sizeof *last);
  registry_describe(kernel, last);
  snprintf(last->end, sizeof last->end, "%s", kernel_end_name(ending.end));
  snprintf(last->reason, sizeof last->reason, "%s", ending.reason);
  last->exit_code = ending.exit_code;
  last->signal = ending.signal;
  last->cpu_us = record == NULL ? -1 : record->cpu_us;
  last->memory_peak_bytes = record == NULL ? 0 : record->memory_peak;
  if (record != NULL && record->memory_limit > 0)
    last->memory_limit_bytes = record->memory_limit;
  registry_read_files(kernel, last);
  kernel->last = last;
  kernel->ended = true;
  kernel->ended_at = clock_wall_us();
  if (kernel->asked == KERNEL_END_NONE)
    kernel->force_at = 0;
  registry_record_end(kernel);
  if (kernel->recorded)
    mem_close_descriptor(&kernel->turn);
  log_set_task(kernel->task);
  log_info("kernel %s ended: %s: %s", kernel->id, last->end, last->reason);
  log_set_task(NULL);
}

static int read_record(const struct kernel *kernel, struct exit_record *ret) {
  CLEANUP(mem_close_descriptor) int directory = registry_open_shim(kernel);
  return directory < 0 ? -1 : exit_record_read(directory, ret, NULL);
}

/* The shim has not told: what the control group has counted is known all the
 * same. */
static bool presume(const struct kernel *kernel, struct exit_record *ret) {
  const struct cgroup_usage *counted = &kernel->counted;
  if (counted->oom_kills <= 0)
    return false;
  *ret = (struct exit_record){.exit_code = -1,
                              .signal = SIGKILL,
                              .memory_peak = counted->memory_peak,
                              .cpu_us = counted->cpu_us,
                              .cause = EXIT_MEMORY,
                              .memory_limit = counted->memory_limit};
  return true;
}

void registry_note_death(struct kernel *kernel) {
  if (kernel->died_at != 0)
    return;
  kernel->died_at = clock_monotonic_ns();
  jail_host_usage(kernel->keeper->jails, kernel->id, &kernel->counted);
}

/* Finds out how a dead kernel ended, if that can be told already. */
void registry_settle(struct kernel *kernel) {
  struct exit_record record;
  if (kernel->ended)
    return;
  if (read_record(kernel, &record) == 0)
    finish(kernel, &record);
  else if (kernel->shim_end.descriptor < 0)
    finish(kernel, presume(kernel, &record) ? &record : NULL);
}

static void remove_remains(struct kernel *kernel) {
  struct err err = {0};
  const struct places *places = &kernel->keeper->places;
  jail_host_release(kernel->keeper->jails, kernel->id);
  if (fs_remove_tree(places->kernels, kernel->id, &err) < 0)
    log_warning("the directory of kernel %s is left over: %s", kernel->id,
                err.text);
}

/* A shim that did not end by itself has left things running. */
void registry_clear(struct kernel *kernel) {
  int status = -1;
  if (kernel->process.pid > 0)
    waitpid(kernel->process.pid, &status, WNOHANG);
  if (status != 0) {
    int left = strays_kill(kernel->directory);
    if (left != 0)
      log_error("%d processes of kernel %s cannot be killed", left, kernel->id);
  }
  loop_remove(&kernel->keeper->loop, &kernel->kernel_end);
  registry_note_death(kernel);
  registry_settle(kernel);
  remove_remains(kernel);
  kernel->gone = true;
}
