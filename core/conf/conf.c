/* The one door to inih. */
#include "core/conf/conf.h"

#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"
#include "core/base/layout.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/conf/conf_table.h"
#include "core/text/near.h"

/* One reading of one file. inih asks for lines (next_line) and hands back keys
 * (take_key) while it works on the line that it got last, which is how a key
 * gets its line number. */
struct reading {
  const char *name; /* of the file */
  const char *text;
  size_t length;
  size_t at;       /* where the next line begins */
  int line;        /* number of the line in work, from 1 */
  int failed_line; /* of the first fault; 0: none */
  int *seen;       /* per key: the line it is in, 0: none yet */
  struct conf *conf;
  struct err *err;
};

static int fault(struct reading *reading, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Keeps the first fault only. Returns 0, which is inih's "error". */
static int fault(struct reading *reading, const char *format, ...) {
  if (reading->failed_line != 0)
    return 0;
  reading->failed_line = reading->line;
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_LINE);
  va_list values;
  va_start(values, format);
  buf_vformat(&text, format, values);
  va_end(values);
  err_set(reading->err, ERR_INVALID, "%.150s:%d: %.320s", reading->name,
          reading->line, buf_string(&text));
  return 0;
}

static bool is_section(const char *section) {
  for (size_t i = 0; i < conf_key_count; i++)
    if (strcmp(conf_keys[i].section, section) == 0)
      return true;
  return false;
}

static int unknown_section(struct reading *reading, const char *section) {
  struct near near = NEAR_INIT(section);
  for (size_t i = 0; i < conf_key_count; i++)
    near_consider(&near, conf_keys[i].section);
  char text[FS_PRINTABLE];
  fs_printable(section, text);
  if (near.best == NULL)
    return fault(reading, "unknown section [%s]", text);
  return fault(reading, "unknown section [%s]; did you mean [%s]?", text,
               near.best);
}

static int unknown_key(struct reading *reading, const char *section,
                       const char *name) {
  struct near near = NEAR_INIT(name);
  char text[FS_PRINTABLE];
  fs_printable(name, text);
  for (size_t i = 0; i < conf_key_count; i++) {
    const struct conf_key *key = &conf_keys[i];
    if (strcmp(key->name, name) == 0)
      return fault(reading, "unknown key \"%s\" in [%s]; it belongs in [%s]",
                   text, section, key->section);
    if (strcmp(key->section, section) == 0)
      near_consider(&near, key->name);
  }
  if (near.best == NULL)
    return fault(reading, "unknown key \"%s\" in [%s]", text, section);
  return fault(reading, "unknown key \"%s\" in [%s]; did you mean \"%s\"?",
               text, section, near.best);
}

static const struct conf_key *find_key(const char *section, const char *name) {
  for (size_t i = 0; i < conf_key_count; i++)
    if (strcmp(conf_keys[i].section, section) == 0 &&
        strcmp(conf_keys[i].name, name) == 0)
      return &conf_keys[i];
  return NULL;
}

/* Called by inih for each "key = value"; 1 is success. */
static int take_key(void *user, const char *section, const char *name,
                    const char *value) {
  struct reading *reading = user;
  char text[FS_PRINTABLE];
  if (*section == '\0')
    return fault(reading, "\"%s\" comes before any [section]",
                 fs_printable(name, text));
  const struct conf_key *key = find_key(section, name);
  if (key == NULL)
    return unknown_key(reading, section, name);
  int *seen = &reading->seen[key - conf_keys];
  if (*seen != 0)
    return fault(reading, "\"%s\" is there a second time, after line %d", name,
                 *seen);
  *seen = reading->line;
  if (conf_value_set(reading->conf, key, value) == 0)
    return 1;
  CLEANUP(buf_free) struct buf wanted = BUF_INIT(BUF_LINE);
  conf_value_wanted(key, &wanted);
  return fault(reading, "%s = \"%s\": wanted is %s", name,
               fs_printable(value, text), buf_string(&wanted));
}

