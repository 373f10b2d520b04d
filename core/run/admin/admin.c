#include "core/run/admin/admin.h"

#include <fcntl.h>
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
#include "core/run/engine/engine_private.h"
#include "core/run/engine/task_directory.h"
#include "core/run/engine/task_notebook.h"
#include "core/run/run.h"
#include "core/store/kernel.h"
#include "core/store/replay.h"
#include "core/store/run.h"
#include "core/store/task.h"

/* Ending a kernel takes both graces at the most, and a little. */
static int stop_timeout_ms(const struct engine *engine) {
  return (int)(engine->conf->terminate_grace * 1000.0) + 15000;
}

static int start_timeout_ms(const struct engine *engine) {
  return stop_timeout_ms(engine) + (int)(engine->conf->start_timeout * 1000.0);
}

static struct json *describe_kernel(struct engine *engine, const char *task) {
  CLEANUP(kernel_record_free) struct kernel_record kernel = {0};
  if (kernel_latest(engine->store, task, &kernel, NULL) < 0)
    return NULL;
  bool alive =
      kernel.ended_at == 0 && process_is_alive(kernel.pid, kernel.pid_start);
  struct json *object = json_object();
  json_set_text(object, "id", kernel.id);
  json_set_integer(object, "generation", kernel.generation);
  json_set_text(object, "state", alive ? "alive" : "dead");
  json_set_text(object, "kernelspec", kernel.kernelspec);
  json_set_time(object, "started", kernel.started_at);
  json_set_time(object, "ended", kernel.ended_at);
  json_set_text(object, "end",
                kernel.end == KERNEL_END_NONE ? NULL
                                              : kernel_end_name(kernel.end));
  json_set_text(object, "reason", kernel.reason);
  int64_t memory = alive ? process_memory(kernel.pid) : -1;
  json_set(object, "memory_bytes", memory < 0 ? NULL : json_integer(memory));
  return object;
}

/* The values of environment variables are nobody's to read again: keys of other
 * services stand there. Their names stay, with null. */
static struct json *shown_settings(const struct json *settings) {
  void *state = NULL;
  const char *name;
  struct json *value;
  const struct json *environment = json_get(settings, "env");
  if (environment == NULL)
    return json_share(settings);
  struct json *shown = json_copy(settings), *names = json_object();
  while (json_next(environment, &state, &name, &value))
    json_set(names, name, NULL);
  json_set(shown, "env", names);
  return shown;
}

static struct json *describe(struct engine *engine,
                             const struct task_record *task) {
  struct json *object = json_object();
  int64_t failures = 0;
  (void)task_count_failures(engine->store, task->id, &failures, NULL);
  json_set_text(object, "task", task->id);
  json_set_text(object, "kernelspec", task->kernelspec);
  json_set(object, "settings", shown_settings(task->settings));
  json_set_time(object, "created", task->created_at);
  json_set_text(object, "created_by", task->created_by);
  json_set_integer(object, "runs", task->runs);
  json_set_integer(object, "failures", failures);
  json_set_time(object, "last_run", task->last_run_at);
  json_set_text(object, "last_status", task->last_status);
  json_set_integer(object, "queue", queue_length(engine->queues, task->id));
  json_set(object, "kernel", describe_kernel(engine, task->id));
  CLEANUP(mem_free_pointer)
  char *notebook =
      mem_format("/" LAYOUT_TASKS "/%s/" LAYOUT_NOTEBOOK, task->id);
  CLEANUP(mem_free_pointer)
  char *files = mem_format("/" LAYOUT_TASKS "/%s/" LAYOUT_FILES "/", task->id);
  json_set_text(object, "notebook", notebook);
  json_set_text(object, "files", files);
  return object;
}

int admin_describe_task(struct engine *engine, const char *task,
                        struct json **ret, struct err *err) {
  CLEANUP(task_record_free) struct task_record record = {0};
  if (task_get(engine->store, task, &record, err) < 0)
    return -1;
  *ret = describe(engine, &record);
  return 0;
}

/* A notebook without cells, so that its address is good from now on. When a run
 * has the task's turn it makes the notebook. */
