#include "core/run/session/session.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/control/control.h"
#include "core/process/process.h"
#include "core/run/engine/engine_private.h"
#include "core/run/session/connect.h"
#include "core/store/task.h"

/* So often a restart while the kernel starts makes the run go on with the next
 * one. */
#define RESTARTS 8
/* How long a keeper may be away (it is started anew when it died). */
#define KEEPER_PATIENCE (3 * CLOCK_S)

static int milliseconds_until(int64_t deadline_ns) {
  int left = clock_poll_timeout(deadline_ns);
  return left < 1 ? 1 : left;
}

static void meet(struct session *session, struct known_kernel *known) {
  session->known = known;
  session->kernel = &known->kernel;
  session->process = known->process;
}

/* The registry's living kernel of the task: 1, 0 when there is none, -1. */
static int find_alive(struct engine *engine, const char *task,
                      struct session *session, struct err *err) {
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
  meet(session, known_kernel_new(&kernel, process));
  return 1;
}

static int start_kernel(struct engine *engine, const char *task,
                        int64_t deadline, struct session *session,
                        char **stderr_tail, struct err *err) {
  CLEANUP(mem_free_pointer)
  struct control_kernel *started = mem_new(sizeof *started);
  if (control_start(engine->keeper_socket, task, milliseconds_until(deadline),
                    started, err) < 0)
    return -1;
  CLEANUP(kernel_record_free) struct kernel_record kernel = {0};
  if (kernel_get(engine->store, started->id, &kernel, err) < 0)
    return err_wrap(err, "the keeper's new kernel");
  int process = process_open(started->pid, started->pid_start);
  meet(session, known_kernel_new(&kernel, process));
  if (session->process >= 0)
    return 0;
  if (control_status(engine->keeper_socket, started->id, started, NULL) == 0)
    *stderr_tail = mem_copy_text(started->stderr_tail);
  return err_set(err, ERR_UNAVAILABLE,
                 "the kernel ended as soon as it was started: %.200s",
                 started->reason);
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
static bool had_lived(const struct session *session) {
  return session->known != NULL && session->known->runs > 0;
}

/* A kernel that was there and cannot be used any more is replaced: one that has
 * run cells, or one whose sockets cannot even be found (a cell may have removed
 * or closed its directory). One that starts is not. */
static void note_unreachable(struct session *session, bool was_there,
                             const struct err *fault) {
  bool may_start = fault->kind == ERR_TIMEOUT || fault->kind == ERR_UNAVAILABLE;
  if (!was_there || (may_start && !had_lived(session)))
    return;
  snprintf(session->unreachable, sizeof session->unreachable, "%s: %.150s",
           may_start ? "it did not answer any more"
                     : "it could not be reached any more",
           fault->text);
}

/* Why the kernel could not be made ready, with its own words. A kernel that
 * hangs is ended, so that the next run gets a new one. */
static int explain(struct engine *engine, const struct session *session,
                   const struct err *fault, char **stderr_tail,
                   struct err *err) {
  struct err why = *fault;
  CLEANUP(mem_free_pointer)
  struct control_kernel *status = mem_new(sizeof *status);
  CLEANUP(kernel_record_free) struct kernel_record end = {0};
  if (why.kind == ERR_UNAVAILABLE)
    session_read_end(engine, session->kernel->id, 2000, &end);
  if (control_status(engine->keeper_socket, session->kernel->id, status, NULL) <
      0)
    status->stderr_tail[0] = '\0';
  *stderr_tail = mem_copy_text(status->stderr_tail);
  const char *init_fault = session->known->init_fault;
  if (why.kind == ERR_TIMEOUT && !had_lived(session))
    control_stop(engine->keeper_socket, session->kernel->task,
                 session->kernel->id, "start",
                 *init_fault == '\0' ? "it was not ready in time" : init_fault,
                 20000, NULL);
  if (*init_fault != '\0')
    return err_set(err, ERR_UNAVAILABLE, "no kernel: %s%s%.150s", init_fault,
                   end.reason == NULL ? "" : ": ",
                   end.reason == NULL ? "" : end.reason);
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

static const char *meet_new_kernel(struct engine *engine,
                                   const struct kernel_record *kernel,
                                   char *reason, size_t size) {
  for (int64_t life = kernel->generation - 1; life > 0; life--) {
    CLEANUP(kernel_record_free) struct kernel_record before = {0};
    if (kernel_generation(engine->store, kernel->task, life, &before, NULL) < 0)
      break;
    if (before.end == KERNEL_END_START)
      continue;
    snprintf(reason, size,
             "the variables of kernel generation %lld are gone: %.300s",
             (long long)life,
             before.reason == NULL ? kernel_end_name(before.end)
                                   : before.reason);
    return was_given_up(engine, &before) ? "fresh" : "lost";
  }
  return "fresh";
}

/* How the run meets the kernel's variables: kept, fresh (there were none) or
 * lost. Lives that never became ready held none, so what was lost is told by
 * the last life that did. */
static void describe_variables(struct engine *engine, struct session *session) {
  struct known_kernel *known = session->known;
  session->state = "kept";
  if (known->replay_was_cut_off) {
    known->replay_was_cut_off = false;
    session->state = "lost";
    snprintf(session->reason, sizeof session->reason,
             "the replay that was to bring the variables back was cut off");
  } else if (known->runs == 0) {
    session->state = meet_new_kernel(engine, session->kernel, session->reason,
                                     sizeof session->reason);
  }
}

static void release(struct session *session) {
  if (session->cached == NULL)
    known_kernel_free(session->known);
  cached_channel_free(session->cached);
  free(session->note);
  *session = (struct session){.process = -1};
}

static void hold(struct session *session, struct cached_channel *cached) {
  session->cached = cached;
  session->channel = cached->channel;
  session->info = &cached->info;
}

/* The task's open channel, when its kernel lives: a task has one kernel at a
 * time, so a living one is the present one and the registry need not be asked.
 */
static bool take_open(struct engine *engine, const char *task,
                      struct session *session) {
  struct cached_channel *cached = idle_take(engine->idle, task);
  if (cached == NULL)
    return false;
  struct known_kernel *known = cached->attachment;
  struct pollfd process = {known->process, POLLIN, 0};
  if (poll(&process, 1, 0) != 0) {
    cached_channel_free(cached);
    return false;
  }
  meet(session, known);
  hold(session, cached);
  return true;
}

static int attempt(struct engine *engine, const char *task, int64_t deadline,
                   struct session *session, char **stderr_tail,
                   struct err *err) {
  if (take_open(engine, task, session))
    return 0;
  int found = find_alive(engine, task, session, err);
  if (found < 0 || (found == 0 && start_kernel(engine, task, deadline, session,
                                               stderr_tail, err) < 0))
    return -1;
  struct cached_channel *cached = NULL;
  struct err fault = {0};
  if (connect_kernel(engine, session->known, deadline, &cached, &session->note,
                     &fault) < 0) {
    note_unreachable(session, found == 1, &fault);
    return explain(engine, session, &fault, stderr_tail, err);
  }
  hold(session, cached);
  return 0;
}

static int64_t start_deadline(const struct engine *engine) {
  return clock_monotonic_ns() + (int64_t)(engine->conf->start_timeout * 1e9);
}

/* Somebody wanted a new kernel before this one was ready. */
static bool was_restarted(struct engine *engine,
                          const struct session *session) {
  CLEANUP(kernel_record_free) struct kernel_record end = {0};
  return session->kernel != NULL &&
         kernel_get(engine->store, session->kernel->id, &end, NULL) == 0 &&
         end.ended_at != 0 && end.end == KERNEL_END_RESTARTED;
}

/* With a new kernel, which may take as long as any. */
static int attempt_again(struct engine *engine, const char *task,
                         struct session *session, char **stderr_tail,
                         struct err *err) {
  release(session);
  free(*stderr_tail);
  *stderr_tail = NULL;
  err_clear(err);
  return attempt(engine, task, start_deadline(engine), session, stderr_tail,
                 err);
}

int session_open(struct engine *engine, const char *task, struct session *ret,
                 char **stderr_tail, struct err *err) {
  struct session session = {.process = -1};
  int64_t deadline = start_deadline(engine);
  *stderr_tail = NULL;
  int result = attempt(engine, task, deadline, &session, stderr_tail, err);
  for (int i = 0; i < RESTARTS && result < 0 && was_restarted(engine, &session);
       i++)
    result = attempt_again(engine, task, &session, stderr_tail, err);
  if (result < 0 && *session.unreachable != '\0') {
    control_stop(engine->keeper_socket, task, session.kernel->id, "killed",
                 session.unreachable, 20000, NULL);
    result = attempt_again(engine, task, &session, stderr_tail, err);
  }
  if (result < 0) {
    release(&session);
    return -1;
  }
  describe_variables(engine, &session);
  *ret = session;
  return 0;
}

void session_close(struct engine *engine, struct session *session, bool alive) {
  if (alive && session->cached != NULL) {
    idle_give(engine->idle, MEM_STEAL(session->cached), session->process);
    session->known = NULL;
  }
  release(session);
}

struct task_notebook_kernel
session_notebook_kernel(const struct session *session) {
  return (struct task_notebook_kernel){
      .name = session->known->kernelspec,
      .display_name = session->known->display_name,
      .language = session->info->language,
      .language_info = session->info->language_info,
  };
}

bool session_is_python(const struct session *session) {
  return strcmp(session->info->language, "python") == 0;
}

static struct kernel_record end_of(const struct control_kernel *told) {
  return (struct kernel_record){
      .id = mem_copy_text(told->id),
      .generation = told->generation,
      .end = kernel_end_parse(told->end),
      .exit_code = told->exit_code,
      .signal = told->signal,
      .reason = mem_copy_text(told->reason),
      .memory_peak = told->memory_peak_bytes,
      .memory_limit = told->memory_limit_bytes,
  };
}

/* The registry knows the ends of kernels that no keeper remembers. */
static bool read_recorded_end(struct engine *engine, const char *kernel,
                              struct kernel_record *ret) {
  CLEANUP(kernel_record_free) struct kernel_record record = {0};
  if (kernel_get(engine->store, kernel, &record, NULL) < 0 ||
      record.ended_at == 0)
    return false;
  *ret = record;
  record = (struct kernel_record){0};
  return true;
}

int session_read_end(struct engine *engine, const char *kernel, int timeout_ms,
                     struct kernel_record *ret) {
  int64_t start = clock_monotonic_ns();
  int64_t deadline = start + timeout_ms * CLOCK_MS;
  CLEANUP(mem_free_pointer)
  struct control_kernel *told = mem_new(sizeof *told);
  for (int64_t pause = 1;; pause = pause < 32 ? pause * 2 : pause) {
    bool answers =
        control_status(engine->keeper_socket, kernel, told, NULL) == 0;
    if (answers && !told->alive) {
      *ret = end_of(told);
      return 0;
    }
    if (read_recorded_end(engine, kernel, ret))
      return 0;
    int64_t now = clock_monotonic_ns();
    if (now >= deadline || (!answers && now >= start + KEEPER_PATIENCE))
      return -1;
    poll(NULL, 0, (int)pause);
  }
}