/* inih itself says nothing about a section without keys. */
static void check_section(struct reading *reading, const char *line) {
  const char *end = *line == '[' ? strchr(line, ']') : NULL;
  if (end == NULL)
    return;
  CLEANUP(mem_free_pointer)
  char *section = mem_copy_bytes(line + 1, (size_t)(end - line - 1));
  if (!is_section(section))
    unknown_section(reading, section);
}

static void check_bytes(struct reading *reading, const char *line,
                        size_t length) {
  for (size_t i = 0; i < length;) {
    size_t step = utf8_length(line + i, length - i);
    if (step == 0)
      fault(reading, "invalid UTF-8 at byte %zu of the line", i + 1);
    else if (line[i] != '\t' && utf8_is_control(line + i, step))
      fault(reading, "a control character at byte %zu of the line", i + 1);
    i += step == 0 ? 1 : step;
  }
}

static size_t next_line_length(const struct reading *reading) {
  const char *start = reading->text + reading->at;
  size_t left = reading->length - reading->at;
  const char *end = memchr(start, '\n', left);
  return end == NULL ? left : (size_t)(end - start);
}

/* fgets for inih, from memory. White space in front is left out, as inih would
 * take an indented line for more of the value above it. */
static char *next_line(char *room, int size, void *user) {
  struct reading *reading = user;
  if (reading->at >= reading->length || reading->failed_line != 0)
    return NULL;
  const char *line = reading->text + reading->at;
  size_t length = next_line_length(reading);
  reading->at += length + 1;
  reading->line++;
  if (length != 0 && line[length - 1] == '\r')
    length--;
  while (length != 0 && (*line == ' ' || *line == '\t'))
    line++, length--;
  check_bytes(reading, line, length);
  if (length > CONF_LINE || length + 2 > (size_t)size)
    fault(reading, "the line has %zu bytes, at most %d are read", length,
          CONF_LINE);
  if (reading->failed_line != 0)
    return NULL;
  memcpy(room, line, length);
  memcpy(room + length, "\n", 2);
  check_section(reading, room);
  return reading->failed_line != 0 ? NULL : room;
}

static void set_up_inih(void) {
  ini_use_stack = false;
  ini_allow_realloc = false;
  ini_max_line = CONF_LINE + 3;
  ini_initial_alloc = CONF_LINE + 3;
  ini_allow_multiline = false;
  ini_allow_inline_comments = false;
  ini_allow_no_value = false;
  ini_stop_on_first_error = true;
}

static int read_text(struct reading *reading) {
  static const char byte_order_mark[] = "\xef\xbb\xbf";
  if (reading->length >= 3 && memcmp(reading->text, byte_order_mark, 3) == 0)
    reading->at = 3;
  set_up_inih();
  int result = ini_parse_stream(next_line, reading, take_key, reading);
  if (result > 0 && reading->failed_line == 0) {
    reading->line = result;
    fault(reading, "neither [section], key = value, nor # comment");
  } else if (result < 0) {
    return err_set(reading->err, ERR_INTERNAL, "cannot read %.150s",
                   reading->name);
  }
  return reading->failed_line == 0 ? 0 : -1;
}

/* What no single key can decide. */
static int check_together(const struct conf *conf, const char *name,
                          struct err *err) {
  if (conf->timeout > conf->timeout_max)
    return err_set(err, ERR_INVALID,
                   "%.150s: timeout (%g s) is over timeout_max (%g s)", name,
                   conf->timeout, conf->timeout_max);
  const struct {
    const char *name, *most;
    int64_t value, limit;
  } pairs[] = {
      {"output_bytes", "output_bytes_hard", conf->output_bytes,
       conf->output_bytes_hard},
      {"memory", "memory_max", conf->memory, conf->memory_max},
      {"pids", "pids_max", conf->pids, conf->pids_max},
      {"workspace_bytes", "workspace_bytes_max", conf->workspace_bytes,
       conf->workspace_bytes_max},
      {"workspace_files", "workspace_files_max", conf->workspace_files,
       conf->workspace_files_max},
      {"max_kernels", "uid_count", conf->max_kernels, conf->uid_count},
  };
  for (size_t i = 0; i < COUNT_OF(pairs); i++)
    if (pairs[i].value > pairs[i].limit)
      return err_set(err, ERR_INVALID, "%.150s: %s (%lld) is over %s (%lld)",
                     name, pairs[i].name, (long long)pairs[i].value,
                     pairs[i].most, (long long)pairs[i].limit);
  if (conf->cpus_max > 0 && (conf->cpus == 0 || conf->cpus > conf->cpus_max))
    return err_set(err, ERR_INVALID, "%.150s: cpus (%g) is over cpus_max (%g)",
                   name, conf->cpus, conf->cpus_max);
  if (strlen(conf->listen) > CONF_SOCKET_PATH)
    return err_set(err, ERR_INVALID,
                   "%.150s: run_directory is too long: fcgi.sock in it has "
                   "over %d bytes",
                   name, CONF_SOCKET_PATH);
  return 0;
}

