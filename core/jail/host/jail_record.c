#include "core/jail/host/jail_record.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/base/fs.h"
#include "core/base/mem.h"

#define FILE_NAME "jail"

int jail_record_write(int directory, const struct jail_record *record,
                      struct err *err) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_SMALL);
  buf_format(&text, "uid %" PRId64 "\n", record->uid);
  if (cgroup_describe(record->group, &text) < 0)
    return err_set(err, ERR_INTERNAL, "the jail's record is too long");
  struct iovec part = {text.data, text.length};
  return fs_write_atomic(directory, FILE_NAME, 0600, &part, 1, FS_SYNC_NONE,
                         err);
}

int jail_record_read(int directory, struct jail_record *ret, struct err *err) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_SMALL);
  if (fs_read_file(directory, FILE_NAME, &text, err) < 0)
    return -1;
  int64_t uid;
  int length = 0;
  if (sscanf(buf_string(&text), "uid %" SCNd64 "\n%n", &uid, &length) != 1 ||
      uid < -1 || length == 0)
    return err_set(err, ERR_INVALID, "the jail's record is garbled");
  struct cgroup *group = NULL;
  if (cgroup_parse(buf_string(&text) + length, &group, err) < 0)
    return -1;
  *ret = (struct jail_record){uid, group};
  return 0;
}
