#include "core/base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"

#define ID_ROOM 129 /* 128 bytes and a NUL */

static const char *const level_names[] = {
    [LOG_LEVEL_ERROR] = "error",
    [LOG_LEVEL_WARNING] = "warning",
    [LOG_LEVEL_INFO] = "info",
    [LOG_LEVEL_DEBUG] = "debug",
};

static int log_descriptor = STDERR_FILENO;
static enum log_level log_threshold = LOG_LEVEL_INFO;
static const char *log_program = "cellpost";

static _Thread_local char current_request[ID_ROOM];
static _Thread_local char current_task[ID_ROOM];
static _Thread_local char current_run[ID_ROOM];

void log_init(int descriptor, enum log_level level, const char *program) {
  log_descriptor = descriptor;
  log_threshold = level;
  log_program = program;
}

bool log_level_from_name(const char *name, enum log_level *level) {
  for (size_t i = 0; i < COUNT_OF(level_names); i++) {
    if (strcmp(name, level_names[i]) != 0)
      continue;
    *level = (enum log_level)i;
    return true;
  }
  return false;
}

static void set_id(char room[ID_ROOM], const char *id) {
  snprintf(room, ID_ROOM, "%s", id == NULL ? "" : id);
}

void log_set_request(const char *id) { set_id(current_request, id); }

void log_set_task(const char *id) { set_id(current_task, id); }

void log_set_run(const char *id) { set_id(current_run, id); }

static bool is_bare(const char *value) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                              "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  return *value != '\0' && value[strspn(value, plain)] == '\0';
}

/* Writes the escaped form of what begins at `text` into `piece` and returns how
 * many bytes of the text it stands for. */
static size_t escape_one(const char *text, size_t left, char piece[16]) {
  static const char named[][3] = {"\"\"", "\\\\", "\nn", "\tt", "\rr"};
  for (size_t i = 0; i < COUNT_OF(named); i++) {
    if (text[0] != named[i][0])
      continue;
    snprintf(piece, 16, "\\%c", named[i][1]);
    return 1;
  }
  size_t length = utf8_length(text, left);
  if (length != 0 && !utf8_is_control(text, length)) {
    snprintf(piece, 16, "%.*s", (int)length, text);
    return length;
  }
  length = length == 0 ? 1 : length;
  for (size_t i = 0; i < length; i++)
    snprintf(piece + i * 4, 5, "\\x%02x", (unsigned char)text[i]);
  return length;
}

/* Appends the value in quotes, cut so that the line still has room for the
 * ellipsis, the closing quote and the end of line. */
static void append_quoted(struct buf *line, const char *value) {
  static const char ellipsis[] = "\xe2\x80\xa6";
  size_t most = line->limit - sizeof ellipsis - 2;
  size_t left = strlen(value);
  buf_byte(line, '"');
  while (left != 0) {
    char piece[16];
    size_t used = escape_one(value, left, piece);
    if (line->length + strlen(piece) > most) {
      buf_text(line, ellipsis);
      break;
    }
    buf_text(line, piece);
    value += used;
    left -= used;
  }
  buf_byte(line, '"');
}

static void append_id(struct buf *line, const char *name, const char *id) {
  if (*id == '\0')
    return;
  buf_format(line, " %s=", name);
  if (is_bare(id))
    buf_text(line, id);
  else
    append_quoted(line, id);
}

/* A log that cannot be written must not stop the service: errors are ignored,
 * and so is the rest of a line that was written in part. */
static void write_line(const struct buf *line) {
  ssize_t written;
  do
    written = write(log_descriptor, line->data, line->length);
  while (written < 0 && errno == EINTR);
}

static void log_line(enum log_level level, const char *format, va_list values)
    __attribute__((format(printf, 2, 0)));

static void log_line(enum log_level level, const char *format, va_list values) {
  if (level > log_threshold)
    return;
  int saved = errno;
  char text[BUF_LINE] = "";
  vsnprintf(text, sizeof text, format, values);
  char time[CLOCK_ISO_SIZE];
  clock_format_iso(clock_wall_us(), time);
  CLEANUP(buf_free) struct buf line = BUF_INIT(BUF_LINE);
  buf_format(&line, "%s %s", time, level_names[level]);
  append_id(&line, "program", log_program);
  append_id(&line, "request", current_request);
  append_id(&line, "task", current_task);
  append_id(&line, "run", current_run);
  buf_text(&line, " text=");
  append_quoted(&line, text);
  buf_byte(&line, '\n');
  write_line(&line);
  errno = saved;
}

void log_error(const char *format, ...) {
  va_list values;
  va_start(values, format);
  log_line(LOG_LEVEL_ERROR, format, values);
  va_end(values);
}

void log_warning(const char *format, ...) {
  va_list values;
  va_start(values, format);
  log_line(LOG_LEVEL_WARNING, format, values);
  va_end(values);
}

void log_info(const char *format, ...) {
  va_list values;
  va_start(values, format);
  log_line(LOG_LEVEL_INFO, format, values);
  va_end(values);
}

void log_debug(const char *format, ...) {
  va_list values;
  va_start(values, format);
  log_line(LOG_LEVEL_DEBUG, format, values);
  va_end(values);
}
