#include "core/keeper/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/jupyter/connection.h"
#include "core/jupyter/kernelspec.h"
#include "core/keeper/environment.h"
#include "core/store/task.h"

#define CONNECTION_FILE "connection.json"
#define MOST_THREADS                                                           \
  4 /* per kernel, of numeric libraries: many share a host                     \
     */

/* One launch on its way; what it owns is released by launch_done. */
struct launch {
  char id[ID_UUID_SIZE];
  char *directory;       /* the kernel's own */
  char *connection_file; /* its path */
  char *files;           /* the task's */
  int directory_fd, shim_fd, files_fd;
  char **argv, **environment;
  char *kernelspec; /* its directory */
  struct jail_limits limits;
};

static void launch_done(struct launch *launch) {
  free(launch->directory);
  free(launch->connection_file);
  free(launch->files);
  free(launch->kernelspec);
  mem_close_descriptor(&launch->files_fd);
  mem_close_descriptor(&launch->directory_fd);
  mem_close_descriptor(&launch->shim_fd);
  kernelspec_free_argv(launch->argv);
  environment_free(launch->environment);
}

static bool is_ipykernel(char *const *argv) {
  for (; argv[0] != NULL && argv[1] != NULL; argv++)
    if (strcmp(argv[0], "-m") == 0 &&
        (strcmp(argv[1], "ipykernel_launcher") == 0 ||
         strcmp(argv[1], "ipykernel") == 0))
      return true;
  return false;
}

char **launch_arguments(const struct kernelspec *spec,
                        const char *connection_file) {
  char **argv = kernelspec_expand_argv(spec, connection_file);
  if (argv == NULL || !is_ipykernel(argv))
    return argv;
  size_t count = 0;
  while (argv[count] != NULL)
    count++;
  argv = mem_grow(argv, count + 2, sizeof *argv);
  argv[count] = mem_copy_text("--HistoryManager.enabled=False");
  argv[count + 1] = NULL;
  return argv;
}

static int make_files(const struct keeper *keeper, const char *task,
                      struct launch *launch, struct err *err) {
  const struct places *places = &keeper->places;
  CLEANUP(mem_close_descriptor)
  int home = places_make_owned(places, places->tasks, task, 0755, err);
  if (home < 0)
    return -1;
  launch->files_fd = places_make_owned(places, home, "files", 0755, err);
  launch->files = mem_format("%s/tasks/%s/files", places->state, task);
  return launch->files_fd < 0 ? -1 : 0;
}

static int make_directories(const struct keeper *keeper, struct launch *launch,
                            struct err *err) {
  const struct places *places = &keeper->places;
  launch->directory = mem_format("%s/kernels/%s", places->run, launch->id);
  launch->connection_file =
      mem_format("%s/" CONNECTION_FILE, launch->directory);
  launch->directory_fd =
      fs_make_and_open(places->kernels, launch->id, 0700, err);
  launch->shim_fd = fs_make_and_open(places->shims, launch->id, 0700, err);
  return launch->directory_fd < 0 || launch->shim_fd < 0 ? -1 : 0;
}

static int write_connection(const char *kernelspec, const struct launch *launch,
                            struct err *err) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_LINE);
  if (connection_compose(launch->directory, kernelspec, &text, err) != 0)
    return -1;
  struct iovec part = {text.data, text.length};
  return fs_write_atomic(launch->directory_fd, CONNECTION_FILE, 0600, &part, 1,
                         FS_SYNC_NONE, err);
}

/* To a kernel without a user of its own; the jail gives it away otherwise. The
 * directory comes last: until then nobody else can put anything in the way of
 * what root does there. */
static int give_connection(const struct keeper *keeper,
                           const struct launch *launch, struct err *err) {
  const struct jail *jail = &keeper->places.jail;
  if (jail_host_has(keeper->jails, JAIL_MOUNT))
    return 0;
  if (jail->switch_user &&
      fchownat(launch->directory_fd, CONNECTION_FILE, jail->uid, jail->gid,
               AT_SYMLINK_NOFOLLOW) != 0)
    return err_errno(err, ERR_IO, errno,
                     "cannot give the connection file away");
  return places_give_away(&keeper->places, launch->directory_fd, err);
}

static int thread_count(const struct launch *launch) {
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  return jail_limits_threads(&launch->limits, (int)processors, MOST_THREADS);
}

