#include "core/run/lease.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/layout.h"
#include "core/base/mem.h"
#include "core/control/control.h"
#include "core/jupyter/kernelspec.h"
#include "core/process/process.h"
#include "core/report/traceback/stack.h"
#include "core/run/engine_private.h"
#include "core/run/lease_setup.h"
#include "core/store/replay.h"
#include "core/store/run.h"
#include "core/store/task.h"

/* A kernel that still runs a cell of a dead process gets this long to answer by
 * itself before it is interrupted. */
#define BUSY_PATIENCE (1 * CLOCK_S)
/* So often a restart while the kernel starts makes the run go on with the next
 * one. */
#define RESTARTS 8

static void free_memory(void *pointer) {
  struct lease_memory *memory = pointer;
  if (memory == NULL)
    return;
  notebook_close(memory->notebook);
  meter_close(memory->meter);
  late_told_free(&memory->late);
  free(memory->aside);
  kernel_record_free(&memory->kernel);
  mem_close_descriptor(&memory->process);
  free(memory);
}

static int milliseconds_until(int64_t deadline_ns) {
  int left = clock_poll_timeout(deadline_ns);
  return left < 1 ? 1 : left;
}

/* The registry's living kernel of the task: 1, 0 when there is none, -1. */
static int find_alive(struct engine *engine, const char *task,
                      struct lease *lease, struct err *err) {
  CLEANUP(kernel_record_free) struct kernel_record kernel = {0};
  struct err fault = {0};
  if (kernel_latest(engine->store, task, &kernel, &fault) < 0) {
    if (fault.kind == ERR_NOT_FOUND)
      return 0;
    return err_set(err, fault.kind, "%s", fault.text);
  }
  if (kernel.ended_at != 0 || kernel.pid <= 0)
    return 0;
  int process = process_open(kernel.pid, kernel.pid_start);
  if (process < 0)
    return 0;
  lease->kernel = kernel;
  lease->process = process;
  memset(&kernel, 0, sizeof kernel);
  return 1;
}

static int start_kernel(struct engine *engine, const char *task,
                        int64_t deadline, struct lease *lease,
                        char **stderr_tail, struct err *err) {
  CLEANUP(mem_free_pointer)
  struct control_kernel *started = mem_new(sizeof *started);
  if (control_start(engine->keeper_socket, task, milliseconds_until(deadline),
                    started, err) < 0)
    return -1;
  if (kernel_get(engine->store, started->id, &lease->kernel, err) < 0)
    return err_wrap(err, "the keeper's new kernel");
  lease->process = process_open(started->pid, started->pid_start);
  if (lease->process >= 0)
    return 0;
  if (control_status(engine->keeper_socket, started->id, started, NULL) == 0)
    *stderr_tail = mem_copy_text(started->stderr_tail);
  return err_set(err, ERR_UNAVAILABLE,
                 "the kernel ended as soon as it was started: %.200s",
                 started->reason);
}

static int read_connection(const struct lease *lease,
                           struct connection *connection, struct err *err) {
  CLEANUP(mem_close_descriptor)
  int directory = fs_open_directory(lease->kernel.directory, err);
  if (directory < 0)
    return err_wrap(err, "run directory of the kernel");
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_SMALL);
  if (fs_read_file(directory, LAYOUT_CONNECTION, &text, err) < 0 ||
      connection_parse(buf_string(&text), text.length, connection, err) < 0)
    return err_wrap(err, "connection file of the kernel");
  return 0;
}

/* The last non-empty line of a log, for an error of one line. */
static const char *last_line(char *text) {
  size_t length = strlen(text);
  while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == ' '))
    text[--length] = '\0';
  const char *start = strrchr(text, '\n');
  return start == NULL ? text : start + 1;
}

/* It has run cells, so that its variables are worth a word. */
static bool had_lived(const struct lease *lease) {
  return lease->memory != NULL && lease->memory->runs > 0;
}

/* Why the kernel could not be made ready, with its own words. A kernel that
 * hangs is ended, so that the next run gets a new one. */
