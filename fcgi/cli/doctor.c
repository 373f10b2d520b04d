#include "fcgi/cli/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/layout.h"
#include "core/base/mem.h"
#include "core/control/control.h"
#include "core/control/control_report.h"
#include "core/jupyter/kernelspec.h"
#include "core/mime/mime.h"
#include "core/notebook/writer/notebook.h"
#include "fcgi/cli/tokens.h"
#include "fcgi/transport/listener.h"

#define DETAIL_SIZE 400

/* Says what it found in `detail` (found) or what is missing (not found). */
typedef bool look(const struct conf *conf, char detail[DETAIL_SIZE]);

struct check {
  const char *name;
  look *look;
  bool needed; /* else something is slower or weaker without it */
};

static bool __attribute__((format(printf, 3, 4)))
say(bool found, char detail[DETAIL_SIZE], const char *format, ...) {
  va_list values;
  va_start(values, format);
  vsnprintf(detail, DETAIL_SIZE, format, values);
  va_end(values);
  return found;
}

static void read_line(const char *path, char *line, size_t size) {
  CLEANUP(mem_close_descriptor) int file = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t got = file < 0 ? 0 : read(file, line, size - 1);
  line[got > 0 ? got : 0] = '\0';
  line[strcspn(line, "\n")] = '\0';
}

static bool look_at_openat2(const struct conf *conf, char *detail) {
  (void)conf;
  struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                         .resolve = RESOLVE_BENEATH};
  int opened = (int)syscall(SYS_openat2, AT_FDCWD, ".", &how, sizeof how);
  if (opened < 0)
    return say(false, detail, "%s (Linux 5.6 has it)", strerror(errno));
  close(opened);
  return say(true, detail, "names stay beneath their directory");
}

static bool look_at_pidfd(const struct conf *conf, char *detail) {
  (void)conf;
  int opened = (int)syscall(SYS_pidfd_open, getpid(), 0);
  if (opened < 0)
    return say(false, detail, "%s (Linux 5.3 has it)", strerror(errno));
  close(opened);
  return say(true, detail, "deaths are seen at once");
}

static bool look_at_state(const struct conf *conf, char *detail) {
  CLEANUP(mem_free_pointer)
  char *directory = mem_format("%s/doctor-XXXXXX", conf->state_directory);
  if (mkdtemp(directory) == NULL)
    return say(false, detail, "%.200s: %s", conf->state_directory,
               strerror(errno));
  rmdir(directory);
  return say(true, detail, "%.200s is writable", conf->state_directory);
}

static bool look_at_notebooks(const struct conf *conf, char *detail) {
  struct err err;
  CLEANUP(mem_close_descriptor)
  int directory = fs_open_directory(conf->state_directory, &err);
  if (directory < 0 || notebook_probe(directory, &err) < 0)
    return say(false, detail, "each version is written whole: %.300s",
               err.text);
  return say(true, detail,
             "cells are appended (write lease, exchange of names)");
}

static bool look_at_descriptors(const struct conf *conf, char *detail) {
  struct rlimit limit = {0};
  getrlimit(RLIMIT_NOFILE, &limit);
  /* A request holds its connection, an open channel four sockets and more. */
  long long wanted = conf->threads * 4 + conf->max_kernels * 16 + 64;
  long long most =
      limit.rlim_max > 1000000000 ? 1000000000 : (long long)limit.rlim_max;
  return say(most >= wanted, detail, "%lld allowed, up to %lld used", most,
             wanted);
}

static bool look_at_backlog(const struct conf *conf, char *detail) {
  (void)conf;
  char text[32];
  read_line("/proc/sys/net/core/somaxconn", text, sizeof text);
  return say(strtol(text, NULL, 10) >= LISTENER_BACKLOG, detail,
             "net.core.somaxconn is %s, wanted is %d", text, LISTENER_BACKLOG);
}

static bool look_at_types(const struct conf *conf, char *detail) {
  (void)conf;
  struct mime *mime = mime_open();
  bool loaded = mime != NULL;
  mime_close(mime);
  return say(loaded, detail, "%s",
             loaded ? "by content and name"
                    : "by name alone, libmagic has no data");
}

static bool look_at_kernelspec(const struct conf *conf, char *detail) {
  struct err err;
  CLEANUP(kernelspec_done) struct kernelspec *spec = NULL;
  if (kernelspec_find(conf->kernelspec_path, conf->kernelspec, &spec, &err) < 0)
    return say(false, detail, "%s", err.text);
  return say(true, detail, "%.100s (%.100s)", spec->name, spec->display_name);
}

static bool keeper_answers(const struct conf *conf, struct err *err) {
  struct control_kernel unused;
  CLEANUP(mem_free_pointer)
  char *path = mem_format("%s/" LAYOUT_KEEPER_SOCKET, conf->run_directory);
  return control_status(path, NULL, &unused, err) >= 0;
}

static bool look_at_keeper(const struct conf *conf, char *detail) {
  struct err err;
  if (!keeper_answers(conf, &err))
    return say(false, detail, "%s", err.text);
  return say(true, detail, "answers at %.200s/" LAYOUT_KEEPER_SOCKET,
             conf->run_directory);
}

/* Of the default kernelspec. */
static const struct json *zygote_in(const struct json *report,
                                    const struct conf *conf) {
  const struct json *zygotes = json_get(report, "zygotes");
  for (size_t i = 0; i < json_length(zygotes); i++) {
    const struct json *zygote = json_at(zygotes, i);
    if (strcmp(json_get_text(zygote, "kernelspec"), conf->kernelspec) == 0)
      return zygote;
  }
  return NULL;
}

