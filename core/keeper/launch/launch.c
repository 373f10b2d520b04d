#include "core/keeper/launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/layout.h"
#include "core/base/mem.h"
#include "core/jupyter/connection.h"
#include "core/jupyter/kernelspec.h"
#include "core/keeper/kernels/environment.h"
#include "core/keeper/kernels/profile.h"
#include "core/keeper/kernels/sockets.h"
#include "core/keeper/launch/shadow.h"
#include "core/keeper/zygote/zygote.h"
#include "core/store/task.h"
#include "embedded.h"

/* One launch on its way; what it owns is released by launch_done. */
struct launch {
  char id[ID_UUID_SIZE];
  const struct task_record *task; /* NULL: a spare */
  int attendance;                 /* a spare's; or 0 */
  struct kernelspec *spec;
  char *directory;       /* the kernel's own */
  char *connection_file; /* its path */
  char *files;           /* the task's */
  int directory_fd, shim_fd, files_fd;
  char **argv, **environment;
  struct kernel_limits limits;
  struct zygote *zygote; /* NULL: it starts by execve(2) */
};

static struct launch launch_new(const struct launch_order *order) {
  struct launch launch = {.task = order->task,
                          .attendance = order->attendance,
                          .directory_fd = -1,
                          .shim_fd = -1,
                          .files_fd = -1};
  id_new(launch.id);
  return launch;
}

static void launch_done(struct launch *launch) {
  kernelspec_free(launch->spec);
  free(launch->directory);
  free(launch->connection_file);
  free(launch->files);
  mem_close_descriptor(&launch->files_fd);
  mem_close_descriptor(&launch->directory_fd);
  mem_close_descriptor(&launch->shim_fd);
  kernelspec_free_argv(launch->argv);
  environment_free(launch->environment);
}

static int make_files(const struct keeper *keeper, struct launch *launch,
                      struct err *err) {
  const struct places *places = &keeper->places;
  if (launch->task == NULL) {
    launch->files_fd =
        places_make_owned(places, places->spares, launch->id, 0755, err);
    launch->files =
        mem_format("%s/" LAYOUT_SPARES "/%s", places->state, launch->id);
    return launch->files_fd < 0 ? -1 : 0;
  }
  const char *task = launch->task->id;
  CLEANUP(mem_close_descriptor)
  int home = places_make_owned(places, places->tasks, task, 0755, err);
  if (home < 0)
    return -1;
  launch->files_fd = places_make_owned(places, home, LAYOUT_FILES, 0755, err);
  launch->files =
      mem_format("%s/" LAYOUT_TASKS "/%s/" LAYOUT_FILES, places->state, task);
  return launch->files_fd < 0 ? -1 : 0;
}

/* What a cell has put in their way is a fault of the place and not of who asks.
 */
static int blame_place(struct err *err) {
  if (err != NULL && err->kind != ERR_NO_SPACE)
    err->kind = ERR_IO;
  return -1;
}

static int make_directories(const struct keeper *keeper, struct launch *launch,
                            struct err *err) {
  const struct places *places = &keeper->places;
  launch->directory_fd =
      fs_make_and_open(places->kernels, launch->id, 0700, err);
  launch->shim_fd = fs_make_and_open(places->shims, launch->id, 0700, err);
  return launch->directory_fd < 0 || launch->shim_fd < 0 ? -1 : 0;
}

static int write_connection(const char *kernelspec, const struct launch *launch,
                            struct err *err) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_LINE);
  if (connection_compose(launch->directory, kernelspec, &text, err) < 0)
    return -1;
  struct iovec part = {text.data, text.length};
  return fs_write_atomic(launch->directory_fd, LAYOUT_CONNECTION, 0600, &part,
                         1, FS_SYNC_NONE, err);
}

/* To a kernel without a user of its own; the jail gives it away otherwise. The
 * directory comes last: until then nobody but root can change what is in it. */
static int give_connection(const struct keeper *keeper,
                           const struct launch *launch, struct err *err) {
  const struct jail *jail = &keeper->places.jail;
  if (jail_host_has(keeper->jails, JAIL_MOUNT))
    return 0;
  if (jail->switch_user &&
      fchownat(launch->directory_fd, LAYOUT_CONNECTION, jail->uid, jail->gid,
               AT_SYMLINK_NOFOLLOW) < 0)
    return err_errno(err, ERR_IO, errno,
                     "cannot give the connection file away");
  return places_give_away(&keeper->places, launch->directory_fd, err);
}

