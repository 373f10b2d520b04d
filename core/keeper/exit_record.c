#include "core/keeper/exit_record.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "core/base/buf.h"
#include "core/base/fs.h"
#include "core/base/mem.h"

#define FILE_NAME "exit"

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
  char text[128];
  bool exited = record->exit_code >= 0;
  int length =
      snprintf(text, sizeof text, "%s %" PRId64 " %" PRId64 " %" PRId64 "\n",
               exited ? "exited" : "signaled",
               exited ? record->exit_code : record->signal, record->memory_peak,
               record->cpu_us);
  struct iovec part = {text, (size_t)length};
  return fs_write_atomic(directory, FILE_NAME, 0600, &part, 1, FS_SYNC_DATA,
                         err);
}

int exit_record_read(int directory, struct exit_record *ret, struct err *err) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_LINE);
  if (fs_read_file(directory, FILE_NAME, &text, err) != 0)
    return -1;
  char how[16] = "", end = 0;
  int64_t value, peak, cpu;
  int found =
      sscanf(buf_string(&text), "%15s %" SCNd64 " %" SCNd64 " %" SCNd64 "%c",
             how, &value, &peak, &cpu, &end);
  bool exited = strcmp(how, "exited") == 0;
  if (found != 5 || end != '\n' || value < 0 ||
      (!exited && strcmp(how, "signaled") != 0))
    return err_set(err, ERR_INVALID, "the exit record is garbled");
  *ret = (struct exit_record){.exit_code = exited ? value : -1,
                              .signal = exited ? 0 : value,
                              .memory_peak = peak,
                              .cpu_us = cpu};
  return 0;
}