static int explain(struct engine *engine, const struct lease *lease,
                   char **stderr_tail, struct err *err) {
  struct err why = *err;
  CLEANUP(mem_free_pointer)
  struct control_kernel *status = mem_new(sizeof *status);
  CLEANUP(kernel_record_free) struct kernel_record end = {0};
  if (why.kind == ERR_UNAVAILABLE)
    lease_read_end(engine, lease->kernel.id, 1000, &end);
  if (control_status(engine->keeper_socket, lease->kernel.id, status, NULL) < 0)
    status->stderr_tail[0] = '\0';
  *stderr_tail = mem_copy_text(status->stderr_tail);
  if (why.kind == ERR_TIMEOUT && !had_lived(lease))
    control_stop(engine->keeper_socket, lease->kernel.task, lease->kernel.id,
                 "start", "it was not ready in time", 20000, NULL);
  CLEANUP(mem_free_pointer) char *words = mem_copy_text(status->stderr_tail);
  const char *said = last_line(words);
  const char *what = why.kind == ERR_TIMEOUT
                         ? "the kernel was not ready in time"
                     : end.reason != NULL ? end.reason
                                          : why.text;
  return err_set(err, ERR_UNAVAILABLE, "no kernel: %.200s%s%.200s", what,
                 *said == '\0' ? "; it wrote nothing on stderr"
                               : "; its last words: ",
                 said);
}

/* Nobody else may use this kernel (we have the task's turn), so a cell that
 * still runs in it is of a run that was cut off: it is ended. */
static int end_stray_cell(struct engine *engine, struct lease *lease,
                          struct err *err) {
  lease->note = mem_copy_text("a cell of an earlier run that was cut off was "
                              "still running and was interrupted");
  if (control_interrupt(engine->keeper_socket, lease->kernel.id, err) < 0)
    return -1;
  if (lease->memory->interrupt_by_message)
    return client_interrupt(lease->cached->channel, err);
  return client_nudge(lease->cached->channel, err);
}

static int prove(struct engine *engine, struct lease *lease, int64_t deadline,
                 struct err *err) {
  struct cached_channel *cached = lease->cached;
  int64_t busy_at =
      lease->memory->runs == 0 ? 0 : clock_monotonic_ns() + BUSY_PATIENCE;
  struct err fault = {0};
  if (client_prove(cached->channel, lease->process, deadline, busy_at,
                   &cached->info, &fault) == 0)
    return 0;
  if (fault.kind == ERR_BUSY) {
    int64_t patience = (int64_t)(engine->conf->interrupt_grace * 1e9);
    err_clear(&fault);
    if (end_stray_cell(engine, lease, &fault) == 0 &&
        client_prove(cached->channel, lease->process,
                     clock_monotonic_ns() + patience, 0, &cached->info,
                     &fault) == 0)
      return 0;
  }
  return err_set(err, fault.kind, "%s", fault.text);
}

/* What this process must know of a kernel that it meets for the first time.
 * Record and process pass into the memory's hands. */
static struct lease_memory *recall(struct engine *engine,
                                   const struct lease *lease) {
  struct lease_memory *memory = mem_new(sizeof *memory);
  memory->kernel = lease->kernel;
  memory->process = lease->process;
  memory->meter = meter_open(lease->kernel.pid, lease->kernel.id);
  CLEANUP(kernelspec_done) struct kernelspec *spec = NULL;
  const char *name = lease->kernel.kernelspec;
  bool found =
      kernelspec_find(engine->conf->kernelspec_path, name, &spec, NULL) == 0;
  memory->interrupt_by_message = found && spec->interrupt_by_message;
  snprintf(memory->kernelspec, sizeof memory->kernelspec, "%s", name);
  snprintf(memory->display_name, sizeof memory->display_name, "%s",
           found ? spec->display_name : name);
  CLEANUP(run_record_free) struct run_record previous = {0};
  if (run_previous(engine->store, lease->kernel.task, lease->kernel.id,
                   &previous, NULL) == 0)
    memory->runs = 1;
  CLEANUP(replay_record_free) struct replay_record replay = {0};
  if (memory->runs == 0 &&
      replay_of_kernel(engine->store, lease->kernel.id, &replay, NULL) == 0) {
    memory->runs = 1;
    memory->replay_was_cut_off = replay.status == REPLAY_LOST;
  }
  return memory;
}

