#include "core/upkeep/gc_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/id.h"
#include "core/base/layout.h"
#include "core/base/mem.h"
#include "core/store/task.h"
#include "core/text/string.h"

/* Names of what is being removed: nobody looks for them. */
#define DOOMED ".gc-"

static void doomed_name(char name[64]) {
  char random[17];
  id_random_hex(random, 8);
  snprintf(name, 64, DOOMED "%s", random);
}

static bool is_old(const struct stat *status) {
  return status->st_mtim.tv_sec < clock_wall_us() / 1000000 - GC_GRACE_S;
}

static bool is_old_file(int directory, const char *name, struct stat *status) {
  return fstatat(directory, name, status, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISREG(status->st_mode) && is_old(status);
}

/* A run may come to need the file at any moment, and then renews its time or,
 * when it is not there, writes it again. So it is taken away first and looked
 * at then. */
static void remove_file(const struct gc_files *files, int directory,
                        const char *name) {
  struct stat status;
  char doomed[64];
  doomed_name(doomed);
  if (!is_old_file(directory, name, &status) ||
      renameat(directory, name, directory, doomed) != 0)
    return;
  if (!is_old_file(directory, doomed, &status) &&
      renameat2(directory, doomed, directory, name, RENAME_NOREPLACE) == 0)
    return;
  if (unlinkat(directory, doomed, 0) != 0)
    return;
  files->removed->files++;
  files->removed->bytes += status.st_size;
}

static int open_part(const struct gc_files *files, const char *task,
                     const char *part) {
  CLEANUP(mem_free_pointer) char *path = mem_format("%s%s", task, part);
  return fs_open_beneath(files->tasks, path, O_RDONLY | O_DIRECTORY, 0, NULL);
}

void gc_remove_artifacts(const struct gc_files *files,
                         const struct retention_files *gone) {
  for (size_t i = 0; i < gone->count; i++) {
    CLEANUP(mem_close_descriptor)
    int directory = open_part(files, gone->list[i].task, "/" LAYOUT_ARTIFACTS);
    if (directory >= 0 && fs_is_name(gone->list[i].name))
      remove_file(files, directory, gone->list[i].name);
  }
}

/* Called for each name but "." and "..". */
typedef void see_name(const struct gc_files *files, const char *task,
                      int directory, const char *name);

static void walk(const struct gc_files *files, const char *task, int directory,
                 see_name *see) {
  int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *stream = copy < 0 ? NULL : fdopendir(copy);
  if (stream == NULL) {
    mem_close_descriptor(&copy);
    return;
  }
  for (const struct dirent *entry; (entry = readdir(stream)) != NULL;)
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
      see(files, task, directory, entry->d_name);
  closedir(stream);
}

/* What fs_write_atomic or we ourselves left when we were killed. */
static bool is_left_behind(const char *name) {
  return name[0] == '.' && (string_ends_with(name, ".tmp") ||
                            strncmp(name, DOOMED, strlen(DOOMED)) == 0);
}

static void see_artifact(const struct gc_files *files, const char *task,
                         int directory, const char *name) {
  struct stat status;
  if (!is_old_file(directory, name, &status))
    return;
  if (is_left_behind(name) ||
      retention_knows_artifact(files->store, task, name, NULL) == 0)
    remove_file(files, directory, name);
}

static void see_file(const struct gc_files *files, const char *task,
                     int directory, const char *name) {
  (void)task;
  if (is_left_behind(name))
    remove_file(files, directory, name);
}

void gc_remove_orphans(const struct gc_files *files, const char *task) {
  CLEANUP(mem_close_descriptor) int directory = open_part(files, task, "");
  CLEANUP(mem_close_descriptor)
  int artifacts = open_part(files, task, "/" LAYOUT_ARTIFACTS);
  if (directory >= 0)
    walk(files, task, directory, see_file);
  if (artifacts >= 0)
    walk(files, task, artifacts, see_artifact);
}

static bool lives(const struct gc_files *files, const char *task) {
  CLEANUP(task_record_free) struct task_record record = {0};
  struct err err = {0};
  return task_get(files->store, task, &record, &err) >= 0 ||
         err.kind != ERR_NOT_FOUND;
}

/* Its name is taken away first: a task that is made anew meanwhile gets a
 * directory of its own. */
int gc_remove_task(const struct gc_files *files, const char *task,
                   struct err *err) {
  char doomed[64];
  doomed_name(doomed);
  if (renameat(files->tasks, task, files->tasks, doomed) != 0)
    return errno == ENOENT
               ? 0
               : err_errno(err, ERR_IO, errno, "files of task %s", task);
  if (lives(files, task) && renameat2(files->tasks, doomed, files->tasks, task,
                                      RENAME_NOREPLACE) == 0)
    return 0;
  if (fs_remove_tree(files->tasks, doomed, err) < 0)
    return err_wrap(err, "files of task %s", task);
  files->removed->tasks++;
  return 0;
}

static void see_directory(const struct gc_files *files, const char *task,
                          int directory, const char *name) {
  (void)task;
  struct stat status;
  if (is_left_behind(name))
    fs_remove_tree(directory, name, NULL);
  else if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           is_old(&status) &&
           retention_knows_task(files->store, name, NULL) == 0)
    files->removed->unknown++;
}

void gc_look_at_directories(const struct gc_files *files) {
  walk(files, NULL, files->tasks, see_directory);
}