static int find_kernelspec(const struct keeper *keeper, const char *name,
                           struct kernelspec **ret, struct err *err) {
  int result = kernelspec_find(keeper->conf->kernelspec_path, name, ret, err);
  if (result < 0 && err != NULL && err->kind == ERR_NOT_FOUND)
    err->kind = ERR_UNAVAILABLE;
  return result;
}

static const struct json *settings_of(const struct launch *launch) {
  return launch->task == NULL ? NULL : launch->task->settings;
}

/* What can be told without touching anything. */
static int plan(const struct keeper *keeper, struct launch *launch,
                struct err *err) {
  const char *name = launch->task == NULL ? keeper->conf->kernelspec
                                          : launch->task->kernelspec;
  const struct json *settings = settings_of(launch);
  if (find_kernelspec(keeper, name, &launch->spec, err) < 0 ||
      kernel_limits_read(keeper->conf, json_get(settings, "limits"),
                         &launch->limits, err) < 0)
    return -1;
  launch->directory =
      mem_format("%s/" LAYOUT_KERNELS "/%s", keeper->places.run, launch->id);
  launch->connection_file =
      mem_format("%s/" LAYOUT_CONNECTION, launch->directory);
  launch->argv = profile_arguments(launch->spec, launch->connection_file);
  return 0;
}

static void compose_environment(const struct keeper *keeper,
                                struct launch *launch) {
  const struct profile_places places =
      profile_places(keeper, launch->files, launch->directory);
  launch->environment =
      profile_environment(keeper, launch->spec, &launch->limits, &places,
                          json_get(settings_of(launch), "env"));
}

/* Files of the task that are called like modules must not keep its kernel from
 * starting. */
static int isolate(const struct keeper *keeper, struct launch *launch,
                   struct err *err) {
  const struct profile_places places =
      profile_places(keeper, launch->files, launch->directory);
  CLEANUP(mem_free_pointer)
  char *path = mem_format("%s/" LAYOUT_START, launch->directory);
  if (!profile_isolate(path, places.private, launch->argv,
                       &launch->environment))
    return 0;
  const struct embedded_file *script =
      embedded_find("core/keeper/launch/launch_python.py");
  struct iovec part = {(char *)script->text, script->length};
  return fs_write_atomic(launch->directory_fd, LAYOUT_START, 0644, &part, 1,
                         FS_SYNC_NONE, err);
}

static int prepare(const struct keeper *keeper, struct launch *launch,
                   struct err *err) {
  if (make_files(keeper, launch, err) < 0)
    return blame_place(err);
  if (make_directories(keeper, launch, err) < 0 ||
      write_connection(launch->spec->name, launch, err) < 0)
    return -1;
  compose_environment(keeper, launch);
  if (launch->zygote == NULL && isolate(keeper, launch, err) < 0)
    return -1;
  return give_connection(keeper, launch, err);
}

static int confine(const struct keeper *keeper, const struct launch *launch,
                   struct jail *ret, struct err *err) {
  const struct jail_request request = {
      .id = launch->id,
      .limits = &launch->limits,
      .workspace = launch->files,
      .workspace_directory = launch->files_fd,
      .run = launch->directory,
      .run_directory = launch->directory_fd,
      .shim_directory = launch->shim_fd,
      .argv = launch->argv,
      .kernelspec = launch->spec->directory,
  };
  return jail_host_prepare(keeper->jails, &request, ret, err);
}

static int run(const struct keeper *keeper, const struct launch *launch,
               struct shim_process *process, struct err *err) {
  CLEANUP(mem_free_pointer)
  char *title = mem_format("%s %s", launch->id,
                           launch->task == NULL ? "" : launch->task->id);
  struct shim_order order = {
      .title = title,
      .argv = launch->argv,
      .environment = launch->environment,
      .directory = launch->shim_fd,
      .terminate_grace_ms = (int64_t)(keeper->conf->terminate_grace * 1000.0),
      .in_place = launch->zygote != NULL,
      .attendance = launch->attendance,
  };
  if (confine(keeper, launch, &order.jail, err) < 0)
    return -1;
  order.working_directory =
      jail_has(&order.jail, JAIL_MOUNT) ? JAIL_WORKSPACE : launch->files;
  int result = launch->zygote != NULL
                   ? zygote_start(launch->zygote, &order, process, err)
                   : shim_start(&order, process, err);
  jail_host_started(&order.jail);
  return result;
}

