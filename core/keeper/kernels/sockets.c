#include "core/keeper/kernels/sockets.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/log.h"
#include "core/base/mem.h"

/* shell, iopub, stdin, control, heartbeat (jupyter_client, "Connection files")
 */
#define SOCKETS 5

static int count_sockets(const char *path) {
  CLEANUP(mem_close_descriptor) int directory = fs_open_directory(path, NULL);
  DIR *listing = directory < 0 ? NULL : fs_list(directory);
  int count = 0;
  if (listing == NULL)
    return 0;
  struct stat status;
  for (const struct dirent *entry; (entry = readdir(listing)) != NULL;)
    count +=
        fstatat(directory, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISSOCK(status.st_mode);
  closedir(listing);
  return count;
}

/* True when there is nothing to wait for any more. */
static bool look(struct kernel *kernel) {
  struct err err = {0};
  if (kernel->kernel_end.descriptor < 0)
    return true;
  if (count_sockets(kernel->directory) < SOCKETS)
    return false;
  if (jail_host_close_run(kernel->keeper->jails, kernel->kernel_end.descriptor,
                          kernel->directory, &err) < 0)
    log_warning("kernel %s: %s", kernel->id, err.text);
  return true;
}

static void on_event(void *context) {
  struct keeper *keeper = context;
  _Alignas(struct inotify_event) char
      bytes[sizeof(struct inotify_event) + NAME_MAX + 1];
  ssize_t got;
  while ((got = read(keeper->sockets.descriptor, bytes, sizeof bytes)) > 0)
    for (char *next = bytes; next < bytes + got;) {
      const struct inotify_event *event = (const void *)next;
      next += sizeof *event + event->len;
      for (struct kernel *kernel = keeper->kernels; kernel != NULL;
           kernel = kernel->next)
        if (kernel->sockets == event->wd && look(kernel)) {
          inotify_rm_watch(keeper->sockets.descriptor, event->wd);
          kernel->sockets = -1;
        }
    }
}

void sockets_open(struct keeper *keeper) {
  keeper->sockets = (struct loop_source){
      inotify_init1(IN_CLOEXEC | IN_NONBLOCK), on_event, keeper};
  if (keeper->sockets.descriptor >= 0 &&
      loop_add(&keeper->loop, &keeper->sockets, NULL) < 0)
    mem_close_descriptor(&keeper->sockets.descriptor);
}

void sockets_close(struct keeper *keeper) {
  loop_remove(&keeper->loop, &keeper->sockets);
}

void sockets_await(struct kernel *kernel) {
  struct keeper *keeper = kernel->keeper;
  if (keeper->sockets.descriptor < 0 ||
      !jail_host_has(keeper->jails, JAIL_MOUNT))
    return;
  kernel->sockets = inotify_add_watch(keeper->sockets.descriptor,
                                      kernel->directory, IN_CREATE);
  if (kernel->sockets < 0 || !look(kernel))
    return;
  inotify_rm_watch(keeper->sockets.descriptor, kernel->sockets);
  kernel->sockets = -1;
}
