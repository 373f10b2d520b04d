#include "core/jail/watch/jail_notice.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/mem.h"

#define FILE_NAME "notice"

struct jail_notice jail_notice_read(int directory) {
  struct jail_notice notice = {0};
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_LINE);
  if (fs_read_file(directory, FILE_NAME, &text, NULL) == 0 &&
      sscanf(buf_string(&text), "memory %" SCNd64 " workspace %" SCNd64,
             &notice.memory_at, &notice.workspace_at) != 2)
    notice = (struct jail_notice){0};
  return notice;
}

void jail_notice_write(int directory, enum exit_cause cause) {
  struct jail_notice notice = jail_notice_read(directory);
  if (cause == EXIT_MEMORY)
    notice.memory_at = clock_wall_us();
  else if (cause == EXIT_WORKSPACE)
    notice.workspace_at = clock_wall_us();
  char text[128];
  int length =
      snprintf(text, sizeof text, "memory %" PRId64 " workspace %" PRId64 "\n",
               notice.memory_at, notice.workspace_at);
  struct iovec part = {text, (size_t)length};
  fs_write_atomic(directory, FILE_NAME, 0600, &part, 1, FS_SYNC_NONE, NULL);
}
