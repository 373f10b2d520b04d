#include "core/keeper/kernels/registry.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/jail/watch/jail_notice.h"
#include "core/keeper/kernels/ending.h"
#include "core/process/log_ring.h"
#include "core/process/process.h"
#include "core/process/strays.h"

/* Between a kernel's death and the moment that its shim has written down how it
 * died lie a few hundred microseconds. */
#define PROBE_NS (2 * CLOCK_MS)
#define RETRY_NS CLOCK_S          /* when the table cannot be written */
#define FORCE_NS (3 * CLOCK_S)    /* beyond the grace, then the shim itself */
#define SILENCE_NS (10 * CLOCK_S) /* of a shim whose kernel is dead */

static void on_kernel_end(void *context);
static void on_shim_end(void *context);

static void watch(struct keeper *keeper, struct loop_source *source, pid_t pid,
                  int64_t start, void (*ready)(void *), struct kernel *kernel) {
  *source = (struct loop_source){process_open(pid, start), ready, kernel};
  struct err err = {0};
  if (source->descriptor >= 0 && loop_add(&keeper->loop, source, &err) < 0) {
    log_error("%s", err.text);
    mem_close_descriptor(&source->descriptor);
  }
}

static int open_shim_directory(const struct kernel *kernel) {
  return fs_open_beneath(kernel->keeper->places.shims, kernel->id,
                         O_RDONLY | O_DIRECTORY, 0, NULL);
}

/* Of a kernel that we did not start ourselves. */
static void adopt_jail(const struct kernel *kernel) {
  CLEANUP(mem_close_descriptor) int directory = open_shim_directory(kernel);
  if (directory >= 0)
    jail_host_adopt(kernel->keeper->jails, kernel->id, directory);
}

struct kernel *registry_add(struct keeper *keeper,
                            const struct kernel_record *record, pid_t shim,
                            int64_t shim_start) {
  struct kernel *kernel = mem_new(sizeof *kernel);
  kernel->keeper = keeper;
  snprintf(kernel->id, sizeof kernel->id, "%s", record->id);
  snprintf(kernel->task, sizeof kernel->task, "%s",
           record->task == NULL ? "" : record->task);
  kernel->order = ++keeper->kernels_met;
  kernel->generation = record->generation;
  kernel->started_at = record->started_at;
  kernel->directory = mem_copy_text(record->directory);
  kernel->process = (struct shim_process){shim, shim_start, (pid_t)record->pid,
                                          record->pid_start};
  kernel->turn = -1;
  kernel->ended = kernel->recorded = record->task == NULL;
  adopt_jail(kernel);
  watch(keeper, &kernel->kernel_end, (pid_t)record->pid, record->pid_start,
        on_kernel_end, kernel);
  watch(keeper, &kernel->shim_end, shim, shim_start, on_shim_end, kernel);
  kernel->next = keeper->kernels;
  keeper->kernels = kernel;
  return kernel;
}

struct kernel *registry_find(struct keeper *keeper, const char *id) {
  for (struct kernel *kernel = keeper->kernels; kernel != NULL;
       kernel = kernel->next)
    if (strcmp(kernel->id, id) == 0)
      return kernel;
  return NULL;
}

struct kernel *registry_find_task(struct keeper *keeper, const char *task) {
  for (struct kernel *kernel = keeper->kernels; kernel != NULL;
       kernel = kernel->next)
    if (!kernel->ended && strcmp(kernel->task, task) == 0)
      return kernel;
  return NULL;
}

size_t registry_count(const struct keeper *keeper) {
  size_t count = 0;
  for (const struct kernel *kernel = keeper->kernels; kernel != NULL;
       kernel = kernel->next)
    count += !kernel->ended;
  return count;
}

bool registry_is_over(const struct kernel *kernel) {
  struct pollfd polled = {.fd = kernel->kernel_end.descriptor,
                          .events = POLLIN};
  return polled.fd < 0 || poll(&polled, 1, 0) > 0;
}

bool registry_is_dead(const struct kernel *kernel) {
  return kernel->ended || registry_is_over(kernel);
}

void registry_give(struct kernel *kernel, const struct kernel_record *record) {
  snprintf(kernel->task, sizeof kernel->task, "%s", record->task);
  kernel->order = ++kernel->keeper->kernels_met;
  kernel->generation = record->generation;
  kernel->started_at = record->started_at;
  kernel->ended = kernel->recorded = false;
}

