#include "core/jupyter/channel.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <zmq.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/id.h"
#include "core/base/mem.h"

enum {
  SOCKETS = CHANNEL_HEARTBEAT, /* the channels before it have a socket */
  LINGER_MS = 500,
  RECONNECT_MS = 5,
  RECONNECT_MAX_MS = 100,
  DROPPED_IN_A_ROW = 64,
  MAPPED_FROM = 1 << 20,
  TRIMMED_FROM = 8 << 20,
};

/* A send buffer beyond this is not kept for the next message. */
#define SEND_BUFFER_KEPT ((size_t)64 << 10)

struct channel_context {
  void *zmq;
};

struct channel {
  void *sockets[SOCKETS];
  int descriptors[SOCKETS]; /* ZMQ_FD: tells that something has changed */
  struct wire_key key;
  char session[ID_UUID_SIZE];
  uint64_t sent;
  uint64_t dropped;
  size_t skip_over; /* channel_skip_outputs; 0: nothing */
  struct buf out;
};

static const int socket_types[SOCKETS] = {
    [CHANNEL_SHELL] = ZMQ_DEALER,
    [CHANNEL_IOPUB] = ZMQ_SUB,
    [CHANNEL_STDIN] = ZMQ_DEALER,
    [CHANNEL_CONTROL] = ZMQ_DEALER,
};

static int fail(struct err *err, const char *what) {
  int number = zmq_errno();
  return err_set(err, number == EMFILE ? ERR_UNAVAILABLE : ERR_IO, "%s: %s",
                 what, zmq_strerror(number));
}

/* libzmq's thread allocates what arrives, from an arena of its own whose free
 * end malloc_trim() does not give back, and a limit that malloc adapts by
 * itself (up to 32 MB) puts ever larger messages there. With a fixed limit they
 * are mapped, and freeing them returns the memory at once (mallopt(3)). */
static void keep_memory_flat(void) {
  mallopt(M_MMAP_THRESHOLD, MAPPED_FROM);
  mallopt(M_TRIM_THRESHOLD, TRIMMED_FROM);
}

int channel_context_new(struct channel_context **ret, struct err *err) {
  void *zmq = zmq_ctx_new();
  if (zmq == NULL)
    return fail(err, "cannot make a ZeroMQ context");
  /* The default of 1023 sockets is 255 kernels. */
  zmq_ctx_set(zmq, ZMQ_MAX_SOCKETS, zmq_ctx_get(zmq, ZMQ_SOCKET_LIMIT));
  keep_memory_flat();
  struct channel_context *context = mem_new(sizeof *context);
  context->zmq = zmq;
  *ret = context;
  return 0;
}

void channel_context_free(struct channel_context *context) {
  if (context == NULL)
    return;
  while (zmq_ctx_term(context->zmq) != 0 && zmq_errno() == EINTR)
    continue;
  free(context);
}

static int set_number(void *socket, int option, int value) {
  return zmq_setsockopt(socket, option, &value, sizeof value);
}

static int set_limits(void *socket) {
  int64_t most = CHANNEL_MESSAGE_MAX;
  return set_number(socket, ZMQ_LINGER, LINGER_MS) != 0 ||
                 set_number(socket, ZMQ_RCVHWM, 0) != 0 ||
                 set_number(socket, ZMQ_RECONNECT_IVL, RECONNECT_MS) != 0 ||
                 set_number(socket, ZMQ_RECONNECT_IVL_MAX, RECONNECT_MAX_MS) !=
                     0 ||
                 zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &most, sizeof most) != 0
             ? -1
             : 0;
}

/* A SUB subscribes before it connects. A DEALER is IMMEDIATE: without a
 * standing connection a message is refused and not queued, for the queue would
 * be given to whatever kernel binds that path next. */
