/* Where a zygote's modules come from, and whether that is as it was. */
#include <stdlib.h>
#include <sys/stat.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/keeper/zygote/zygote_private.h"

void zygote_clear_packages(struct zygote *zygote) {
  for (size_t i = 0; i < zygote->stamp_count; i++)
    free(zygote->stamps[i].path);
  free(zygote->stamps);
  zygote->stamps = NULL;
  zygote->stamp_count = 0;
}

int zygote_read_packages(struct zygote *zygote, const char *text, size_t length,
                         struct err *err) {
  static const struct json_rules rules = {.max_bytes = BUF_SMALL,
                                          .max_depth = 8};
  CLEANUP(json_done) struct json *told = NULL;
  if (json_parse(text, length, &rules, &told, err) < 0)
    return -1;
  const struct json *list = json_get(told, "watched");
  size_t count = json_length(list);
  if (count == 0)
    return err_set(err, ERR_PROTOCOL, "it says nothing of its packages");
  zygote->stamps = mem_array(count, sizeof *zygote->stamps);
  zygote->stamp_count = count;
  for (size_t i = 0; i < count; i++) {
    const char *path = json_text(json_at(json_at(list, i), 0));
    zygote->stamps[i].path = mem_copy_text(path == NULL ? "" : path);
    zygote->stamps[i].modified_ns =
        json_as_integer(json_at(json_at(list, i), 1), -1);
  }
  return 0;
}

static bool has_changed(const struct zygote_stamp *stamp) {
  struct stat status;
  if (stat(stamp->path, &status) != 0)
    return true;
  return (int64_t)status.st_mtim.tv_sec * CLOCK_S + status.st_mtim.tv_nsec !=
         stamp->modified_ns;
}

const char *zygote_changed_package(const struct zygote *zygote) {
  for (size_t i = 0; i < zygote->stamp_count; i++)
    if (has_changed(&zygote->stamps[i]))
      return zygote->stamps[i].path;
  return NULL;
}
