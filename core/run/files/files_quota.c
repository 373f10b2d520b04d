#include "core/run/files/files_quota.h"

#include <fcntl.h>

#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/process/kernel_limits.h"
#include "core/run/engine/engine_private.h"
#include "core/store/task.h"

#define BLOCK 4096
#define DISK_BLOCK 512 /* of st_blocks (stat(2)) */

struct fs_usage files_quota_of_file(int files, const char *path,
                                    int64_t bytes) {
  struct fs_usage more = {(bytes + BLOCK - 1) / BLOCK * BLOCK, 1};
  CLEANUP(mem_close_descriptor)
  int there = fs_open_beneath(files, path, O_PATH | O_NOFOLLOW, 0, NULL);
  struct stat status;
  if (there >= 0 && fstat(there, &status) == 0) {
    more.files = 0;
    if (S_ISREG(status.st_mode) && status.st_nlink == 1)
      more.bytes -= (int64_t)status.st_blocks * DISK_BLOCK;
  }
  return more;
}

int files_quota_open(struct engine *engine, const char *task, int files,
                     struct files_quota *ret, struct err *err) {
  CLEANUP(task_record_free) struct task_record record = {0};
  struct kernel_limits limits;
  if (task_get(engine->store, task, &record, err) < 0 ||
      kernel_limits_read(engine->conf, json_get(record.settings, "limits"),
                         &limits, err) < 0)
    return -1;
  ret->most = (struct fs_usage){limits.workspace_bytes, limits.workspace_files};
  ret->used = fs_usage_count(files, ret->most);
  return 0;
}

static int refuse(const char *limit, const char *unit, int64_t most,
                  int64_t used, int64_t needed, struct json **details,
                  struct err *err) {
  if (details != NULL) {
    json_free(*details);
    *details = json_object();
    json_set_text(*details, "limit", limit);
    json_set_integer(*details, "most", most);
    json_set_integer(*details, "used", used);
    json_set_integer(*details, "needed", needed);
  }
  return err_set(err, ERR_NO_SPACE,
                 "this needs %lld %s; the task's files take %lld of at most "
                 "%lld (limits.%s)",
                 (long long)needed, unit, (long long)used, (long long)most,
                 limit);
}

int files_quota_check(const struct files_quota *quota, struct fs_usage more,
                      struct json **details, struct err *err) {
  const struct fs_usage *used = &quota->used, *most = &quota->most;
  if (more.bytes > 0 && more.bytes > most->bytes - used->bytes)
    return refuse("workspace_bytes", "bytes", most->bytes, used->bytes,
                  more.bytes, details, err);
  if (more.files > 0 && more.files > most->files - used->files)
    return refuse("workspace_files", "names", most->files, used->files,
                  more.files, details, err);
  return 0;
}
