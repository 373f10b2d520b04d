#include "core/control/control_report.h"

#include "core/base/fs.h"
#include "core/base/mem.h"

int control_report_write(int directory, const char *name,
                         const struct json *report, struct err *err) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_SMALL);
  if (json_write(report, &text) < 0 || buf_byte(&text, '\n') < 0)
    return err_set(err, ERR_INTERNAL, "the report %s is too long", name);
  struct iovec part = {text.data, text.length};
  return fs_write_atomic(directory, name, 0644, &part, 1, FS_SYNC_NONE, err);
}

int control_report_read(const char *run_directory, const char *name,
                        struct json **ret, struct err *err) {
  CLEANUP(mem_close_descriptor)
  int directory = fs_open_directory(run_directory, err);
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_SMALL);
  if (directory < 0 || fs_read_file(directory, name, &text, err) < 0)
    return -1;
  return json_parse(buf_string(&text), text.length, &JSON_RULES_STORE, ret,
                    err);
}
