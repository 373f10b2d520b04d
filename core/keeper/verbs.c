#include "core/keeper/verbs.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/keeper/cull.h"
#include "core/keeper/kernels/ending.h"
#include "core/keeper/kernels/registry.h"
#include "core/keeper/launch/spare.h"
#include "core/keeper/launch/start.h"
#include "core/process/process.h"
#include "core/store/task.h"

struct waiter;
typedef bool condition(struct keeper *keeper, const struct waiter *waiter);
typedef void action(struct keeper *keeper, struct client *client,
                    const struct control_request *request);

struct waiter {
  struct waiter *next;
  struct client *client;
  struct control_request request;
  uint64_t latest; /* the order of the newest kernel when the wait began */
  condition *until;
  action *then;
};

static void wait_until(struct keeper *keeper, struct client *client,
                       const struct control_request *request, condition *until,
                       action *then) {
  struct waiter *waiter = mem_new(sizeof *waiter);
  *waiter =
      (struct waiter){NULL, client, *request, keeper->kernels_met, until, then};
  struct waiter **last = &keeper->waiters;
  while (*last != NULL)
    last = &(*last)->next;
  *last = waiter;
}

static void refuse(struct client *client, enum err_kind kind,
                   const char *text) {
  struct err err = {0};
  err_set(&err, kind, "%s", text);
  client_refuse(client, &err);
}

static void answer_nothing(struct client *client) {
  client_answer(client, &(struct control_kernel){0});
}

static void answer_kernel(struct client *client, const struct kernel *kernel,
                          bool fresh) {
  struct control_kernel told;
  registry_tell(kernel, &told);
  told.fresh = fresh;
  client_answer(client, &told);
}

static bool is_listed(struct keeper *keeper, const struct waiter *waiter) {
  const struct kernel *kernel =
      registry_find_task(keeper, waiter->request.task);
  return kernel == NULL || kernel->listed;
}

static void answer_new(struct keeper *keeper, struct client *client,
                       const struct control_request *request) {
  const struct kernel *kernel = registry_find_task(keeper, request->task);
  if (kernel == NULL)
    refuse(client, ERR_UNAVAILABLE, "the kernel ended as soon as it began");
  else
    answer_kernel(client, kernel, true);
}

/* The app looks the kernel up in the registry: its row comes first. */
static void start_new(struct keeper *keeper, struct client *client,
                      const struct control_request *request) {
  struct err err = {0};
  struct kernel *kernel = NULL;
  int result = start_kernel(keeper, request->task, &kernel, &err);
  log_set_task(request->task);
  if (result >= 0)
    log_info("kernel %s started, pid %d", kernel->id,
             (int)kernel->process.kernel_pid);
  else
    log_warning("no kernel started: %s", err.text);
  log_set_task(NULL);
  if (result < 0)
    client_refuse(client, &err);
  else if (kernel->listed)
    answer_kernel(client, kernel, true);
  else
    wait_until(keeper, client, request, is_listed, answer_new);
}

static bool has_room(struct keeper *keeper, const struct waiter *waiter) {
  (void)waiter;
  return registry_count(keeper) < (size_t)keeper->conf->max_kernels;
}

static action start;

/* At the limit the kernel that has been idle for longest gives way. */
static void start_when_there_is_room(struct keeper *keeper,
                                     struct client *client,
                                     const struct control_request *request) {
  struct err err = {0};
  CLEANUP(task_record_free) struct task_record task = {0};
  size_t count = registry_count(keeper);
  if (keeper->closing)
    refuse(client, ERR_UNAVAILABLE, "the keeper is ending");
  else if (count < (size_t)keeper->conf->max_kernels)
    start_new(keeper, client, request);
  else if (task_get(keeper->store, request->task, &task, &err) < 0)
    client_refuse(client, &err);
  else if (cull_make_room(keeper))
    wait_until(keeper, client, request, has_room, start);
  else {
    err_set(&err, ERR_UNAVAILABLE,
            "%zu kernels run already, all of them in use, and no more than "
            "%lld may (max_kernels): delete a task that is not needed, or try "
            "again later",
            count, (long long)keeper->conf->max_kernels);
    client_refuse(client, &err);
  }
}

