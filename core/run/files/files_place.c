#include "core/run/files/files_place.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/run/accept.h"
#include "core/run/engine/engine_private.h"
#include "core/run/engine/task_directory.h"
#include "core/store/task.h"

static int find_task(struct engine *engine, const char *task, const char *by,
                     struct err *err) {
  CLEANUP(task_record_free) struct task_record record = {0};
  return by == NULL ? task_get(engine->store, task, &record, err)
                    : accept_task(engine, task, by, err);
}

int files_place_open(struct engine *engine, const char *task, const char *by,
                     struct files_place *ret, struct err *err) {
  if (find_task(engine, task, by, err) < 0)
    return -1;
  CLEANUP(mem_close_descriptor)
  int directory = task_directory_open(engine, task, err);
  int files = directory < 0 ? -1 : task_directory_open_files(directory, err);
  if (files < 0)
    return -1;
  *ret = (struct files_place){mem_steal_descriptor(&directory), files};
  return 0;
}

void files_place_close(struct files_place *place) {
  mem_close_descriptor(&place->files);
  mem_close_descriptor(&place->task);
}

int files_place_lock(const struct files_place *place, struct err *err) {
  while (flock(place->task, LOCK_EX) < 0)
    if (errno != EINTR)
      return err_errno(err, ERR_IO, errno, "cannot lock the task's files");
  return 0;
}

bool files_place_is_name(const char *name) {
  if (!fs_is_name(name) || !utf8_is_valid(name, strlen(name)))
    return false;
  for (const char *at = name; *at != '\0'; at++)
    if ((unsigned char)*at < ' ' || *at == 0x7f)
      return false;
  return true;
}

int files_place_check(const char *path, struct err *err) {
  CLEANUP(mem_free_pointer) char *parts = mem_copy_text(path);
  char *rest = parts;
  for (char *part; (part = strsep(&rest, "/")) != NULL;)
    if (!files_place_is_name(part))
      return err_set(err, ERR_INVALID,
                     "a path is made of names in UTF-8, of at most 255 bytes "
                     "each, without control characters; \".\" and \"..\" are "
                     "none");
  return 0;
}

int files_place_open_parent(int files, const char *path, const char **name,
                            struct err *err) {
  CLEANUP(mem_close_descriptor) int at = dup(files);
  if (at < 0)
    return err_errno(err, ERR_IO, errno, "cannot open the files");
  for (const char *slash; (slash = strchr(path, '/')) != NULL;
       path = slash + 1) {
    CLEANUP(mem_free_pointer)
    char *part = mem_copy_bytes(path, (size_t)(slash - path));
    int next = fs_make_and_open(at, part, 0775, err);
    if (next < 0)
      return -1;
    close(at);
    at = next;
  }
  *name = path;
  return mem_steal_descriptor(&at);
}
