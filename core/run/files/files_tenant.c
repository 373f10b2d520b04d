#include "core/run/files/files_tenant.h"

#include <fcntl.h>

#include "core/base/fs.h"
#include "core/base/fs_usage.h"
#include "core/base/layout.h"
#include "core/base/mem.h"
#include "core/json/json.h"
#include "core/store/access/token.h"

static int64_t bytes_of(const struct engine *engine, const char *task,
                        int64_t most) {
  CLEANUP(mem_free_pointer) char *path = mem_format("%s/" LAYOUT_FILES, task);
  CLEANUP(mem_close_descriptor)
  int files = fs_open_beneath(engine_tasks_directory(engine), path,
                              O_RDONLY | O_DIRECTORY, 0, NULL);
  return files < 0
             ? 0
             : fs_usage_count(files, (struct fs_usage){most, INT64_MAX}).bytes;
}

int files_tenant_check(struct engine *engine, const char *tenant, int64_t most,
                       int64_t more, struct err *err) {
  CLEANUP(json_done) struct json *tasks = NULL;
  int64_t used = 0;
  if (token_list_tasks(engine_store(engine), tenant, &tasks, err) < 0)
    return -1;
  for (size_t i = 0; i < json_length(tasks) && used <= most; i++)
    used += bytes_of(engine, json_text(json_at(tasks, i)), most - used);
  if (more <= most - used)
    return 0;
  return err_set(err, ERR_NO_SPACE,
                 "this needs %lld bytes; the files of the tenant \"%s\" take "
                 "%lld of at most %lld (file_bytes of the token)",
                 (long long)more, tenant, (long long)used, (long long)most);
}