static bool may_stay(const struct kernel *kernel) {
  return kernel->asked == KERNEL_END_NONE && !registry_is_dead(kernel);
}

static bool is_settled(struct keeper *keeper, const struct waiter *waiter) {
  const struct kernel *kernel =
      registry_find_task(keeper, waiter->request.task);
  return kernel == NULL || (may_stay(kernel) && kernel->listed);
}

static void start(struct keeper *keeper, struct client *client,
                  const struct control_request *request) {
  const struct kernel *kernel = registry_find_task(keeper, request->task);
  if (kernel == NULL)
    start_when_there_is_room(keeper, client, request);
  else if (may_stay(kernel) && kernel->listed)
    answer_kernel(client, kernel, false);
  else
    wait_until(keeper, client, request, is_settled, start);
}

static struct kernel *find_living(struct keeper *keeper,
                                  const struct control_request *request) {
  struct kernel *kernel = registry_find(keeper, request->kernel);
  return kernel == NULL || registry_is_dead(kernel) ? NULL : kernel;
}

static void interrupt(struct keeper *keeper, struct client *client,
                      const struct control_request *request) {
  struct kernel *kernel = find_living(keeper, request);
  if (kernel == NULL || registry_signal_shim(kernel, SIGINT, NULL) < 0)
    refuse(client, ERR_NOT_FOUND, "no such kernel runs");
  else
    answer_nothing(client);
}

/* To the main thread, which runs the cells: a signal to the process may be
 * taken by any of its threads. The pidfd says that the pid still means the
 * kernel. */
static int signal_main_thread(const struct kernel *kernel, int number) {
  struct pollfd ended = {.fd = kernel->kernel_end.descriptor, .events = POLLIN};
  pid_t pid = (pid_t)kernel->process.kernel_pid;
  return poll(&ended, 1, 0) != 0 ? -1 : tgkill(pid, pid, number);
}

static void stack(struct keeper *keeper, struct client *client,
                  const struct control_request *request) {
  struct kernel *kernel = find_living(keeper, request);
  if (kernel != NULL && !process_catches(kernel->process.kernel_pid, SIGUSR2))
    refuse(client, ERR_UNAVAILABLE,
           "the kernel has no handler for SIGUSR2, which would end it");
  else if (kernel == NULL || signal_main_thread(kernel, SIGUSR2) < 0)
    refuse(client, ERR_NOT_FOUND, "no such kernel runs");
  else
    answer_nothing(client);
}

static bool is_meant(const struct kernel *kernel,
                     const struct control_request *request) {
  return strcmp(kernel->task, request->task) == 0 &&
         (*request->kernel == '\0' || strcmp(kernel->id, request->kernel) == 0);
}

/* Also those whose process has ended, while something they started runs. One
 * that was started after the request, by another one, is not meant. */
static bool is_gone(struct keeper *keeper, const struct waiter *waiter) {
  for (const struct kernel *kernel = keeper->kernels; kernel != NULL;
       kernel = kernel->next)
    if (is_meant(kernel, &waiter->request) && !kernel->gone &&
        kernel->order <= waiter->latest)
      return false;
  return true;
}

static void stop_meant(struct keeper *keeper,
                       const struct control_request *request,
                       enum kernel_end end) {
  for (struct kernel *kernel = keeper->kernels; kernel != NULL;
       kernel = kernel->next)
    if (is_meant(kernel, request) && !kernel->gone)
      registry_stop(kernel, end, request->reason);
}

static void answer_stop(struct keeper *keeper, struct client *client,
                        const struct control_request *request) {
  (void)keeper, (void)request;
  answer_nothing(client);
}