static int make_notebook(struct engine *engine, const char *task, int directory,
                         const struct kernelspec *spec, struct err *err) {
  if (faccessat(directory, LAYOUT_NOTEBOOK, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
    return 0;
  const struct task_notebook_kernel kernel = {.name = spec->name,
                                              .display_name =
                                                  spec->display_name,
                                              .language = spec->language};
  CLEANUP(task_notebook_close) struct task_notebook slot = {0};
  struct queue_entry *entry = NULL;
  if (queue_join_aside(engine->queues, task, &entry, err) < 0)
    return -1;
  int result = queue_is_next(entry)
                   ? task_notebook_make(engine, task, &slot, &kernel, err)
                   : 0;
  queue_leave(entry);
  return result;
}

int admin_put_task(struct engine *engine, const char *task,
                   const struct json *settings, const char *by,
                   struct json **ret, struct err *err) {
  const char *name = json_get_text(settings, "kernelspec");
  if (name == NULL)
    name = engine->conf->kernelspec;
  CLEANUP(kernelspec_done) struct kernelspec *spec = NULL;
  struct err fault = {0};
  if (kernelspec_find(engine->conf->kernelspec_path, name, &spec, &fault) < 0)
    return err_set(err, ERR_FIELD, "kernelspec: %.400s", fault.text);
  CLEANUP(json_done)
  struct json *kept = settings == NULL ? json_object() : json_copy(settings);
  json_remove(kept, "kernelspec");
  int made = task_put(engine->store, task, spec->name, kept, by, err);
  if (made < 0)
    return -1;
  CLEANUP(mem_close_descriptor)
  int directory = task_directory_open(engine, task, err);
  if (directory < 0 || make_notebook(engine, task, directory, spec, err) < 0 ||
      admin_describe_task(engine, task, ret, err) < 0)
    return -1;
  struct json *notes = json_array();
  if (made == 2)
    json_push(notes, json_string("init_code was changed: it runs in the task's "
                                 "next kernel; restart the task for that"));
  json_set(*ret, "notes", notes);
  return made == 1;
}

int admin_list_tasks(struct engine *engine, const struct rights *rights,
                     const char *after, int limit, struct json **ret,
                     struct err *err) {
  struct task_record *list = NULL;
  size_t count = 0;
  if (task_list(engine->store, rights, after, limit, &list, &count, err) < 0)
    return -1;
  struct json *tasks = json_array();
  for (size_t i = 0; i < count; i++)
    json_push(tasks, describe(engine, &list[i]));
  *ret = json_object();
  json_set(*ret, "tasks", tasks);
  json_set_text(*ret, "next",
                count == (size_t)limit ? list[count - 1].id : NULL);
  task_list_free(list, count);
  return 0;
}

/* Cancels what is queued and asks what runs to end. */
static void cancel_open_runs(struct engine *engine, const char *task,
                             const char *by) {
  struct run_record *open = NULL;
  size_t count = 0;
  if (run_list_open(engine->store, task, RUN_BRIEF, &open, &count, NULL) < 0)
    return;
  for (size_t i = count; i-- > 0;)
    run_cancel(engine, open[i].id, by, NULL);
  run_list_free(open, count);
}

/* Closes this process's channel of the task's kernel, if it is idle. */
static void drop_channel(struct engine *engine, const char *task) {
  CLEANUP(kernel_record_free) struct kernel_record kernel = {0};
  if (kernel_latest(engine->store, task, &kernel, NULL) == 0)
    cached_channel_free(idle_take_kernel(engine->idle, kernel.id));
}

static int remove_files(struct engine *engine, const char *task,
                        struct err *err) {
  if (fs_remove_tree(engine->tasks_directory, task, err) < 0)
    return err_wrap(err, "files of task %s", task);
  return 0;
}

/* Marks the task deleted. One that was deleted before may still be purged. */
static int end_task(struct engine *engine, const char *task, bool purge,
                    struct err *err) {
  struct err fault = {0};
  if (task_delete(engine->store, task, &fault) == 0)
    return 0;
  bool has_files =
      faccessat(engine->tasks_directory, task, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
  if (fault.kind == ERR_NOT_FOUND && purge && has_files)
    return 0;
  return err_set(err, fault.kind, "%s", fault.text);
}

/* The kernel goes first, so that a running cell ends at once; then the turn is
 * waited for, so that no run is under way when the files go. */
int admin_delete_task(struct engine *engine, const char *task, bool purge,
                      const char *by, struct json **ret, struct err *err) {
  if (end_task(engine, task, purge, err) < 0)
    return -1;
  cancel_open_runs(engine, task, by);
  if (control_stop(engine->keeper_socket, task, NULL, "stopped",
                   "the task was deleted", stop_timeout_ms(engine), err) < 0)
    return err_wrap(err, "kernel of task %s", task);
  struct queue_entry *entry = NULL;
  if (queue_join(engine->queues, task, &entry, err) < 0)
    return -1;
  int result = queue_wait(entry, err);
  if (result == 0) {
    drop_channel(engine, task);
    result = purge ? remove_files(engine, task, err) : 0;
    queue_forget(entry);
  }
  queue_leave(entry);
  if (result < 0)
    return -1;
  *ret = json_object();
  json_set_text(*ret, "task", task);
  json_set_boolean(*ret, "deleted", true);
  json_set_boolean(*ret, "purged", purge);
  return 0;
}

static const struct run_record *running_one(const struct run_record *open,
                                            size_t count) {
  for (size_t i = 0; i < count; i++)
    if (open[i].status == RUN_RUNNING)
      return &open[i];
  return NULL;
}

int admin_interrupt_task(struct engine *engine, const char *task,
                         const char *by, struct json **ret, struct err *err) {
  CLEANUP(task_record_free) struct task_record record = {0};
  if (task_get(engine->store, task, &record, err) < 0)
    return -1;
  CLEANUP(json_done) struct json *kernel = describe_kernel(engine, task);
  const char *state = json_get_text(kernel, "state");
  if (state == NULL || strcmp(state, "alive") != 0)
    return err_set(err, ERR_CONFLICT, "task %s has no living kernel", task);
  struct run_record *open = NULL;
  size_t count = 0;
  if (run_list_open(engine->store, task, RUN_BRIEF, &open, &count, err) < 0)
    return -1;
  const struct run_record *running = running_one(open, count);
  if (running != NULL)
    run_cancel(engine, running->id, by, NULL);
  else
    replay_request_cancel(engine->store, task, NULL);
  *ret = json_object();
  json_set_text(*ret, "task", task);
  json_set_text(*ret, "interrupted", running == NULL ? NULL : running->id);
  json_set(*ret, "kernel", MEM_STEAL(kernel));
  run_list_free(open, count);
  return 0;
}

int admin_restart_task(struct engine *engine, const char *task, const char *by,
                       struct json **ret, struct err *err) {
  CLEANUP(task_record_free) struct task_record record = {0};
  if (task_get(engine->store, task, &record, err) < 0)
    return -1;
  CLEANUP(mem_free_pointer)
  char *reason = mem_format("restarted at the request of %s", by);
  drop_channel(engine, task);
  CLEANUP(mem_free_pointer)
  struct control_kernel *fresh = mem_new(sizeof *fresh);
  if (control_restart(engine->keeper_socket, task, reason,
                      start_timeout_ms(engine), fresh, err) < 0)
    return -1;
  *ret = json_object();
  json_set_text(*ret, "task", task);
  json_set(*ret, "kernel", describe_kernel(engine, task));
  return 0;
}

int admin_list_kernelspecs(struct engine *engine, struct json **ret,
                           struct err *err) {
  struct kernelspec **list = NULL;
  size_t count = 0;
  if (kernelspec_list(engine->conf->kernelspec_path, &list, &count, err) < 0)
    return -1;
  struct json *specs = json_array();
  for (size_t i = 0; i < count; i++) {
    struct json *spec = json_object();
    json_set_text(spec, "name", list[i]->name);
    json_set_text(spec, "display_name", list[i]->display_name);
    json_set_text(spec, "language", list[i]->language);
    json_set_boolean(spec, "default",
                     strcmp(list[i]->name, engine->conf->kernelspec) == 0);
    json_push(specs, spec);
  }
  *ret = json_object();
  json_set(*ret, "kernelspecs", specs);
  kernelspec_free_list(list, count);
  return 0;
}
