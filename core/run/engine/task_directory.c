#include "core/run/engine/task_directory.h"

#include <fcntl.h>

#include "core/base/fs.h"
#include "core/base/layout.h"
#include "core/base/mem.h"

static int fail(const char *task, struct err *err) {
  if (err != NULL && err->kind != ERR_NO_SPACE && err->kind != ERR_UNAVAILABLE)
    err->kind = ERR_IO;
  return err_wrap(err, "directory of task %s", task);
}

int task_directory_open(struct engine *engine, const char *task,
                        struct err *err) {
  CLEANUP(mem_close_descriptor)
  int directory =
      fs_make_and_open(engine_tasks_directory(engine), task, 0755, err);
  if (directory < 0)
    return fail(task, err);
  static const char *const parts[] = {LAYOUT_FILES, LAYOUT_ARTIFACTS};
  for (size_t i = 0; i < COUNT_OF(parts); i++) {
    CLEANUP(mem_close_descriptor)
    int part = fs_make_and_open(directory, parts[i], 0755, err);
    if (part < 0)
      return fail(task, err);
  }
  return mem_steal_descriptor(&directory);
}

int task_directory_open_files(int task_directory, struct err *err) {
  return fs_open_beneath(task_directory, LAYOUT_FILES, O_RDONLY | O_DIRECTORY,
                         0, err);
}