static bool look_at_warm(const struct conf *conf, char *detail) {
  CLEANUP(json_done) struct json *report = NULL;
  if (!conf->warm)
    return say(false, detail, "off, each kernel imports its libraries itself");
  if (!keeper_answers(conf, NULL) ||
      control_report_read(conf->run_directory, LAYOUT_WARM_REPORT, &report,
                          NULL) < 0)
    return say(false, detail, "on, but no keeper runs that could tell");
  const struct json *zygote = zygote_in(report, conf);
  if (zygote == NULL)
    return say(false, detail, "%.100s is no kernel of Python's ipykernel",
               conf->kernelspec);
  const struct json *spares = json_get(report, "spares");
  const char *state = json_get_text(zygote, "state");
  const char *note = json_get_text(zygote, "note");
  return say(strcmp(state, "ready") == 0, detail,
             "the zygote of %.100s is %s%s%.150s; %lld of %lld spares ready",
             conf->kernelspec, state, *note == '\0' ? "" : ", ", note,
             (long long)json_as_integer(json_get(spares, "ready"), 0),
             (long long)json_as_integer(json_get(spares, "wanted"), 0));
}

static bool look_at_tokens(const struct conf *conf, char *detail) {
  CLEANUP(mem_free_pointer)
  char *mark = mem_format("%s/" LAYOUT_AUTH_MARK, conf->state_directory);
  if (access(mark, F_OK) == 0)
    return say(true, detail, "needed, whoever asks");
  if (tokens_are_wanted(conf))
    return say(false, detail,
               "none needed, but hosts names more than loopback: whoever "
               "reaches it can run code (cellpost token add)");
  return say(true, detail, "none needed, on loopback alone");
}

static const struct check checks[] = {
    {"openat2", look_at_openat2, true},
    {"pidfd", look_at_pidfd, true},
    {"state", look_at_state, true},
    {"notebooks", look_at_notebooks, false},
    {"kernelspec", look_at_kernelspec, true},
    {"tokens", look_at_tokens, false},
    {"keeper", look_at_keeper, false},
    {"warm start", look_at_warm, false},
    {"descriptors", look_at_descriptors, false},
    {"backlog", look_at_backlog, false},
    {"file types", look_at_types, false},
};

/* The keeper's program: beside this one, or in sbin/ beside its bin/. */
static char *find_keeper(void) {
  char own[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
  own[length < 0 ? 0 : length] = '\0';
  const char *directory = dirname(own);
  char *beside = mem_format("%s/cellpost-keeper", directory);
  if (access(beside, X_OK) == 0)
    return beside;
  free(beside);
  return mem_format("%s/../sbin/cellpost-keeper", directory);
}

/* The configuration as a file that a child of this process can open. */
static int open_conf(const struct conf *conf) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_SMALL);
  CLEANUP(mem_close_descriptor) int file = memfd_create("cellpost.conf", 0);
  if (file < 0 || conf_describe(conf, &text) < 0 ||
      fs_write_all(file, text.data, text.length, NULL) < 0)
    return -1;
  return mem_steal_descriptor(&file);
}

/* What `cellpost-keeper --layers` says. */
static struct json *ask_keepers_program(const struct conf *conf) {
  CLEANUP(mem_free_pointer) char *keeper = find_keeper();
  CLEANUP(mem_close_descriptor) int file = open_conf(conf);
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_SMALL);
  char path[64];
  int ends[2];
  if (file < 0 || pipe2(ends, O_CLOEXEC) < 0)
    return NULL;
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    execl(keeper, keeper, "--layers", "-c", path, NULL);
    _exit(127);
  }
  close(ends[1]);
  CLEANUP(mem_close_descriptor) int answer = ends[0];
  struct json *report = NULL;
  if (child > 0 && fs_read_all(answer, &text, NULL) == 0)
    json_parse(buf_string(&text), text.length, &JSON_RULES_STORE, &report,
               NULL);
  waitpid(child, NULL, 0);
  return report;
}

/* What the keeper that runs has found, else what one would find. */
static struct json *jail_of(const struct conf *conf) {
  struct json *report = NULL;
  if (!keeper_answers(conf, NULL) ||
      control_report_read(conf->run_directory, LAYOUT_JAIL_REPORT, &report,
                          NULL) < 0)
    report = ask_keepers_program(conf);
  return report;
}

static const char *mark(bool found, bool needed) {
  return found ? "ok " : needed ? "NO " : "-- ";
}

static int report_jail(const struct conf *conf, FILE *out) {
  CLEANUP(json_done) struct json *report = jail_of(conf);
  const struct json *layers = json_get(report, "layers");
  bool required = conf->jail == CONF_JAIL_REQUIRED;
  int missing = 0;
  for (size_t i = 0; i < json_length(layers); i++) {
    const struct json *layer = json_at(layers, i);
    const char *state = json_get_text(layer, "state");
    const char *told = json_get_text(layer, "note");
    bool off = strcmp(state, "off") == 0;
    fprintf(out, "%s  jail, %s: %s%s%s (%s)\n", mark(!off, required),
            json_get_text(layer, "name"), state, *told == '\0' ? "" : ", ",
            told, json_get_text(layer, "meaning"));
    missing += off && required;
  }
  return missing;
}

static int report_check(const struct conf *conf, const struct check *check,
                        FILE *out) {
  char detail[DETAIL_SIZE] = "";
  bool found = check->look(conf, detail);
  bool missing = !found && check->needed;
  fprintf(out, "%s  %s: %s\n", mark(found, missing), check->name, detail);
  return missing;
}

int doctor_report(const struct conf *conf, FILE *out) {
  int missing = report_jail(conf, out);
  for (size_t i = 0; i < COUNT_OF(checks); i++)
    missing += report_check(conf, &checks[i], out);
  return missing;
}