static void stop(struct keeper *keeper, struct client *client,
                 const struct control_request *request) {
  enum kernel_end end = ending_parse(request->end);
  if (end == KERNEL_END_NONE) {
    refuse(client, ERR_INVALID, "\"end\" is none that can be asked for");
    return;
  }
  stop_meant(keeper, request, end);
  wait_until(keeper, client, request, is_gone, answer_stop);
}

static void restart(struct keeper *keeper, struct client *client,
                    const struct control_request *request) {
  stop_meant(keeper, request, KERNEL_END_RESTARTED);
  wait_until(keeper, client, request, is_gone, start);
}

static bool can_be_told(const struct kernel *kernel) {
  return kernel == NULL || kernel->ended || !registry_is_dead(kernel);
}

static bool is_told(struct keeper *keeper, const struct waiter *waiter) {
  return can_be_told(registry_find(keeper, waiter->request.kernel));
}

static void status(struct keeper *keeper, struct client *client,
                   const struct control_request *request) {
  struct control_kernel told = {.pid = getpid()};
  struct err err = {0};
  if (!can_be_told(registry_find(keeper, request->kernel)))
    wait_until(keeper, client, request, is_told, status);
  else if (*request->kernel == '\0' ||
           registry_tell_id(keeper, request->kernel, &told, &err) >= 0)
    client_answer(client, &told);
  else
    client_refuse(client, &err);
}

void verbs_stop_all(struct keeper *keeper, const char *reason) {
  keeper->closing = true;
  spare_close(keeper);
  for (struct kernel *kernel = keeper->kernels; kernel != NULL;
       kernel = kernel->next)
    registry_stop(kernel, KERNEL_END_STOPPED, reason);
}

static bool is_empty(struct keeper *keeper, const struct waiter *waiter) {
  (void)waiter;
  return keeper->kernels == NULL;
}

static void finish(struct keeper *keeper, struct client *client,
                   const struct control_request *request) {
  (void)request;
  answer_nothing(client);
  keeper->done = true;
}

static void shutdown(struct keeper *keeper, struct client *client,
                     const struct control_request *request) {
  if (!client->owner) {
    refuse(client, ERR_DENIED, "only the keeper's user may end it");
    return;
  }
  verbs_stop_all(keeper, "The service was shut down.");
  wait_until(keeper, client, request, is_empty, finish);
}

static action *const actions[] = {
    [CONTROL_START] = start,       [CONTROL_INTERRUPT] = interrupt,
    [CONTROL_STACK] = stack,       [CONTROL_STOP] = stop,
    [CONTROL_RESTART] = restart,   [CONTROL_STATUS] = status,
    [CONTROL_SHUTDOWN] = shutdown,
};

static bool is_late(const struct control_request *request) {
  return request->deadline != 0 && clock_monotonic_ns() > request->deadline;
}

void verbs_handle(struct keeper *keeper, struct client *client,
                  const struct control_request *request) {
  actions[request->verb](keeper, client, request);
}

/* An action may add waiters: each round begins at the front and takes out one.
 */
int64_t verbs_turn(struct keeper *keeper) {
  int64_t next = KEEPER_NEVER;
  struct waiter **place = &keeper->waiters;
  while (*place != NULL) {
    struct waiter *waiter = *place;
    bool late = is_late(&waiter->request);
    if (!late && !waiter->until(keeper, waiter)) {
      if (waiter->request.deadline != 0)
        next = clock_sooner(next, waiter->request.deadline + CLOCK_MS);
      place = &waiter->next;
      continue;
    }
    *place = waiter->next;
    if (late)
      refuse(waiter->client, ERR_TIMEOUT, "the request's time is over");
    else
      waiter->then(keeper, waiter->client, &waiter->request);
    free(waiter);
    place = &keeper->waiters;
    next = KEEPER_NEVER;
  }
  return next;
}

void verbs_abandon(struct keeper *keeper, const struct client *client) {
  struct waiter **place = &keeper->waiters;
  while (*place != NULL) {
    struct waiter *waiter = *place;
    if (waiter->client != client) {
      place = &waiter->next;
      continue;
    }
    *place = waiter->next;
    free(waiter);
  }
}