/* Watched first, so that it is ended and cleared away like any other when it
 * cannot be recorded. A row that must wait for a locked database is written
 * later. */
static int enlist(struct keeper *keeper, const struct launch *launch,
                  const struct shim_process *process, struct kernel **ret,
                  struct err *err) {
  bool spare = launch->task == NULL;
  const struct kernel_record record = {
      .id = (char *)launch->id,
      .task = spare ? NULL : launch->task->id,
      .kernelspec = spare ? launch->spec->name : launch->task->kernelspec,
      .pid = process->kernel_pid,
      .pid_start = process->kernel_start,
      .directory = launch->directory,
      .started_at = clock_wall_us(),
      .memory_limit = profile_memory_limit(keeper, launch->limits.memory),
  };
  struct kernel *kernel =
      registry_add(keeper, &record, process->pid, process->pid_start);
  sockets_await(kernel);
  struct err fault = {0};
  if (registry_list(kernel, &fault) < 0 && fault.kind != ERR_UNAVAILABLE) {
    registry_disown(kernel);
    return err_set(err, fault.kind, "%s", fault.text);
  }
  *ret = kernel;
  return 0;
}

static void clean_up(struct keeper *keeper, const struct launch *launch) {
  const struct places *places = &keeper->places;
  jail_host_release(keeper->jails, launch->id);
  fs_remove_tree(places->kernels, launch->id, NULL);
  fs_remove_tree(places->shims, launch->id, NULL);
  if (launch->task == NULL)
    fs_remove_tree(places->spares, launch->id, NULL);
}

static int attempt(struct keeper *keeper, struct launch *launch,
                   struct kernel **ret, struct err *err) {
  struct shim_process process;
  if (prepare(keeper, launch, err) >= 0 &&
      run(keeper, launch, &process, err) >= 0)
    return enlist(keeper, launch, &process, ret, err);
  clean_up(keeper, launch);
  return -1;
}

/* They may be an earlier kernel's, or the user's. */
static bool has_own_modules(const struct keeper *keeper,
                            const struct launch *launch) {
  if (launch->task == NULL)
    return false;
  CLEANUP(mem_free_pointer)
  char *path = mem_format("%s/" LAYOUT_FILES, launch->task->id);
  CLEANUP(mem_close_descriptor)
  int files = fs_open_beneath(keeper->places.tasks, path,
                              O_RDONLY | O_DIRECTORY, 0, NULL);
  return shadow_any(files, keeper->conf->preload);
}

/* Its environment without the task's files, which may not exist yet: nothing
 * that a zygote looks at depends on them. */
static struct zygote *find_zygote(struct keeper *keeper,
                                  const struct launch *launch) {
  const struct json *settings = settings_of(launch);
  if (json_as_boolean(json_get(settings, "strict"), false) ||
      has_own_modules(keeper, launch))
    return NULL;
  const struct profile_places places = profile_places(keeper, "", "");
  CLEANUP(environment_done)
  char **environment =
      profile_environment(keeper, launch->spec, &launch->limits, &places,
                          json_get(settings, "env"));
  return zygote_find(keeper, launch->spec, environment);
}

int launch(struct keeper *keeper, const struct launch_order *order,
           struct launch_result *ret, struct err *err) {
  CLEANUP(launch_done) struct launch launch = launch_new(order);
  if (plan(keeper, &launch, err) < 0)
    return -1;
  if (order->how != LAUNCH_EXECUTED)
    launch.zygote = find_zygote(keeper, &launch);
  ret->forked = launch.zygote != NULL;
  if (order->how == LAUNCH_FORKED && !ret->forked)
    return err_set(err, ERR_BUSY, "no zygote is ready");
  if (ret->forked)
    ret->zygote = zygote_number(launch.zygote);
  return attempt(keeper, &launch, &ret->kernel, err);
}

void launch_prepare(struct keeper *keeper) {
  static const struct launch_order spare = {.how = LAUNCH_FORKED};
  CLEANUP(launch_done) struct launch launch = launch_new(&spare);
  if (keeper->conf->warm && plan(keeper, &launch, NULL) == 0)
    find_zygote(keeper, &launch);
}
