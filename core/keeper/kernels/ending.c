#include "core/keeper/kernels/ending.h"

#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/fs.h"
#include "core/base/layout.h"
#include "core/base/mem.h"

static const struct {
  enum kernel_end end;
  const char *reason;
} asked_ends[] = {
    {KERNEL_END_STOPPED, "Somebody asked for it to be stopped."},
    {KERNEL_END_RESTARTED, "Somebody asked for a new kernel."},
    {KERNEL_END_KILLED, "It did not answer an interrupt."},
    {KERNEL_END_CULLED, "It was unused for too long."},
    {KERNEL_END_START, "It did not become ready in time."},
};

enum kernel_end ending_parse(const char *name) {
  for (size_t i = 0; i < COUNT_OF(asked_ends); i++)
    if (strcmp(name, kernel_end_name(asked_ends[i].end)) == 0)
      return asked_ends[i].end;
  return KERNEL_END_NONE;
}

static const char *default_reason(enum kernel_end asked) {
  for (size_t i = 0; i < COUNT_OF(asked_ends); i++)
    if (asked_ends[i].end == asked)
      return asked_ends[i].reason;
  return "";
}

/* Signals that a process raises by its own fault. */
static bool is_crash(int64_t number) {
  static const int crashes[] = {SIGSEGV, SIGBUS,  SIGFPE, SIGILL,
                                SIGABRT, SIGTRAP, SIGSYS};
  for (size_t i = 0; i < COUNT_OF(crashes); i++)
    if (crashes[i] == number)
      return true;
  return false;
}

static void describe_signal(int64_t number, char *text, size_t size) {
  const char *name = sigabbrev_np((int)number);
  const char *meaning = sigdescr_np((int)number);
  char label[80];
  snprintf(label, sizeof label, "signal %" PRId64 " (SIG%s, %s)", number,
           name == NULL ? "?" : name, meaning == NULL ? "unknown" : meaning);
  if (is_crash(number))
    snprintf(text, size, "It crashed: %s.", label);
  else if (number == SIGKILL)
    snprintf(text, size,
             "It was ended by %s, by somebody or by the system for lack of "
             "memory.",
             label);
  else
    snprintf(text, size, "It was ended by %s.", label);
}

static double mebibytes(int64_t bytes) {
  return (double)bytes / (1024.0 * 1024.0);
}

static void describe_cause(struct ending *ending,
                           const struct exit_record *record) {
  size_t size = sizeof ending->reason;
  ending->end =
      record->cause == EXIT_MEMORY ? KERNEL_END_OOM : KERNEL_END_KILLED;
  if (record->cause == EXIT_MEMORY)
    snprintf(
        ending->reason, size,
        "It ran out of memory: it may use %.0f MiB, and had used %.0f MiB.",
        mebibytes(record->memory_limit), mebibytes(record->memory_peak));
  else if (record->cause == EXIT_WORKSPACE)
    snprintf(ending->reason, size,
             "Its files stayed beyond the size of the workspace.");
  else
    snprintf(ending->reason, size, "It filled the directory of its sockets.");
}

static void describe(struct ending *ending, const struct exit_record *record) {
  size_t size = sizeof ending->reason;
  if (record == NULL) {
    ending->end = KERNEL_END_VANISHED;
    snprintf(ending->reason, size,
             "It ended while nobody watched; how is not known.");
  } else if (record->cause != EXIT_PLAIN) {
    describe_cause(ending, record);
  } else if (record->exit_code >= 0) {
    ending->end = KERNEL_END_EXIT;
    snprintf(ending->reason, size,
             "It ended by itself with exit code %" PRId64 ".",
             record->exit_code);
  } else {
    ending->end = KERNEL_END_SIGNAL;
    describe_signal(record->signal, ending->reason, size);
  }
}

struct ending ending_of(enum kernel_end asked, const char *reason,
                        const struct exit_record *record) {
  struct ending ending = {.end = asked, .exit_code = -1};
  if (record != NULL) {
    ending.exit_code = record->exit_code;
    ending.signal = record->signal;
  }
  if (asked == KERNEL_END_NONE)
    describe(&ending, record);
  else
    snprintf(ending.reason, sizeof ending.reason, "%s",
             *reason == '\0' ? default_reason(asked) : reason);
  return ending;
}

void ending_write_asked(int directory, enum kernel_end end,
                        const char *reason) {
  char text[320];
  int length =
      snprintf(text, sizeof text, "%s\n%s", kernel_end_name(end), reason);
  struct iovec part = {text, (size_t)length};
  if (directory >= 0)
    fs_write_atomic(directory, LAYOUT_ASKED, 0600, &part, 1, FS_SYNC_NONE,
                    NULL);
}

enum kernel_end ending_read_asked(int directory, char *reason, size_t size) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_LINE);
  if (fs_read_file(directory, LAYOUT_ASKED, &text, NULL) < 0)
    return KERNEL_END_NONE;
  CLEANUP(mem_free_pointer) char *name = buf_take(&text);
  char *rest = strchr(name, '\n');
  if (rest == NULL)
    return KERNEL_END_NONE;
  *rest = '\0';
  snprintf(reason, size, "%s", rest + 1);
  return ending_parse(name);
}