static struct conf *conf_new(void) {
  struct conf *conf = mem_new(sizeof *conf);
  for (size_t i = 0; i < conf_key_count; i++)
    if (conf_keys[i].value != NULL &&
        conf_value_set(conf, &conf_keys[i], conf_keys[i].value) != 0)
      abort(); /* the table contradicts itself */
  return conf;
}

int conf_parse(const char *text, size_t length, const char *name,
               struct conf **ret, struct err *err) {
  CLEANUP(conf_done) struct conf *conf = conf_new();
  CLEANUP(mem_free_pointer) int *seen = mem_array(conf_key_count, sizeof *seen);
  struct reading reading = {.name = name,
                            .text = text,
                            .length = length,
                            .seen = seen,
                            .conf = conf,
                            .err = err};
  if (read_text(&reading) != 0)
    return -1;
  if (conf->listen == NULL)
    conf->listen = mem_format("%s/" LAYOUT_APP_SOCKET, conf->run_directory);
  if (check_together(conf, name, err) < 0)
    return -1;
  *ret = MEM_STEAL(conf);
  return 0;
}

int conf_load(const char *path, struct conf **ret, struct err *err) {
  if (path == NULL)
    return conf_parse("", 0, "defaults", ret, err);
  char shown[FS_PRINTABLE];
  fs_printable(path, shown);
  CLEANUP(mem_close_descriptor) int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    enum err_kind kind = errno == ENOENT   ? ERR_NOT_FOUND
                         : errno == EACCES ? ERR_DENIED
                                           : ERR_IO;
    return err_errno(err, kind, errno, "cannot open %s", shown);
  }
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_SMALL);
  if (fs_read_all(file, &text, err) < 0)
    return err_wrap(err, "%s", shown);
  return conf_parse(buf_string(&text), text.length, shown, ret, err);
}

void conf_free(struct conf *conf) {
  if (conf == NULL)
    return;
  for (size_t i = 0; i < conf_key_count; i++)
    if (conf_type_is_text(conf_keys[i].type))
      free(*conf_value_text(conf, &conf_keys[i]));
  free(conf);
}

void conf_done(struct conf **conf) { conf_free(*conf); }

int conf_describe(const struct conf *conf, struct buf *out) {
  const char *section = "";
  for (size_t i = 0; i < conf_key_count; i++) {
    const struct conf_key *key = &conf_keys[i];
    if (strcmp(section, key->section) != 0)
      buf_format(out, "%s[%s]\n", i == 0 ? "" : "\n", key->section);
    section = key->section;
    CLEANUP(buf_free) struct buf value = BUF_INIT(BUF_SMALL);
    CLEANUP(buf_free) struct buf wanted = BUF_INIT(BUF_LINE);
    conf_value_write(conf, key, &value);
    conf_value_wanted(key, &wanted);
    buf_format(out, "\n# %s\n# Wanted: %s.\n", key->meaning,
               buf_string(&wanted));
    if (key->value != NULL)
      buf_format(out, "# Default: %s\n",
                 *key->value == '\0' ? "nothing" : key->value);
    buf_format(out, "%s =%s%s\n", key->name, value.length == 0 ? "" : " ",
               buf_string(&value));
  }
  return out->overflowed ? -1 : 0;
}
