/* Log lines that cannot be forged.
 *
 * One line an event on stderr (or a file descriptor), logfmt style:
 *   2026-11-29T20:04:58.219554Z info program=cellpost request=… task=demo
 *   run=… text="…"
 * Control bytes, quotes, backslashes and invalid UTF-8 in any value are
 * escaped, so a value can neither end a line nor imitate a field. A line is
 * written by one write(2) and is never longer than BUF_LINE (4096 bytes, which
 * is PIPE_BUF: lines of several processes on one pipe do not mix); a longer
 * text is cut and then ends in "…". errno is kept. Library code does not log;
 * main loops do. */
#ifndef CELLPOST_BASE_LOG_H
#define CELLPOST_BASE_LOG_H

#include <stdbool.h>

enum log_level {
  LOG_LEVEL_ERROR,
  LOG_LEVEL_WARNING,
  LOG_LEVEL_INFO,
  LOG_LEVEL_DEBUG
};

/* "error", "warning", "info" or "debug"; false (and *level untouched) for any
 * other name. */
bool log_level_from_name(const char *name, enum log_level *level);

/* Before threads start; without it: stderr, info. `program` is borrowed for
 * ever. */
void log_init(int descriptor, enum log_level level, const char *program);

/* Ids that this thread's lines carry from now on; each is copied (cut at 128
 * bytes); NULL clears it. */
void log_set_request(const char *request_id);
void log_set_task(const char *task_id);
void log_set_run(const char *run_id);

void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
