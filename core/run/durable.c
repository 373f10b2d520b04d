#include "core/run/durable.h"

#include <fcntl.h>

#include "core/base/layout.h"
#include "core/base/mem.h"
#include "core/run/engine_private.h"

void durable_artifacts(struct engine *engine, int task_directory,
                       const struct media *media, size_t count) {
  if (engine->later == NULL || count == 0)
    return;
  CLEANUP(mem_close_descriptor)
  int directory = fs_open_beneath(task_directory, LAYOUT_ARTIFACTS,
                                  O_RDONLY | O_DIRECTORY, 0, NULL);
  for (size_t i = 0; directory >= 0 && i < count; i++) {
    CLEANUP(mem_close_descriptor)
    int file = fs_open_beneath(directory, media[i].name, O_RDONLY | O_NONBLOCK,
                               0, NULL);
    struct stat status;
    if (file >= 0 && fstat(file, &status) == 0)
      fs_later_add(engine->later, &status, file, directory);
  }
}