static int send_signal(int pidfd, int number, struct err *err) {
  if (pidfd < 0 || syscall(SYS_pidfd_send_signal, pidfd, number, NULL, 0) < 0)
    return err_set(err, ERR_NOT_FOUND, "the kernel has ended");
  return 0;
}

/* Somebody may have stopped the shim: a kernel of the same user can. */
int registry_signal_shim(struct kernel *kernel, int number, struct err *err) {
  if (send_signal(kernel->shim_end.descriptor, number, err) < 0)
    return -1;
  return send_signal(kernel->shim_end.descriptor, SIGCONT, err);
}

void registry_stop(struct kernel *kernel, enum kernel_end end,
                   const char *reason) {
  if (!kernel->ended && kernel->asked == KERNEL_END_NONE &&
      !registry_is_dead(kernel)) {
    kernel->asked = end;
    snprintf(kernel->asked_reason, sizeof kernel->asked_reason, "%s", reason);
    registry_signal_shim(kernel, SIGTERM, NULL);
  }
  if (kernel->force_at == 0)
    kernel->force_at =
        clock_monotonic_ns() + FORCE_NS +
        (int64_t)(kernel->keeper->conf->terminate_grace * (double)CLOCK_S);
}

void registry_discard(struct kernel *kernel) {
  registry_signal_shim(kernel, SIGQUIT, NULL);
  registry_stop(kernel, KERNEL_END_STOPPED, "");
}

static void record_end(struct kernel *kernel) {
  const struct control_kernel *last = kernel->last;
  enum kernel_end end = KERNEL_END_EXIT;
  while (strcmp(kernel_end_name(end), last->end) != 0)
    end++;
  struct err err = {0};
  if (kernel_set_end(kernel->keeper->store, kernel->id, end, last->exit_code,
                     last->signal, last->reason, last->memory_peak_bytes,
                     &err) >= 0) {
    kernel->recorded = true;
    return;
  }
  log_error("the end of kernel %s cannot be recorded: %s", kernel->id,
            err.text);
  kernel->retry_at = clock_monotonic_ns() + RETRY_NS;
}

static void read_files(const struct kernel *kernel,
                       struct control_kernel *ret) {
  CLEANUP(mem_close_descriptor) int directory = open_shim_directory(kernel);
  if (directory < 0)
    return;
  log_ring_tail(directory, ret->stderr_tail, sizeof ret->stderr_tail);
  struct jail_notice notice = jail_notice_read(directory);
  ret->memory_tight_at = notice.memory_at;
  ret->workspace_over_at = notice.workspace_at;
}

static void describe(const struct kernel *kernel, struct control_kernel *ret) {
  memset(ret, 0, sizeof *ret);
  snprintf(ret->id, sizeof ret->id, "%s", kernel->id);
  snprintf(ret->directory, sizeof ret->directory, "%s", kernel->directory);
  ret->generation = kernel->generation;
  ret->pid = kernel->process.kernel_pid;
  ret->pid_start = kernel->process.kernel_start;
  ret->exit_code = -1;
  ret->cpu_us = ret->memory_bytes = ret->memory_peak_bytes =
      ret->memory_limit_bytes = -1;
}

/* record NULL: how it ended is not known and will not be. */
static void finish(struct kernel *kernel, const struct exit_record *record) {
  struct ending ending = ending_of(kernel->asked, kernel->asked_reason, record);
  struct control_kernel *last = mem_new(sizeof *last);
  describe(kernel, last);
  snprintf(last->end, sizeof last->end, "%s", kernel_end_name(ending.end));
  snprintf(last->reason, sizeof last->reason, "%s", ending.reason);
  last->exit_code = ending.exit_code;
  last->signal = ending.signal;
  last->cpu_us = record == NULL ? -1 : record->cpu_us;
  last->memory_peak_bytes = record == NULL ? 0 : record->memory_peak;
  if (record != NULL && record->memory_limit > 0)
    last->memory_limit_bytes = record->memory_limit;
  read_files(kernel, last);
  kernel->last = last;
  kernel->ended = true;
  if (kernel->asked == KERNEL_END_NONE)
    kernel->force_at = 0;
  record_end(kernel);
  mem_close_descriptor(&kernel->turn);
  log_set_task(kernel->task);
  log_info("kernel %s ended: %s: %s", kernel->id, last->end, last->reason);
  log_set_task(NULL);
}

