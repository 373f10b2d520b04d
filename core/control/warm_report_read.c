/* The app's part of warm.json, without all that the keeper needs for its own.
 */
#include "core/base/fs.h"
#include "core/base/layout.h"
#include "core/base/mem.h"
#include "core/keeper/warm_report.h"

int warm_report_read(const char *run_directory, struct json **ret,
                     struct err *err) {
  CLEANUP(mem_close_descriptor)
  int directory = fs_open_directory(run_directory, err);
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_SMALL);
  if (directory < 0 ||
      fs_read_file(directory, LAYOUT_WARM_REPORT, &text, err) < 0)
    return -1;
  return json_parse(buf_string(&text), text.length, &JSON_RULES_STORE, ret,
                    err);
}