static int set_role(struct channel *channel, enum channel_name name) {
  void *socket = channel->sockets[name];
  if (socket_types[name] == ZMQ_SUB)
    return zmq_setsockopt(socket, ZMQ_SUBSCRIBE, "", 0);
  if (set_number(socket, ZMQ_IMMEDIATE, 1) != 0)
    return -1;
  if (name == CHANNEL_CONTROL)
    return 0;
  return zmq_setsockopt(socket, ZMQ_ROUTING_ID, channel->session,
                        ID_UUID_SIZE - 1);
}

static int open_socket(struct channel *channel, void *zmq,
                       enum channel_name name, const char *endpoint,
                       struct err *err) {
  void *socket = zmq_socket(zmq, socket_types[name]);
  if (socket == NULL)
    return fail(err, "cannot make a ZeroMQ socket");
  channel->sockets[name] = socket;
  size_t size = sizeof channel->descriptors[name];
  if (set_limits(socket) != 0 || set_role(channel, name) != 0 ||
      zmq_getsockopt(socket, ZMQ_FD, &channel->descriptors[name], &size) != 0)
    return fail(err, "cannot set up a ZeroMQ socket");
  if (zmq_connect(socket, endpoint) == 0)
    return 0;
  fail(err, "cannot connect");
  return err_wrap(err, "%s", endpoint);
}

int channel_open(struct channel_context *context,
                 const struct connection *connection, struct channel **ret,
                 struct err *err) {
  /* iopub first, so that the subscription is likely to be there before the
   * first request. */
  static const enum channel_name order[SOCKETS] = {
      CHANNEL_IOPUB, CHANNEL_SHELL, CHANNEL_STDIN, CHANNEL_CONTROL};
  CLEANUP(channel_done) struct channel *channel = mem_new(sizeof *channel);
  channel->key = connection->key;
  channel->out = (struct buf)BUF_INIT(BUF_KERNEL_MESSAGE);
  id_new(channel->session);
  for (size_t i = 0; i < SOCKETS; i++)
    if (open_socket(channel, context->zmq, order[i],
                    connection->endpoints[order[i]], err) < 0)
      return -1;
  *ret = MEM_STEAL(channel);
  return 0;
}

void channel_close(struct channel *channel) {
  if (channel == NULL)
    return;
  for (size_t i = 0; i < SOCKETS; i++)
    if (channel->sockets[i] != NULL)
      zmq_close(channel->sockets[i]);
  buf_free(&channel->out);
  free(channel);
}

void channel_done(struct channel **channel) {
  channel_close(*channel);
  *channel = NULL;
}

/* All frames or none: once libzmq has taken the first one, it takes the rest.
 */
static int send_frames(void *socket, const char *bytes,
                       const size_t sizes[WIRE_REQUEST_FRAMES],
                       struct err *err) {
  for (int i = 0; i < WIRE_REQUEST_FRAMES; i++) {
    int more = i < WIRE_REQUEST_FRAMES - 1 ? ZMQ_SNDMORE : 0;
    while (zmq_send(socket, bytes, sizes[i], ZMQ_DONTWAIT | more) < 0) {
      if (zmq_errno() == EAGAIN)
        return err_set(err, ERR_UNAVAILABLE,
                       "the kernel takes no more messages");
      if (zmq_errno() != EINTR)
        return fail(err, "cannot send to the kernel");
    }
    bytes += sizes[i];
  }
  return 0;
}

int channel_send(struct channel *channel, enum channel_name name,
                 const char *type, const struct json *content,
                 const struct json *metadata, const struct json *parent,
                 char *id_out, struct err *err) {
  char id[WIRE_ID_SIZE];
  snprintf(id, sizeof id, "%s_%llu", channel->session,
           (unsigned long long)++channel->sent);
  struct wire_request request = {
      .type = type,
      .id = id,
      .session = channel->session,
      .username = "cellpost",
      .parent = parent,
      .content = content,
      .metadata = metadata,
  };
  size_t sizes[WIRE_REQUEST_FRAMES];
  buf_reset(&channel->out);
  if (wire_encode(&channel->key, &request, &channel->out, sizes, err) < 0)
    return -1;
  int result =
      send_frames(channel->sockets[name], channel->out.data, sizes, err);
  if (channel->out.capacity > SEND_BUFFER_KEPT)
    buf_free(&channel->out);
  if (result == 0 && id_out != NULL)
    snprintf(id_out, WIRE_ID_SIZE, "%s", id);
  return result;
}

