#include "core/process/exit_record.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "core/base/buf.h"
#include "core/base/fs.h"
#include "core/base/layout.h"
#include "core/base/mem.h"

static const char *const causes[] = {[EXIT_PLAIN] = "plain",
                                     [EXIT_MEMORY] = "memory",
                                     [EXIT_WORKSPACE] = "workspace",
                                     [EXIT_RUN_DIRECTORY] = "run"};

static int64_t microseconds(struct timeval time) {
  return (int64_t)time.tv_sec * 1000000 + time.tv_usec;
}

struct exit_record exit_record_of(int wait_status, const struct rusage *usage) {
  bool exited = WIFEXITED(wait_status);
  return (struct exit_record){
      .exit_code = exited ? WEXITSTATUS(wait_status) : -1,
      .signal = exited ? 0 : WTERMSIG(wait_status),
      .memory_peak = (int64_t)usage->ru_maxrss * 1024,
      .cpu_us = microseconds(usage->ru_utime) + microseconds(usage->ru_stime),
  };
}

int exit_record_write(int directory, const struct exit_record *record,
                      struct err *err) {
  char text[192];
  bool exited = record->exit_code >= 0;
  int length =
      snprintf(text, sizeof text,
               "%s %" PRId64 " %" PRId64 " %" PRId64 " %s %" PRId64 "\n",
               exited ? "exited" : "signaled",
               exited ? record->exit_code : record->signal, record->memory_peak,
               record->cpu_us, causes[record->cause], record->memory_limit);
  struct iovec part = {text, (size_t)length};
  return fs_write_atomic(directory, LAYOUT_EXIT, 0600, &part, 1, FS_SYNC_DATA,
                         err);
}

static int parse_cause(const char *name) {
  for (size_t i = 0; i < COUNT_OF(causes); i++)
    if (strcmp(name, causes[i]) == 0)
      return (int)i;
  return -1;
}

/* How many fields there are, and whether that is all. */
static int scan(const char *text, char how[16], int64_t *value,
                struct exit_record *record, char cause[16]) {
  int length = 0, found;
  found = sscanf(
      text, "%15s %" SCNd64 " %" SCNd64 " %" SCNd64 "%n %15s %" SCNd64 "%n",
      how, value, &record->memory_peak, &record->cpu_us, &length, cause,
      &record->memory_limit, &length);
  return strcmp(text + length, "\n") == 0 ? found : 0;
}

int exit_record_read(int directory, struct exit_record *ret, struct err *err) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_LINE);
  if (fs_read_file(directory, LAYOUT_EXIT, &text, err) < 0)
    return -1;
  char how[16] = "", cause[16] = "plain";
  int64_t value = -1;
  struct exit_record record = {.exit_code = -1};
  int found = scan(buf_string(&text), how, &value, &record, cause);
  bool exited = strcmp(how, "exited") == 0;
  if ((found != 4 && found != 6) || value < 0 || parse_cause(cause) < 0 ||
      (!exited && strcmp(how, "signaled") != 0))
    return err_set(err, ERR_INVALID, "the exit record is garbled");
  if (exited)
    record.exit_code = value;
  else
    record.signal = value;
  record.cause = (enum exit_cause)parse_cause(cause);
  *ret = record;
  return 0;
}
