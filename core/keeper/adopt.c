#include "core/keeper/adopt.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/fs.h"
#include "core/base/layout.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/keeper/kernels/registry.h"
#include "core/keeper/kernels/sockets.h"
#include "core/process/process.h"
#include "core/process/strays.h"

struct shim_found {
  pid_t pid;
  int64_t start;
  char id[ID_UUID_SIZE];
  bool known; /* the table has its kernel */
};

struct shims {
  char directory[PATH_MAX]; /* that they are in */
  struct shim_found *list;
  size_t count;
};

static void shims_free(struct shims *shims) { free(shims->list); }

static bool is_our_shim(int proc, pid_t pid) {
  char path[32], name[32];
  struct stat status;
  snprintf(path, sizeof path, "%d", (int)pid);
  return fstatat(proc, path, &status, 0) == 0 && status.st_uid == geteuid() &&
         process_read(proc, pid, "comm", name, sizeof name) == 0 &&
         strcmp(name, SHIM_NAME "\n") == 0;
}

/* A shim's working directory is <shims>/<id>, also when that was removed. */
static bool read_id(int proc, pid_t pid, const char *shims,
                    char id[ID_UUID_SIZE]) {
  char path[32], directory[PATH_MAX];
  snprintf(path, sizeof path, "%d/cwd", (int)pid);
  ssize_t length = readlinkat(proc, path, directory, sizeof directory - 1);
  size_t before = strlen(shims);
  if (length < (ssize_t)(before + ID_UUID_SIZE))
    return false;
  directory[length] = '\0';
  if (strncmp(directory, shims, before) != 0 || directory[before] != '/')
    return false;
  snprintf(id, ID_UUID_SIZE, "%.36s", directory + before + 1);
  return id_is_uuid(id);
}

static void add_if_shim(int proc, pid_t pid, void *context) {
  struct shims *shims = context;
  struct shim_found found = {.pid = pid};
  if (!is_our_shim(proc, pid) ||
      !read_id(proc, pid, shims->directory, found.id))
    return;
  found.start = process_start_time(pid);
  shims->list = mem_grow(shims->list, shims->count + 1, sizeof *shims->list);
  shims->list[shims->count++] = found;
}

/* Those of our directory only: other instances on this machine have shims, too.
 */
static int find_shims(const struct keeper *keeper, struct shims *ret,
                      struct err *err) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", keeper->places.shims);
  ssize_t length = readlink(path, ret->directory, sizeof ret->directory - 1);
  if (length < 0 || process_each(add_if_shim, ret) < 0)
    return err_errno(err, ERR_IO, errno, "cannot read /proc");
  return 0;
}

static struct shim_found *find_shim(const struct shims *shims, const char *id) {
  for (size_t i = 0; i < shims->count; i++)
    if (strcmp(shims->list[i].id, id) == 0)
      return &shims->list[i];
  return NULL;
}

static void adopt_row(struct keeper *keeper, const struct kernel_record *record,
                      const struct shims *shims) {
  struct shim_found *shim = find_shim(shims, record->id);
  if (shim != NULL)
    shim->known = true;
  struct kernel *kernel =
      registry_add(keeper, record, shim == NULL ? 0 : shim->pid,
                   shim == NULL ? 0 : shim->start);
  bool alive = shim != NULL && !registry_is_dead(kernel);
  if (alive)
    sockets_await(kernel);
  log_set_task(record->task);
  log_info("kernel %s %s", record->id,
           alive ? "is adopted" : "ended while no keeper ran");
  log_set_task(NULL);
}

static int adopt_rows(struct keeper *keeper, const struct shims *shims,
                      struct err *err) {
  struct kernel_record *records = NULL;
  size_t count = 0;
  if (kernel_list_alive(keeper->store, &records, &count, err) < 0)
    return -1;
  for (size_t i = 0; i < count; i++)
    adopt_row(keeper, &records[i], shims);
  kernel_list_free(records, count);
  return 0;
}

static void end_stray(struct keeper *keeper, const struct shim_found *shim) {
  CLEANUP(mem_free_pointer)
  char *directory =
      mem_format("%s/" LAYOUT_KERNELS "/%s", keeper->places.run, shim->id);
  struct kernel_record record = {.id = (char *)shim->id,
                                 .directory = directory};
  struct kernel *kernel = registry_add(keeper, &record, shim->pid, shim->start);
  registry_discard(kernel);
  log_warning("kernel %s is %s: it is ended", shim->id,
              keeper->store == NULL ? "found" : "in no table");
}

/* What was written down of it tells what is left. */
static void release_jail(struct keeper *keeper, const char *id) {
  CLEANUP(mem_close_descriptor)
  int shim = fs_open_beneath(keeper->places.shims, id, O_RDONLY | O_DIRECTORY,
                             0, NULL);
  if (shim < 0)
    return;
  jail_host_adopt(keeper->jails, id, shim);
  jail_host_release(keeper->jails, id);
}

static void sweep(struct keeper *keeper, int parent) {
  DIR *listing = fs_list(parent);
  if (listing == NULL)
    return;
  for (const struct dirent *entry; (entry = readdir(listing)) != NULL;) {
    const char *name = entry->d_name;
    if (!id_is_uuid(name) || registry_find(keeper, name) != NULL)
      continue;
    CLEANUP(mem_free_pointer)
    char *directory =
        mem_format("%s/" LAYOUT_KERNELS "/%s", keeper->places.run, name);
    strays_kill(directory);
    release_jail(keeper, name);
    fs_remove_tree(parent, name, NULL);
    log_info("what kernel %s left is removed", name);
  }
  closedir(listing);
}

int adopt_all(struct keeper *keeper, struct err *err) {
  CLEANUP(shims_free) struct shims shims = {0};
  if (find_shims(keeper, &shims, err) < 0 ||
      (keeper->store != NULL && adopt_rows(keeper, &shims, err) < 0))
    return -1;
  for (size_t i = 0; i < shims.count; i++)
    if (!shims.list[i].known)
      end_stray(keeper, &shims.list[i]);
  sweep(keeper, keeper->places.kernels);
  if (keeper->store != NULL)
    sweep(keeper, keeper->places.shims);
  jail_host_sweep(keeper->jails);
  return 0;
}