/* The mask of those among `names` on which the event is possible now. Asking
 * for ZMQ_EVENTS also makes libzmq work off what ZMQ_FD was raised for. */
static int ready(const struct channel *channel, unsigned names, int event,
                 struct err *err) {
  int mask = 0;
  for (unsigned i = 0; i < SOCKETS; i++) {
    int events = 0;
    size_t size = sizeof events;
    if ((names & 1U << i) == 0)
      continue;
    while (zmq_getsockopt(channel->sockets[i], ZMQ_EVENTS, &events, &size) != 0)
      if (zmq_errno() != EINTR)
        return fail(err, "cannot look at a ZeroMQ socket");
    if ((events & event) != 0)
      mask |= 1 << i;
  }
  return mask;
}

/* One poll(2) over the ZMQ_FD of those sockets and the watches. zmq_poll would
 * do, but it cannot wait for POLLRDHUP. Returns what poll returns and leaves in
 * *changed which of the sockets' descriptors were raised. */
static int poll_once(const struct channel *channel, unsigned names,
                     struct channel_watch *watches, unsigned count,
                     int timeout_ms, unsigned *changed) {
  struct pollfd items[SOCKETS + CHANNEL_WATCHES_MAX];
  for (unsigned i = 0; i < SOCKETS; i++)
    items[i] = (struct pollfd){
        .fd = (names & 1U << i) != 0 ? channel->descriptors[i] : -1,
        .events = POLLIN};
  for (unsigned i = 0; i < count; i++)
    items[SOCKETS + i] = (struct pollfd){.fd = watches[i].descriptor,
                                         .events = watches[i].events};
  int result = poll(items, SOCKETS + count, timeout_ms);
  *changed = 0;
  for (unsigned i = 0; result > 0 && i < SOCKETS; i++)
    if (items[i].revents != 0)
      *changed |= 1U << i;
  for (unsigned i = 0; i < count; i++)
    watches[i].revents = (short)(result > 0 ? items[SOCKETS + i].revents : 0);
  return result;
}

static bool any_fired(const struct channel_watch *watches, unsigned count) {
  for (unsigned i = 0; i < count; i++)
    if (watches[i].revents != 0)
      return true;
  return false;
}

/* Waits until the event is possible on a socket of the mask `names`; returns
 * those on which it is. */
static int wait_for(struct channel *channel, unsigned names, int event,
                    struct channel_watch *watches, unsigned count,
                    int timeout_ms, struct err *err) {
  if (count > CHANNEL_WATCHES_MAX)
    return err_set(err, ERR_INTERNAL, "%u descriptors to watch", count);
  int64_t deadline = clock_monotonic_ns() + timeout_ms * CLOCK_MS;
  int mask = ready(channel, names, event, err);
  while (mask >= 0) {
    unsigned changed;
    int left = timeout_ms < 0 ? -1 : clock_poll_timeout(deadline);
    int polled = poll_once(channel, names, watches, count, mask != 0 ? 0 : left,
                           &changed);
    if (polled < 0 && errno != EINTR)
      return err_errno(err, ERR_IO, errno, "cannot wait for the kernel");
    if (mask != 0 || polled <= 0)
      break;
    mask = ready(channel, changed, event, err);
    if (mask != 0 || any_fired(watches, count))
      break;
  }
  return mask;
}

int channel_wait_on(struct channel *channel, unsigned names,
                    struct channel_watch *watches, unsigned count,
                    int timeout_ms, struct err *err) {
  return wait_for(channel, names & ((1U << SOCKETS) - 1), ZMQ_POLLIN, watches,
                  count, timeout_ms, err);
}

int channel_wait(struct channel *channel, struct channel_watch *watches,
                 unsigned count, int timeout_ms, struct err *err) {
  return channel_wait_on(channel, ~0U, watches, count, timeout_ms, err);
}