static int connect_kernel(struct engine *engine, struct lease *lease,
                          int64_t deadline, struct err *err) {
  struct connection connection;
  if (read_connection(lease, &connection, err) < 0)
    return -1;
  struct cached_channel *cached = mem_new(sizeof *cached);
  lease->cached = cached;
  lease->memory = recall(engine, lease);
  cached->attachment = lease->memory;
  cached->free_attachment = free_memory;
  snprintf(cached->kernel_id, sizeof cached->kernel_id, "%s", lease->kernel.id);
  snprintf(cached->task, sizeof cached->task, "%s", lease->kernel.task);
  if (channel_open(engine->context, &connection, &cached->channel, err) < 0 ||
      prove(engine, lease, deadline, err) < 0)
    return -1;
  return lease_setup(engine, lease, deadline, err);
}

/* Whether nobody wanted the variables of that life any more: somebody asked for
 * a new kernel, or has deleted the task since and made it anew. */
static bool was_given_up(struct engine *engine,
                         const struct kernel_record *life) {
  CLEANUP(task_record_free) struct task_record task = {0};
  if (life->end == KERNEL_END_RESTARTED)
    return true;
  return task_get(engine->store, life->task, &task, NULL) == 0 &&
         life->ended_at < task.created_at;
}

/* How the run meets the kernel's variables. Lives that never became ready held
 * none, so what was lost is told by the last life that did. */
static void describe_state(struct engine *engine, struct lease *lease) {
  lease->state = "kept";
  if (lease->memory->replay_was_cut_off) {
    lease->memory->replay_was_cut_off = false;
    lease->state = "lost";
    snprintf(lease->reason, sizeof lease->reason,
             "the replay that was to bring the variables back was cut off");
    return;
  }
  if (lease->memory->runs > 0)
    return;
  lease->state = "fresh";
  for (int64_t life = lease->kernel.generation - 1; life > 0; life--) {
    CLEANUP(kernel_record_free) struct kernel_record before = {0};
    if (kernel_generation(engine->store, lease->kernel.task, life, &before,
                          NULL) < 0)
      return;
    if (before.end == KERNEL_END_START)
      continue;
    if (!was_given_up(engine, &before))
      lease->state = "lost";
    snprintf(lease->reason, sizeof lease->reason,
             "the variables of kernel generation %lld are gone: %.300s",
             (long long)life,
             before.reason == NULL ? kernel_end_name(before.end)
                                   : before.reason);
    return;
  }
}

static void release(struct lease *lease) {
  if (lease->memory == NULL) {
    kernel_record_free(&lease->kernel);
    mem_close_descriptor(&lease->process);
  }
  cached_channel_free(lease->cached);
  free(lease->note);
  memset(lease, 0, sizeof *lease);
  lease->process = -1;
}

/* The task's open channel, when its kernel lives: a task has one kernel at a
 * time, so a living one is the present one and the registry need not be asked.
 */
static bool take_open(struct engine *engine, const char *task,
                      struct lease *lease) {
  struct cached_channel *cached = channel_cache_take_task(engine->cache, task);
  if (cached == NULL)
    return false;
  struct lease_memory *memory = cached->attachment;
  struct pollfd process = {memory->process, POLLIN, 0};
  if (poll(&process, 1, 0) != 0) {
    cached_channel_free(cached);
    return false;
  }
  lease->cached = cached;
  lease->memory = memory;
  lease->kernel = memory->kernel;
  lease->process = memory->process;
  return true;
}

static int attempt(struct engine *engine, const char *task, int64_t deadline,
                   struct lease *lease, char **stderr_tail, struct err *err) {
  if (take_open(engine, task, lease))
    return 0;
  int found = find_alive(engine, task, lease, err);
  if (found < 0)
    return -1;
  if (found == 0 &&
      start_kernel(engine, task, deadline, lease, stderr_tail, err) < 0)
    return -1;
  if (connect_kernel(engine, lease, deadline, err) >= 0)
    return 0;
  return explain(engine, lease, stderr_tail, err);
}

static int64_t start_deadline(const struct engine *engine) {
  return clock_monotonic_ns() + (int64_t)(engine->conf->start_timeout * 1e9);
}

