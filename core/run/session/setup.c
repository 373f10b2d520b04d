#include "core/run/session/setup.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/crypto.h"
#include "core/base/fs.h"
#include "core/base/layout.h"
#include "core/base/mem.h"
#include "core/ipykernel/ipykernel.h"
#include "core/report/traceback/traceback.h"
#include "core/run/engine/engine_private.h"
#include "core/run/session/silent.h"
#include "core/store/task.h"
#include "embedded.h"

/* A kernel that runs needs no longer to write a dump. */
#define DUMP_MS 100

/* A kernel that has been set up says so in a file of its directory: another
 * process of ours may have been here, or the kernel was set up before we met it
 * (a zygote does that with the very same source). What the file says is the
 * kernel's word, like all else that the setup has done: it harms nobody else.
 */
static bool is_set_up(const struct kernel_record *kernel, const char *digest) {
  CLEANUP(mem_close_descriptor)
  int directory = fs_open_directory(kernel->directory, NULL);
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_LINE);
  return directory >= 0 &&
         fs_read_file(directory, LAYOUT_SETUP, &text, NULL) == 0 &&
         strcmp(buf_string(&text), digest) == 0;
}

/* One expression, whose parts leave no name behind. A JSON string literal is a
 * Python string literal too. Nothing is done twice. */
static int compose_setup(const struct kernel_record *kernel, const char *source,
                         const char *digest, struct buf *out) {
  const char *directory = kernel->directory;
  buf_format(out,
             "getattr(__import__('sys'), '_cellpost_setup', '') == '%s' or "
             "(lambda names: (exec(",
             digest);
  json_write_string(source, strlen(source), out);
  buf_text(out, ", names), names['set_up'](");
  json_write_string(directory, strlen(directory), out);
  return buf_format(out, ")))({'digest': '%s'})", digest);
}

static int set_up_python(struct known_kernel *known, struct channel *channel,
                         int64_t deadline, struct err *err) {
  const char *source = embedded_find(IPYKERNEL_SETUP)->text;
  char digest[CRYPTO_SHA256_HEX];
  crypto_sha256(source, strlen(source), digest);
  if (is_set_up(&known->kernel, digest)) {
    known->dumps_stack = true;
    return 0;
  }
  CLEANUP(buf_free) struct buf code = BUF_INIT(BUF_SMALL);
  compose_setup(&known->kernel, source, digest, &code);
  CLEANUP(execution_free) struct execution execution = {0};
  if (silent_execute(channel, known->process, buf_string(&code), NULL, deadline,
                     NULL, &execution, err) < 0)
    return -1;
  known->dumps_stack = !execution.failed && !execution.aborted;
  return 0;
}

/* " at line 3", or "". */
static void write_line(int64_t line, char text[32]) {
  *text = '\0';
  if (line > 0)
    snprintf(text, 32, " at line %lld", (long long)line);
}

static void note_failure(struct known_kernel *known, const char *code,
                         const char *language,
                         const struct execution *execution) {
  struct traceback_source source = {.error = execution->error,
                                    .code = code,
                                    .code_length = strlen(code),
                                    .language = language,
                                    .execution_count = -1};
  CLEANUP(json_done) struct json *report = traceback_report(&source);
  const char *ename = json_get_text(execution->error, "ename");
  const char *evalue = json_get_text(execution->error, "evalue");
  char line[32];
  write_line(json_get_integer(report, "line", -1), line);
  snprintf(known->init_fault, sizeof known->init_fault,
           "the task's init_code failed%s: %.100s: %.200s", line,
           ename == NULL ? "error" : ename, evalue == NULL ? "" : evalue);
}

/* Where it is at that moment is seen in a dump of its stack. */
static void note_no_end(struct engine *engine, struct known_kernel *known,
                        const char *code, enum err_kind kind) {
  char line[32] = "";
  if (kind == ERR_TIMEOUT) {
    known_kernel_dump_stack(known, engine->keeper_socket);
    poll(NULL, 0, DUMP_MS);
    write_line(known_kernel_running_line(known, code, strlen(code)), line);
  }
  snprintf(known->init_fault, sizeof known->init_fault,
           kind == ERR_TIMEOUT
               ? "the task's init_code did not end within %g s; it was "
                 "interrupted%s"
               : "the kernel ended while it ran the task's init_code",
           engine->conf->start_timeout, line);
}

static int run_init_code(struct engine *engine, struct known_kernel *known,
                         struct channel *channel, const char *language,
                         int64_t deadline, char **note, struct err *err) {
  CLEANUP(task_record_free) struct task_record task = {0};
  if (task_get(engine->store, known->kernel.task, &task, NULL) < 0)
    return 0;
  const char *code = json_get_text(task.settings, "init_code");
  if (code == NULL || *code == '\0')
    return 0;
  CLEANUP(execution_free) struct execution execution = {0};
  struct err fault = {0};
  if (silent_execute(channel, known->process, code, NULL, deadline, NULL,
                     &execution, &fault) < 0) {
    note_no_end(engine, known, code, fault.kind);
    return err_set(err, fault.kind, "%s", known->init_fault);
  }
  if (execution.failed) {
    note_failure(known, code, language, &execution);
    free(*note);
    *note = mem_copy_text(known->init_fault);
  }
  return 0;
}

int setup_kernel(struct engine *engine, struct known_kernel *known,
                 struct channel *channel, const struct kernel_info *info,
                 int64_t deadline_ns, char **note, struct err *err) {
  if (strcmp(info->language, "python") == 0 &&
      set_up_python(known, channel, deadline_ns, err) < 0)
    return -1;
  return known->runs > 0 ? 0
                         : run_init_code(engine, known, channel, info->language,
                                         deadline_ns, note, err);
}
