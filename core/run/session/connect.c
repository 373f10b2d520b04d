#include "core/run/session/connect.h"

#include <stdio.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/layout.h"
#include "core/base/mem.h"
#include "core/control/control.h"
#include "core/jupyter/kernelspec.h"
#include "core/run/engine/engine_private.h"
#include "core/run/session/setup.h"
#include "core/store/replay.h"
#include "core/store/run.h"

/* A kernel that still runs a cell of a dead process gets this long to answer by
 * itself before it is interrupted. */
#define BUSY_PATIENCE (1 * CLOCK_S)

static int read_connection(const struct kernel_record *kernel,
                           struct connection *connection, struct err *err) {
  CLEANUP(mem_close_descriptor)
  int directory = fs_open_directory(kernel->directory, err);
  if (directory < 0)
    return err_wrap(err, "run directory of the kernel");
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_SMALL);
  if (fs_read_file(directory, LAYOUT_CONNECTION, &text, err) < 0 ||
      connection_parse(buf_string(&text), text.length, connection, err) < 0)
    return err_wrap(err, "connection file of the kernel");
  return 0;
}

/* A kernel that has run nothing may still hold what a replay brought back. */
static void recall_runs(struct engine *engine, struct known_kernel *known) {
  const struct kernel_record *kernel = &known->kernel;
  CLEANUP(run_record_free) struct run_record previous = {0};
  CLEANUP(replay_record_free) struct replay_record replay = {0};
  if (run_previous(engine->store, kernel->task, kernel->id, &previous, NULL) ==
      0) {
    known->runs = 1;
  } else if (replay_of_kernel(engine->store, kernel->id, &replay, NULL) == 0) {
    known->runs = 1;
    known->replay_was_cut_off = replay.status == REPLAY_LOST;
  }
}

static void recall(struct engine *engine, struct known_kernel *known) {
  const struct kernel_record *kernel = &known->kernel;
  known->meter = meter_open(kernel->pid, kernel->id);
  CLEANUP(kernelspec_done) struct kernelspec *spec = NULL;
  bool found = kernelspec_find(engine->conf->kernelspec_path,
                               kernel->kernelspec, &spec, NULL) == 0;
  known->interrupt_by_message = found && spec->interrupt_by_message;
  snprintf(known->kernelspec, sizeof known->kernelspec, "%s",
           kernel->kernelspec);
  snprintf(known->display_name, sizeof known->display_name, "%s",
           found ? spec->display_name : kernel->kernelspec);
  recall_runs(engine, known);
}

/* Nobody else may use this kernel (we have the task's turn), so a cell that
 * still runs in it is of a run that was cut off: it is ended. */
static int end_stray_cell(struct engine *engine,
                          const struct known_kernel *known,
                          struct channel *channel, char **note,
                          struct err *err) {
  *note = mem_copy_text("a cell of an earlier run that was cut off was still "
                        "running and was interrupted");
  if (control_interrupt(engine->keeper_socket, known->kernel.id, err) < 0)
    return -1;
  return known->interrupt_by_message ? client_interrupt(channel, err)
                                     : client_nudge(channel, err);
}

static int prove(struct engine *engine, const struct known_kernel *known,
                 struct cached_channel *cached, int64_t deadline, char **note,
                 struct err *err) {
  int64_t busy_at = known->runs == 0 ? 0 : clock_monotonic_ns() + BUSY_PATIENCE;
  struct err fault = {0};
  if (client_prove(cached->channel, known->process, deadline, busy_at,
                   &cached->info, &fault) == 0)
    return 0;
  if (fault.kind == ERR_BUSY) {
    int64_t patience = (int64_t)(engine->conf->interrupt_grace * 1e9);
    err_clear(&fault);
    if (end_stray_cell(engine, known, cached->channel, note, &fault) == 0 &&
        client_prove(cached->channel, known->process,
                     clock_monotonic_ns() + patience, 0, &cached->info,
                     &fault) == 0)
      return 0;
  }
  return err_set(err, fault.kind, "%s", fault.text);
}

static int open_channel(struct engine *engine, struct known_kernel *known,
                        int64_t deadline, struct cached_channel *cached,
                        char **note, struct err *err) {
  struct connection connection;
  if (read_connection(&known->kernel, &connection, err) < 0)
    return -1;
  recall(engine, known);
  if (channel_open(engine->context, &connection, &cached->channel, err) < 0 ||
      prove(engine, known, cached, deadline, note, err) < 0)
    return -1;
  return setup_kernel(engine, known, cached->channel, &cached->info, deadline,
                      note, err);
}

int connect_kernel(struct engine *engine, struct known_kernel *known,
                   int64_t deadline_ns, struct cached_channel **ret,
                   char **note, struct err *err) {
  struct cached_channel *cached = mem_new(sizeof *cached);
  if (open_channel(engine, known, deadline_ns, cached, note, err) < 0) {
    cached_channel_free(cached);
    return -1;
  }
  snprintf(cached->kernel_id, sizeof cached->kernel_id, "%s", known->kernel.id);
  snprintf(cached->task, sizeof cached->task, "%s", known->kernel.task);
  cached->attachment = known;
  cached->free_attachment = known_kernel_free;
  *ret = cached;
  return 0;
}