static int read_record(const struct kernel *kernel, struct exit_record *ret) {
  CLEANUP(mem_close_descriptor) int directory = open_shim_directory(kernel);
  return directory < 0 ? -1 : exit_record_read(directory, ret, NULL);
}

/* Finds out how a dead kernel ended, if that can be told already. */
static void settle(struct kernel *kernel) {
  struct exit_record record;
  if (kernel->ended)
    return;
  if (read_record(kernel, &record) == 0)
    finish(kernel, &record);
  else if (kernel->shim_end.descriptor < 0)
    finish(kernel, NULL);
}

static void on_kernel_end(void *context) {
  struct kernel *kernel = context;
  loop_remove(&kernel->keeper->loop, &kernel->kernel_end);
  settle(kernel);
}

static void remove_directories(struct kernel *kernel) {
  struct err err = {0};
  const struct places *places = &kernel->keeper->places;
  if (jail_host_release(kernel->keeper->jails, kernel->id, &err) < 0)
    log_warning("of kernel %s is left over: %s", kernel->id, err.text);
  if (fs_remove_tree(places->kernels, kernel->id, &err) < 0 ||
      fs_remove_tree(places->shims, kernel->id, &err) < 0)
    log_warning("directories of kernel %s are left over: %s", kernel->id,
                err.text);
}

/* A shim that did not end by itself has left things running. */
static void clear(struct kernel *kernel) {
  int status = -1;
  if (kernel->process.pid > 0)
    waitpid(kernel->process.pid, &status, WNOHANG);
  if (status != 0) {
    int left = strays_kill(kernel->directory);
    if (left != 0)
      log_error("%d processes of kernel %s cannot be killed", left, kernel->id);
  }
  loop_remove(&kernel->keeper->loop, &kernel->kernel_end);
  settle(kernel);
  remove_directories(kernel);
  kernel->gone = true;
}

static void on_shim_end(void *context) {
  struct kernel *kernel = context;
  loop_remove(&kernel->keeper->loop, &kernel->shim_end);
  clear(kernel);
}

/* Of all its processes together, where they are counted. */
static void tell_usage(const struct kernel *kernel,
                       struct control_kernel *ret) {
  struct cgroup_usage usage;
  if (!jail_host_usage(kernel->keeper->jails, kernel->id, &usage))
    return;
  const struct {
    int64_t *told, used;
  } pairs[] = {{&ret->cpu_us, usage.cpu_us},
               {&ret->memory_bytes, usage.memory},
               {&ret->memory_peak_bytes, usage.memory_peak},
               {&ret->memory_limit_bytes, usage.memory_limit}};
  for (size_t i = 0; i < COUNT_OF(pairs); i++)
    if (pairs[i].used >= 0)
      *pairs[i].told = pairs[i].used;
}

void registry_tell(const struct kernel *kernel, struct control_kernel *ret) {
  if (kernel->last != NULL) {
    *ret = *kernel->last;
    return;
  }
  describe(kernel, ret);
  ret->alive = !registry_is_dead(kernel);
  process_usage(ret->pid, &ret->cpu_us, &ret->memory_peak_bytes);
  ret->memory_bytes = process_memory(ret->pid);
  tell_usage(kernel, ret);
  read_files(kernel, ret);
}

/* A kernel that has ended long ago, of which only the row is left. */
static int tell_row(struct keeper *keeper, const char *id,
                    struct control_kernel *ret, struct err *err) {
  CLEANUP(kernel_record_free) struct kernel_record record = {0};
  if (kernel_get(keeper->store, id, &record, err) < 0)
    return -1;
  memset(ret, 0, sizeof *ret);
  snprintf(ret->id, sizeof ret->id, "%s", id);
  snprintf(ret->directory, sizeof ret->directory, "%s",
           record.directory == NULL ? "" : record.directory);
  snprintf(ret->end, sizeof ret->end, "%s", kernel_end_name(record.end));
  snprintf(ret->reason, sizeof ret->reason, "%s",
           record.reason == NULL ? "" : record.reason);
  ret->generation = record.generation;
  ret->pid = record.pid;
  ret->pid_start = record.pid_start;
  ret->exit_code = record.exit_code;
  ret->signal = record.signal;
  ret->cpu_us = ret->memory_bytes = ret->memory_limit_bytes = -1;
  ret->memory_peak_bytes = record.memory_peak == 0 ? -1 : record.memory_peak;
  return 0;
}

