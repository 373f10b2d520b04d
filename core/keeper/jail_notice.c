#include "core/keeper/jail_notice.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/base/fs.h"
#include "core/base/mem.h"

#define FILE_NAME "notice"

struct jail_notice jail_notice_read(int directory) {
  struct jail_notice notice = {0};
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_LINE);
  if (fs_read_file(directory, FILE_NAME, &text, NULL) == 0 &&
      sscanf(buf_string(&text), "memory %" SCNd64 " workspace %" SCNd64,
             &notice.memory, &notice.workspace) != 2)
    notice = (struct jail_notice){0};
  return notice;
}

void jail_notice_add(int directory, enum exit_cause cause) {
  struct jail_notice notice = jail_notice_read(directory);
  notice.memory += cause == EXIT_MEMORY;
  notice.workspace += cause == EXIT_WORKSPACE;
  char text[128];
  int length =
      snprintf(text, sizeof text, "memory %" PRId64 " workspace %" PRId64 "\n",
               notice.memory, notice.workspace);
  struct iovec part = {text, (size_t)length};
  fs_write_atomic(directory, FILE_NAME, 0600, &part, 1, FS_SYNC_NONE, NULL);
}