/* Somebody wanted a new kernel before this one was ready. */
static bool was_restarted(struct engine *engine, const struct lease *lease) {
  CLEANUP(kernel_record_free) struct kernel_record end = {0};
  return lease->kernel.id != NULL &&
         kernel_get(engine->store, lease->kernel.id, &end, NULL) == 0 &&
         end.ended_at != 0 && end.end == KERNEL_END_RESTARTED;
}

/* With a new kernel, which may take as long as any. */
static int attempt_again(struct engine *engine, const char *task,
                         struct lease *lease, char **stderr_tail,
                         struct err *err) {
  release(lease);
  free(*stderr_tail);
  *stderr_tail = NULL;
  err_clear(err);
  return attempt(engine, task, start_deadline(engine), lease, stderr_tail, err);
}

int lease_take(struct engine *engine, const char *task, struct lease *ret,
               char **stderr_tail, struct err *err) {
  struct lease lease = {.process = -1};
  int64_t deadline = start_deadline(engine);
  *stderr_tail = NULL;
  int result = attempt(engine, task, deadline, &lease, stderr_tail, err);
  for (int i = 0; i < RESTARTS && result < 0 && was_restarted(engine, &lease);
       i++)
    result = attempt_again(engine, task, &lease, stderr_tail, err);
  if (result < 0 && had_lived(&lease)) {
    /* It had run cells and does not answer any more: a new one instead. */
    control_stop(engine->keeper_socket, task, lease.kernel.id, "killed",
                 "it did not answer any more", 20000, NULL);
    result = attempt_again(engine, task, &lease, stderr_tail, err);
  }
  if (result < 0) {
    release(&lease);
    return -1;
  }
  describe_state(engine, &lease);
  *ret = lease;
  return 0;
}

void lease_give(struct engine *engine, struct lease *lease, bool alive) {
  if (alive && lease->cached != NULL)
    channel_cache_give(engine->cache, MEM_STEAL(lease->cached));
  release(lease);
}

void lease_remember(struct lease_memory *memory, const char *message,
                    const char *run) {
  struct lease_run *slot = &memory->recent[memory->next++ % LEASE_RECENT];
  snprintf(slot->message, sizeof slot->message, "%s", message);
  snprintf(slot->run, sizeof slot->run, "%s", run);
  slot->late_bytes = 0;
}

const char *lease_recall(const struct lease_memory *memory,
                         const char *message) {
  if (*message == '\0')
    return NULL;
  for (unsigned i = 0; i < LEASE_RECENT; i++)
    if (strcmp(memory->recent[i].message, message) == 0)
      return memory->recent[i].run;
  return NULL;
}

int lease_read_end(struct engine *engine, const char *kernel, int timeout_ms,
                   struct kernel_record *ret) {
  int64_t deadline = clock_monotonic_ns() + timeout_ms * CLOCK_MS;
  for (int64_t pause = 1;; pause = pause < 16 ? pause * 2 : pause) {
    CLEANUP(kernel_record_free) struct kernel_record record = {0};
    if (kernel_get(engine->store, kernel, &record, NULL) == 0 &&
        record.ended_at != 0) {
      *ret = record;
      memset(&record, 0, sizeof record);
      return 0;
    }
    if (clock_monotonic_ns() >= deadline)
      return -1;
    poll(NULL, 0, (int)pause);
  }
}

void lease_dump_stack(struct engine *engine, const struct lease *lease) {
  if (lease->memory->dumps_stack)
    control_stack(engine->keeper_socket, lease->kernel.id, NULL);
}

int64_t lease_running_line(const struct lease *lease) {
  enum { TAIL = 64 << 10 };
  CLEANUP(mem_close_descriptor)
  int directory = fs_open_directory(lease->kernel.directory, NULL);
  if (directory < 0 || !lease->memory->dumps_stack)
    return -1;
  CLEANUP(mem_close_descriptor)
  int file =
      fs_open_beneath(directory, LAYOUT_STACK, O_RDONLY | O_NONBLOCK, 0, NULL);
  struct stat status;
  if (file < 0 || fstat(file, &status) != 0 || !S_ISREG(status.st_mode))
    return -1;
  CLEANUP(mem_free_pointer) char *text = mem_new(TAIL);
  off_t start = status.st_size > TAIL ? status.st_size - TAIL : 0;
  ssize_t length = pread(file, text, TAIL, start);
  return length <= 0 ? -1 : stack_running_line(text, (size_t)length);
}