int registry_tell_id(struct keeper *keeper, const char *id,
                     struct control_kernel *ret, struct err *err) {
  const struct kernel *kernel = registry_find(keeper, id);
  if (kernel != NULL && *kernel->task != '\0') {
    registry_tell(kernel, ret);
    return 0;
  }
  for (size_t i = 0; i < KEEPER_ENDED_KEPT; i++) {
    if (keeper->ended[i] == NULL || strcmp(keeper->ended[i]->id, id) != 0)
      continue;
    *ret = *keeper->ended[i];
    return 0;
  }
  return tell_row(keeper, id, ret, err);
}

static void kernel_free(struct kernel *kernel) {
  loop_remove(&kernel->keeper->loop, &kernel->kernel_end);
  loop_remove(&kernel->keeper->loop, &kernel->shim_end);
  mem_close_descriptor(&kernel->turn);
  free(kernel->directory);
  free(kernel->last);
  free(kernel);
}

/* Its last words are kept for a while: the log is removed with the kernel. */
static void forget(struct kernel *kernel) {
  struct keeper *keeper = kernel->keeper;
  if (kernel->last != NULL) {
    free(keeper->ended[keeper->ended_next]);
    keeper->ended[keeper->ended_next] = MEM_STEAL(kernel->last);
    keeper->ended_next = (keeper->ended_next + 1) % KEEPER_ENDED_KEPT;
  }
  kernel_free(kernel);
}

/* A dead kernel whose shim does not say how it died: hung, or stopped by the
 * kernel itself, which may be of the same user. */
static int64_t probe(struct kernel *kernel, int64_t now) {
  settle(kernel);
  if (kernel->ended)
    return KEEPER_NEVER;
  if (kernel->force_at == 0)
    kernel->force_at = now + SILENCE_NS;
  return now + PROBE_NS;
}

static int64_t retry(struct kernel *kernel, int64_t now) {
  if (now >= kernel->retry_at)
    record_end(kernel);
  return kernel->recorded ? KEEPER_NEVER : kernel->retry_at;
}

static int64_t force(struct kernel *kernel, int64_t now) {
  if (now < kernel->force_at)
    return kernel->force_at;
  log_warning("kernel %s does not end: its shim is killed", kernel->id);
  registry_signal_shim(kernel, SIGKILL, NULL);
  kernel->force_at = now + FORCE_NS;
  return kernel->force_at;
}

static int64_t kernel_turn(struct kernel *kernel) {
  int64_t now = clock_monotonic_ns(), next = KEEPER_NEVER;
  if (kernel->shim_end.descriptor < 0 && !kernel->gone)
    clear(kernel);
  if (!kernel->ended && kernel->kernel_end.descriptor < 0)
    next = probe(kernel, now);
  if (kernel->ended && !kernel->recorded)
    next = clock_sooner(next, retry(kernel, now));
  if (kernel->force_at != 0 && !kernel->gone)
    next = clock_sooner(next, force(kernel, now));
  return next;
}

int64_t registry_turn(struct keeper *keeper) {
  int64_t next = KEEPER_NEVER;
  struct kernel **place = &keeper->kernels;
  while (*place != NULL) {
    struct kernel *kernel = *place;
    next = clock_sooner(next, kernel_turn(kernel));
    if (kernel->gone && kernel->recorded) {
      *place = kernel->next;
      forget(kernel);
    } else {
      place = &kernel->next;
    }
  }
  return next;
}

void registry_close(struct keeper *keeper) {
  while (keeper->kernels != NULL) {
    struct kernel *kernel = keeper->kernels;
    keeper->kernels = kernel->next;
    kernel_free(kernel);
  }
  for (size_t i = 0; i < KEEPER_ENDED_KEPT; i++)
    free(keeper->ended[i]);
}