static void compose_program(const struct keeper *keeper,
                            const struct task_record *task,
                            const struct kernelspec *spec,
                            struct launch *launch) {
  bool inside = jail_host_has(keeper->jails, JAIL_MOUNT);
  struct environment_order order = {
      .home = inside ? JAIL_WORKSPACE : launch->files,
      .user = inside ? JAIL_USER_NAME : keeper->places.user,
      .private_directory = inside ? JAIL_PRIVATE : launch->directory,
      .threads = thread_count(launch),
      .kernelspec = spec->env,
      .configured = keeper->conf->environment,
      .task = json_get(task->settings, "env"),
  };
  launch->environment = environment_build(&order);
  launch->argv = launch_arguments(spec, launch->connection_file);
  launch->kernelspec = mem_copy_text(spec->directory);
}

static int prepare(const struct keeper *keeper, const struct task_record *task,
                   struct launch *launch, struct err *err) {
  CLEANUP(kernelspec_done) struct kernelspec *spec = NULL;
  if (kernelspec_find(keeper->conf->kernelspec_path, task->kernelspec, &spec,
                      err) != 0) {
    if (err != NULL && err->kind == ERR_NOT_FOUND)
      err->kind = ERR_UNAVAILABLE;
    return -1;
  }
  if (jail_limits_read(keeper->conf, json_get(task->settings, "limits"),
                       &launch->limits, err) != 0 ||
      make_files(keeper, task->id, launch, err) != 0 ||
      make_directories(keeper, launch, err) != 0 ||
      write_connection(spec->name, launch, err) != 0 ||
      give_connection(keeper, launch, err) != 0)
    return -1;
  compose_program(keeper, task, spec, launch);
  return 0;
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
      .kernelspec = launch->kernelspec,
  };
  return jail_host_prepare(keeper->jails, &request, ret, err);
}

static int run(const struct keeper *keeper, const char *task,
               const struct launch *launch, struct shim_process *process,
               struct err *err) {
  CLEANUP(mem_free_pointer)
  char *title = mem_format("%s %s", launch->id, task);
  struct shim_order order = {
      .title = title,
      .argv = launch->argv,
      .environment = launch->environment,
      .directory = launch->shim_fd,
      .terminate_grace_ms = (int64_t)(keeper->conf->terminate_grace * 1000.0),
  };
  if (confine(keeper, launch, &order.jail, err) != 0)
    return -1;
  order.working_directory =
      jail_has(&order.jail, JAIL_MOUNT) ? JAIL_WORKSPACE : launch->files;
  int result = shim_start(&order, process, err);
  jail_host_started(&order.jail);
  return result;
}

/* Watched first, so that it is ended and cleared away like any other when it
 * cannot be recorded. */
static int enlist(struct keeper *keeper, const struct task_record *task,
                  const struct launch *launch,
                  const struct shim_process *process, struct kernel **ret,
                  struct err *err) {
  struct kernel_record record = {
      .id = (char *)launch->id,
      .task = task->id,
      .kernelspec = task->kernelspec,
      .pid = process->kernel_pid,
      .pid_start = process->kernel_start,
      .directory = launch->directory,
      .started_at = clock_wall_us(),
      .exit_code = -1,
      .memory_limit = jail_host_has(keeper->jails, JAIL_LIMIT_MEMORY)
                          ? launch->limits.memory
                          : 0,
  };
  int result = kernel_insert(keeper->store, &record, err);
  if (result != 0)
    record.task = NULL;
  struct kernel *kernel =
      registry_add(keeper, &record, process->pid, process->pid_start);
  if (result != 0) {
    registry_signal_shim(kernel, SIGQUIT, NULL);
    return err_wrap(err, "recording the kernel");
  }
  *ret = kernel;
  return 0;
}

static int attempt(struct keeper *keeper, const struct task_record *task,
                   struct launch *launch, struct kernel **ret,
                   struct err *err) {
  struct shim_process process;
  if (prepare(keeper, task, launch, err) == 0 &&
      run(keeper, task->id, launch, &process, err) == 0)
    return enlist(keeper, task, launch, &process, ret, err);
  jail_host_release(keeper->jails, launch->id, NULL);
  fs_remove_tree(keeper->places.kernels, launch->id, NULL);
  fs_remove_tree(keeper->places.shims, launch->id, NULL);
  return err_wrap(err, "the kernel cannot start");
}

int launch_kernel(struct keeper *keeper, const char *task_id,
                  struct kernel **ret, struct err *err) {
  CLEANUP(task_record_free) struct task_record task = {0};
  CLEANUP(launch_done)
  struct launch launch = {.directory_fd = -1, .shim_fd = -1, .files_fd = -1};
  if (task_get(keeper->store, task_id, &task, err) != 0)
    return -1;
  id_new(launch.id);
  return attempt(keeper, &task, &launch, ret, err);
}
