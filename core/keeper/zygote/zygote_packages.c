#include "core/keeper/zygote/zygote_packages.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/json/json.h"

void zygote_packages_clear(struct zygote_packages *packages) {
  for (size_t i = 0; i < packages->count; i++)
    free(packages->stamps[i].path);
  free(packages->stamps);
  *packages = (struct zygote_packages){0};
}

int zygote_packages_read(const char *text, size_t length,
                         struct zygote_packages *ret, struct err *err) {
  static const struct json_rules rules = {.max_bytes = BUF_SMALL,
                                          .max_depth = 8};
  CLEANUP(json_done) struct json *told = NULL;
  if (json_parse(text, length, &rules, &told, err) < 0)
    return -1;
  const struct json *list = json_get(told, "watched");
  size_t count = json_length(list);
  if (count == 0)
    return err_set(err, ERR_PROTOCOL, "it says nothing of its packages");
  struct zygote_stamp *stamps = mem_array(count, sizeof *stamps);
  for (size_t i = 0; i < count; i++) {
    const char *path = json_text(json_at(json_at(list, i), 0));
    stamps[i].path = mem_copy_text(path == NULL ? "" : path);
    stamps[i].modified_ns = json_as_integer(json_at(json_at(list, i), 1), -1);
  }
  *ret = (struct zygote_packages){stamps, count};
  return 0;
}

static bool has_changed(const struct zygote_stamp *stamp) {
  struct stat status;
  if (stat(stamp->path, &status) < 0)
    return true;
  return (int64_t)status.st_mtim.tv_sec * CLOCK_S + status.st_mtim.tv_nsec !=
         stamp->modified_ns;
}

const char *zygote_packages_changed(const struct zygote_packages *packages) {
  for (size_t i = 0; i < packages->count; i++)
    if (has_changed(&packages->stamps[i]))
      return packages->stamps[i].path;
  return NULL;
}
