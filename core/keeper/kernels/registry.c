#include "core/keeper/kernels/registry.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/keeper/kernels/ending.h"
#include "core/process/process.h"

/* Between a kernel's death and the moment that its shim has written down how it
 * died lie a few hundred microseconds. */
#define PROBE_NS (2 * CLOCK_MS)
#define LIST_NS (20 * CLOCK_MS)   /* when the table cannot be written */
#define FAREWELL_NS (3 * CLOCK_S) /* likewise, when the keeper ends */
#define FORCE_NS (3 * CLOCK_S)    /* beyond the grace, then the shim itself */
#define CROWD_NS (300 * CLOCK_MS) /* then the rest of the group is killed */
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

/* Of a kernel that we did not start ourselves. */
static void adopt_jail(const struct kernel *kernel) {
  CLEANUP(mem_close_descriptor) int directory = registry_open_shim(kernel);
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
  kernel->memory_limit = record->memory_limit;
  kernel->kernelspec = mem_copy_text(record->kernelspec);
  kernel->listed = record->task == NULL || record->generation > 0;
  kernel->used_at = clock_boot_ns();
  kernel->last_run_at = -1;
  kernel->directory = mem_copy_text(record->directory);
  kernel->process = (struct shim_process){shim, shim_start, (pid_t)record->pid,
                                          record->pid_start};
  kernel->turn = kernel->sockets = -1;
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
  free(kernel->kernelspec);
  kernel->kernelspec = mem_copy_text(record->kernelspec);
  kernel->order = ++kernel->keeper->kernels_met;
  kernel->started_at = record->started_at;
  kernel->memory_limit = record->memory_limit;
  kernel->used_at = clock_boot_ns();
  kernel->ended = kernel->recorded = kernel->listed = false;
}

void registry_disown(struct kernel *kernel) {
  *kernel->task = '\0';
  kernel->ended = kernel->recorded = kernel->listed = true;
  registry_signal_shim(kernel, SIGQUIT, NULL);
}

int registry_begin_write(struct keeper *keeper, struct err *err) {
  if (clock_monotonic_ns() < keeper->locked_until)
    return err_set(err, ERR_UNAVAILABLE, "the database is locked");
  store_set_patience(KEEPER_PATIENCE_NS);
  return 0;
}

void registry_note_write(struct keeper *keeper, int result,
                         const struct err *err) {
  if (result < 0 && err->kind == ERR_UNAVAILABLE)
    keeper->locked_until = clock_monotonic_ns() + KEEPER_LOCKED_NS;
}

