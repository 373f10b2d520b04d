/* The client's half of the protocol: prove that a kernel is there, run a cell,
 * know when it has ended, interrupt it.
 *
 * The functions here decide; waiting is the caller's (core/run), who owns the
 * deadline, the process and the person who asked. Only client_prove waits. */
#ifndef CELLPOST_JUPYTER_CLIENT_H
#define CELLPOST_JUPYTER_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/jupyter/channel.h"

/* What kernel_info_reply told. Strings are "" when missing. */
struct kernel_info {
  char language[64];
  char language_version[64];
  char file_extension[16];
  char mimetype[64];
  char implementation[64];
  char implementation_version[64];
  char protocol_version[16];
  struct json *language_info; /* the whole object, for the notebook; or NULL */
};
void kernel_info_free(struct kernel_info *info); /* also the cleanup function */

/* Proves both directions: waits until shell, stdin and control are connected,
 * then sends kernel_info_request on shell until its reply arrived and iopub has
 * delivered a message (slow joiner). Fails with ERR_TIMEOUT at deadline_ns,
 * with ERR_UNAVAILABLE when process_fd (a pidfd, or -1) becomes readable, and
 * with ERR_BUSY at busy_at_ns (0: never) when control answers while shell does
 * not, for 0.2 s at least: the kernel is running something for somebody else.
 * With busy_at_ns the kernel was ready before: ERR_TIMEOUT comes after 8 s in
 * which it takes no connection, which even a busy one does. A
 * kernel that publishes nothing for kernel_info is accepted after 3 s of
 * replies without an iopub message. Drains what is left of the start-up. */
int client_prove(struct channel *channel, int process_fd, int64_t deadline_ns,
                 int64_t busy_at_ns, struct kernel_info *ret, struct err *err);

/* One execute_request under way. Finished = its reply on shell AND idle on
 * iopub, both with our parent id, in either order. */
struct execution {
  char id[WIRE_ID_SIZE];
  bool replied;
  bool idle;
  bool aborted;            /* reply status "aborted": nothing was run */
  bool failed;             /* reply status "error" */
  bool ask_exit;           /* payload ask_exit: exit() was called, and
                              not to keep the kernel */
  int64_t execution_count; /* from execute_input, else reply; -1: none */
  int64_t input_at_us, busy_at_us, idle_at_us,
      reply_at_us;       /* wall; 0: not yet */
  int64_t replied_at_ns; /* monotonic */
  struct json *page;     /* payload "page" mimebundle, or NULL */
  struct json *notes; /* payload "cellpost" of core/ipykernel/setup: an array of
                         what the user may have sent as well, or NULL */
  struct json *user_expressions; /* from the reply, or NULL */
  struct json *error; /* {ename, evalue, traceback} of the reply, or NULL */
};
void execution_free(struct execution *execution); /* also the cleanup */

struct execute_options {
  bool silent;
  bool store_history;
  bool allow_stdin;
  const struct json *user_expressions; /* NULL: {} */
};

/* Sends execute_request (stop_on_error always false) on shell. */
int client_execute(struct channel *channel, const char *code, size_t length,
                   const struct execute_options *options, struct execution *ret,
                   struct err *err);

/* What a received message means for the execution; updates it. Output is
 * stream, display_data, execute_result, update_display_data, error,
 * clear_output, comm_open, comm_msg and comm_close; every other type is
 * bookkeeping, whoever it belongs to. Times are those of receipt. */
enum client_event {
  CLIENT_OUTPUT,  /* iopub, ours: give it to the collector */
  CLIENT_FOREIGN, /* iopub output of another parent or of none (late output) */
  CLIENT_INPUT,   /* stdin: input_request, answer with client_input */
  CLIENT_NOTHING, /* bookkeeping, now reflected in *execution */
};
enum client_event client_observe(struct execution *execution,
                                 enum channel_name from,
                                 const struct message *message);

static inline bool client_finished(const struct execution *execution) {
  return execution->replied && execution->idle;
}

/* Answers an input_request. NULL text: "\x04", which Python reads as EOF. */
int client_input(struct channel *channel, const struct message *request,
                 const char *text, struct err *err);

/* kernel_info_request on shell: wakes an `await` that waits through a SIGINT.
 */
int client_nudge(struct channel *channel, struct err *err);

/* interrupt_request on control, for interrupt_mode "message". */
int client_interrupt(struct channel *channel, struct err *err);

/* shutdown_request on control. The reply does not mean that the process has
 * ended: watch the process. */
int client_shutdown(struct channel *channel, bool restart, struct err *err);

/* comm_close for a comm_open whose target nobody here knows. */
int client_close_comm(struct channel *channel, const struct message *open,
                      struct err *err);

#endif
