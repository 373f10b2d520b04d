/* The one door to libzmq: the open sockets to one incarnation of one kernel.
 *
 * shell, control and stdin are DEALERs, iopub is a SUB that subscribes to
 * everything before it connects. Receive high-water marks are 0 (with the
 * default of 1000 a pause loses outputs and even `idle`), LINGER is bounded,
 * shell and stdin carry the same unique identity (else input_request cannot be
 * routed). A new kernel incarnation needs a new channel, always: a request
 * queued on an old DEALER would be run by the new kernel.
 *
 * A channel is used by one thread at a time; handing it to another thread
 * needs a full fence (a mutex does). */
#ifndef CELLPOST_JUPYTER_CHANNEL_H
#define CELLPOST_JUPYTER_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/jupyter/connection.h"
#include "core/jupyter/wire.h"

struct channel_context; /* one per process, made before threads */
struct channel;

/* Also tells malloc to map what is over 1 MiB, for the whole process, so that
 * the memory of a big message is given back with it. */
int channel_context_new(struct channel_context **ret, struct err *err);
void channel_context_free(struct channel_context *context);

int channel_open(struct channel_context *context,
                 const struct connection *connection, struct channel **ret,
                 struct err *err);
void channel_close(struct channel *channel); /* NULL is fine */
void channel_done(struct channel **channel);

/* Sends one message; its fresh msg_id is left in id_out (WIRE_ID_SIZE bytes,
 * may be NULL). parent: the header that the message answers, or NULL.
 * Never blocks: a full or absent peer is ERR_UNAVAILABLE. "Absent" is also a
 * kernel to which the connection does not stand yet (channel_wait_connected);
 * nothing is queued for one that may come later. */
int channel_send(struct channel *channel, enum channel_name name,
                 const char *type, const struct json *content,
                 const struct json *metadata, const struct json *parent,
                 char *id_out, struct err *err);

/* Another descriptor to wait for, as in poll(2). */
struct channel_watch {
  int descriptor; /* negative: ignored */
  short events;
  short revents;
};

/* Waits until a message can be read on shell, iopub, stdin or control, or a
 * watch fires, or the timeout (milliseconds, -1: for ever) passes. Returns a
 * bit mask (1 << channel_name) of readable channels, 0 when only watches fired
 * or on timeout or EINTR, negative on failure. The watches are looked at in
 * every call, also when messages are waiting already. */
int channel_wait(struct channel *channel, struct channel_watch *watches,
                 unsigned count, int timeout_ms, struct err *err);

/* The same for the channels of the mask `names` alone. */
int channel_wait_on(struct channel *channel, unsigned names,
                    struct channel_watch *watches, unsigned count,
                    int timeout_ms, struct err *err);
#define CHANNEL_WATCHES_MAX 16

/* The same, but until the kernel has taken the connection of `name`, so that a
 * message can be sent there: 1 when it has. */
int channel_wait_connected(struct channel *channel, enum channel_name name,
                           struct channel_watch *watches, unsigned count,
                           int timeout_ms, struct err *err);

/* Takes the next message without waiting: 1 and *ret, or 0 when there is none.
 * Messages that break the protocol (bad signature, not JSON, more than
 * CHANNEL_MESSAGE_MAX bytes in those frames that are read) are dropped and
 * counted, never an error; after many of them in a row 0 is returned, so that a
 * kernel which sends nothing else cannot hold the caller. Binary buffers are
 * counted and released one by one. A frame over CHANNEL_MESSAGE_MAX bytes is
 * not received at all and costs the connection, which is then made anew: libzmq
 * knows no limit for a whole message and keeps one until its last frame is
 * there. */
#define CHANNEL_MESSAGE_MAX ((int64_t)128 << 20)
int channel_receive(struct channel *channel, enum channel_name name,
                    struct message *ret, struct err *err);

/* The descriptor that is raised by what comes after the last look at the
 * channel `name` (ZMQ_FD, zmq_getsockopt(3)): for another thread's poll. */
int channel_descriptor(const struct channel *channel, enum channel_name name);

/* From now on outputs of more than `over` bytes are not read, only counted, by
 * channel_receive: they come as wire_decode_head gives them. 0: all are read.
 */
void channel_skip_outputs(struct channel *channel, size_t over);

uint64_t channel_dropped(const struct channel *channel);

#endif