int registry_list(struct kernel *kernel, struct err *err) {
  if (kernel->listed)
    return 0;
  struct kernel_record record = {
      .id = kernel->id,
      .task = kernel->task,
      .kernelspec = kernel->kernelspec,
      .pid = kernel->process.kernel_pid,
      .pid_start = kernel->process.kernel_start,
      .directory = kernel->directory,
      .started_at = kernel->started_at,
      .exit_code = -1,
      .memory_limit = kernel->memory_limit,
  };
  if (registry_begin_write(kernel->keeper, err) < 0)
    return -1;
  int result = kernel_insert(kernel->keeper->store, &record, err);
  registry_note_write(kernel->keeper, result, err);
  if (result < 0)
    return err_wrap(err, "recording the kernel");
  kernel->generation = record.generation;
  kernel->listed = true;
  return 0;
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
    CLEANUP(mem_close_descriptor) int directory = registry_open_shim(kernel);
    ending_write_asked(directory, end, kernel->asked_reason);
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

static void on_kernel_end(void *context) {
  struct kernel *kernel = context;
  loop_remove(&kernel->keeper->loop, &kernel->kernel_end);
  registry_note_death(kernel);
  registry_settle(kernel);
}

static void on_shim_end(void *context) {
  struct kernel *kernel = context;
  loop_remove(&kernel->keeper->loop, &kernel->shim_end);
  registry_clear(kernel);
}

static void kernel_free(struct kernel *kernel) {
  loop_remove(&kernel->keeper->loop, &kernel->kernel_end);
  loop_remove(&kernel->keeper->loop, &kernel->shim_end);
  mem_close_descriptor(&kernel->turn);
  free(kernel->kernelspec);
  free(kernel->directory);
  free(kernel->last);
  free(kernel);
}

/* Its last words are kept for a while: the log is removed with the kernel. */
static void forget(struct kernel *kernel) {
  struct keeper *keeper = kernel->keeper;
  if (kernel->recorded && keeper->store != NULL)
    fs_remove_tree(keeper->places.shims, kernel->id, NULL);
  if (kernel->last != NULL) {
    free(keeper->ended[keeper->ended_next]);
    keeper->ended[keeper->ended_next] = MEM_STEAL(kernel->last);
    keeper->ended_next = (keeper->ended_next + 1) % KEEPER_ENDED_KEPT;
  }
  kernel_free(kernel);
}

/* A dead kernel whose shim does not say how it died: what the kernel has
 * started keeps it from running (nothing of that may go on), or it hangs, or
 * the kernel has stopped it, which may be of the same user. */
static int64_t probe(struct kernel *kernel, int64_t now) {
  registry_settle(kernel);
  if (kernel->ended)
    return KEEPER_NEVER;
  registry_note_death(kernel);
  if (now - kernel->died_at > CROWD_NS) {
    jail_host_kill(kernel->keeper->jails, kernel->id);
    kernel->died_at += CROWD_NS;
  }
  if (kernel->force_at == 0)
    kernel->force_at = now + SILENCE_NS;
  return now + PROBE_NS;
}

/* Ends one that will never have a row. */
static int64_t list(struct kernel *kernel, int64_t now) {
  struct err err = {0};
  if (now < kernel->retry_at)
    return kernel->retry_at;
  if (registry_list(kernel, &err) >= 0)
    return KEEPER_NEVER;
  kernel->retry_at = now + LIST_NS;
  if (err.kind == ERR_UNAVAILABLE)
    return kernel->retry_at;
  log_error("kernel %s: %s", kernel->id, err.text);
  registry_disown(kernel);
  return KEEPER_NEVER;
}

static int64_t retry(struct kernel *kernel, int64_t now) {
  if (now >= kernel->retry_at)
    registry_record_end(kernel);
  if (!kernel->recorded)
    return kernel->retry_at;
  mem_close_descriptor(&kernel->turn);
  return KEEPER_NEVER;
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
    registry_clear(kernel);
  if (!kernel->listed && !kernel->ended && kernel->asked == KERNEL_END_NONE)
    next = list(kernel, now);
  if (!kernel->ended && kernel->kernel_end.descriptor < 0)
    next = clock_sooner(next, probe(kernel, now));
  if (kernel->ended && !kernel->recorded)
    next = clock_sooner(next, retry(kernel, now));
  if (kernel->force_at != 0 && !kernel->gone)
    next = clock_sooner(next, force(kernel, now));
  return next;
}

/* A keeper that ends leaves what it cannot record to the next one. */
static bool may_forget(struct kernel *kernel) {
  if (!kernel->gone || kernel->recorded)
    return kernel->gone;
  if (kernel->keeper->closing && kernel->leave_at == 0)
    kernel->leave_at = clock_monotonic_ns() + FAREWELL_NS;
  return kernel->leave_at != 0 && clock_monotonic_ns() >= kernel->leave_at;
}

int64_t registry_turn(struct keeper *keeper) {
  int64_t next = jail_host_turn(keeper->jails);
  struct kernel **place = &keeper->kernels;
  while (*place != NULL) {
    struct kernel *kernel = *place;
    next = clock_sooner(next, kernel_turn(kernel));
    if (may_forget(kernel)) {
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