int channel_wait_connected(struct channel *channel, enum channel_name name,
                           struct channel_watch *watches, unsigned count,
                           int timeout_ms, struct err *err) {
  int mask = wait_for(channel, 1U << name, ZMQ_POLLOUT, watches, count,
                      timeout_ms, err);
  return mask > 0 ? 1 : mask;
}

/* The frames of one message as they arrive: those that are read. */
struct parts {
  zmq_msg_t messages[WIRE_FRAMES_MAX];
  struct wire_frame frames[WIRE_FRAMES_MAX];
  size_t count;
  size_t bytes;  /* in them */
  unsigned rest; /* those that are not */
  size_t rest_bytes;
};

static void parts_free(struct parts *parts) {
  while (parts->count > 0)
    zmq_msg_close(&parts->messages[--parts->count]);
}

static int receive_frame(void *socket, zmq_msg_t *message) {
  int size;
  do
    size = zmq_msg_recv(message, socket, ZMQ_DONTWAIT);
  while (size < 0 && zmq_errno() == EINTR);
  return size;
}

/* Keeps the frame unless the message has enough of them: what stands behind the
 * content is binary, and what makes the message too large is not read. */
static void keep_frame(struct parts *parts, zmq_msg_t *message) {
  size_t size = zmq_msg_size(message);
  bool wanted = parts->rest == 0 && parts->count < WIRE_FRAMES_MAX &&
                !wire_is_complete(parts->frames, parts->count);
  if (!wanted || parts->bytes + size > CHANNEL_MESSAGE_MAX) {
    parts->rest++;
    parts->rest_bytes += size;
    zmq_msg_close(message);
    return;
  }
  parts->bytes += size;
  zmq_msg_t *place = &parts->messages[parts->count];
  zmq_msg_init(place);
  zmq_msg_move(place, message);
  zmq_msg_close(message);
  parts->frames[parts->count++] =
      (struct wire_frame){zmq_msg_data(place), size};
}

/* Takes all frames of the next message: 1, or 0 when there is none. libzmq
 * hands over whole messages, so what follows the first frame is there. */
static int receive_parts(void *socket, struct parts *parts, struct err *err) {
  bool first = true;
  for (int more = 1; more; first = false) {
    zmq_msg_t message;
    zmq_msg_init(&message);
    if (receive_frame(socket, &message) < 0) {
      zmq_msg_close(&message);
      return first && zmq_errno() == EAGAIN
                 ? 0
                 : fail(err, "cannot receive from the kernel");
    }
    more = zmq_msg_more(&message);
    keep_frame(parts, &message);
  }
  return 1;
}

static bool is_skipped(const struct channel *channel, enum channel_name name,
                       const struct parts *parts) {
  return name == CHANNEL_IOPUB && channel->skip_over != 0 &&
         parts->bytes + parts->rest_bytes > channel->skip_over;
}

int channel_receive(struct channel *channel, enum channel_name name,
                    struct message *ret, struct err *err) {
  for (int dropped = 0; dropped < DROPPED_IN_A_ROW; dropped++) {
    CLEANUP(parts_free) struct parts parts;
    parts.count = parts.bytes = parts.rest_bytes = 0;
    parts.rest = 0;
    int result = receive_parts(channel->sockets[name], &parts, err);
    if (result <= 0)
      return result;
    bool read =
        (is_skipped(channel, name, &parts) &&
         wire_decode_head(parts.frames, parts.count, ret) == 1) ||
        wire_decode(&channel->key, parts.frames, parts.count, ret, NULL) == 0;
    if (read) {
      ret->bytes += parts.rest_bytes;
      ret->buffer_count += parts.rest;
      return 1;
    }
    channel->dropped++;
  }
  return 0;
}

int channel_descriptor(const struct channel *channel, enum channel_name name) {
  return channel->descriptors[name];
}

void channel_skip_outputs(struct channel *channel, size_t over) {
  channel->skip_over = over;
}

uint64_t channel_dropped(const struct channel *channel) {
  return channel->dropped;
}
