#include "core/control/control.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/control/control_message.h"

#define QUICK_MS 5000 /* for verbs that the keeper answers at once */

static int unreachable(const char *path, int number, struct err *err) {
  return err_errno(err, ERR_UNAVAILABLE, number,
                   "the keeper does not answer at %s", path);
}

/* SO_SNDTIMEO bounds connect(2), too: it waits while the keeper's backlog is
 * full (unix(7), socket(7)). */
static int open_socket(const char *path, int timeout_ms, struct err *err) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path)
    return err_set(err, ERR_INVALID, "the socket path %s is too long", path);
  memcpy(address.sun_path, path, strlen(path));
  CLEANUP(mem_close_descriptor)
  int peer = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  struct timeval limit = {.tv_sec = timeout_ms / 1000,
                          .tv_usec = (suseconds_t)(timeout_ms % 1000) * 1000};
  if (peer < 0 ||
      setsockopt(peer, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) < 0)
    return err_errno(err, ERR_IO, errno, "cannot make a socket");
  int result;
  do
    result = connect(peer, (const struct sockaddr *)&address, sizeof address);
  while (result < 0 && errno == EINTR);
  if (result < 0)
    return unreachable(path, errno, err);
  return mem_steal_descriptor(&peer);
}

static int wait_readable(int peer, int64_t deadline, struct err *err) {
  struct pollfd poll_fd = {.fd = peer, .events = POLLIN};
  for (;;) {
    int ready = poll(&poll_fd, 1, clock_poll_timeout(deadline));
    if (ready > 0)
      return 0;
    if (ready == 0)
      return err_set(err, ERR_TIMEOUT, "the keeper did not answer in time");
    if (errno != EINTR)
      return err_errno(err, ERR_IO, errno, "cannot wait for the keeper");
  }
}

/* What a request says; NULL: nothing. */
struct words {
  const char *task, *kernel, *end, *reason;
};

static bool fits(const char *text, char *room, size_t size) {
  int length = snprintf(room, size, "%s", text == NULL ? "" : text);
  return length >= 0 && (size_t)length < size;
}

/* Only the reason may be cut: half an id could be another one's. */
static int compose(enum control_verb verb, const struct words *words,
                   int64_t deadline, struct buf *out, struct err *err) {
  struct control_request request = {.verb = verb, .deadline = deadline};
  if (!fits(words->task, request.task, sizeof request.task) ||
      !fits(words->kernel, request.kernel, sizeof request.kernel) ||
      !fits(words->end, request.end, sizeof request.end))
    return err_set(err, ERR_INVALID, "an id for the keeper is too long");
  fits(words->reason, request.reason, sizeof request.reason);
  if (control_request_encode(&request, out) < 0)
    return err_set(err, ERR_INVALID, "a request to the keeper is too long");
  return 0;
}

static int exchange(const char *path, enum control_verb verb,
                    const struct words *words, int timeout_ms,
                    struct control_kernel *ret, struct err *err) {
  int64_t deadline = clock_monotonic_ns() + timeout_ms * CLOCK_MS;
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_CONTROL_MESSAGE);
  if (compose(verb, words, deadline, &text, err) < 0)
    return -1;
  CLEANUP(mem_close_descriptor) int peer = open_socket(path, timeout_ms, err);
  if (peer < 0)
    return -1;
  if (send(peer, text.data, text.length, MSG_NOSIGNAL) < 0)
    return unreachable(path, errno, err);
  if (wait_readable(peer, deadline, err) < 0)
    return -1;
  buf_reset(&text);
  char *room = buf_reserve(&text, BUF_CONTROL_MESSAGE);
  ssize_t got = recv(peer, room, BUF_CONTROL_MESSAGE, 0);
  if (got <= 0)
    return unreachable(path, got < 0 ? errno : ECONNRESET, err);
  return control_answer_decode(room, (size_t)got, ret, err);
}

int control_start(const char *socket_path, const char *task, int timeout_ms,
                  struct control_kernel *ret, struct err *err) {
  return exchange(socket_path, CONTROL_START, &(struct words){.task = task},
                  timeout_ms, ret, err);
}

int control_interrupt(const char *socket_path, const char *kernel,
                      struct err *err) {
  return exchange(socket_path, CONTROL_INTERRUPT,
                  &(struct words){.kernel = kernel}, QUICK_MS, NULL, err);
}

int control_stack(const char *socket_path, const char *kernel,
                  struct err *err) {
  return exchange(socket_path, CONTROL_STACK, &(struct words){.kernel = kernel},
                  QUICK_MS, NULL, err);
}

int control_stop(const char *socket_path, const char *task, const char *kernel,
                 const char *end, const char *reason, int timeout_ms,
                 struct err *err) {
  struct words words = {task, kernel, end, reason};
  return exchange(socket_path, CONTROL_STOP, &words, timeout_ms, NULL, err);
}

int control_restart(const char *socket_path, const char *task,
                    const char *reason, int timeout_ms,
                    struct control_kernel *ret, struct err *err) {
  struct words words = {.task = task, .reason = reason};
  return exchange(socket_path, CONTROL_RESTART, &words, timeout_ms, ret, err);
}

int control_status(const char *socket_path, const char *kernel,
                   struct control_kernel *ret, struct err *err) {
  return exchange(socket_path, CONTROL_STATUS,
                  &(struct words){.kernel = kernel}, QUICK_MS, ret, err);
}

int control_shutdown(const char *socket_path, int timeout_ms, struct err *err) {
  return exchange(socket_path, CONTROL_SHUTDOWN, &(struct words){0}, timeout_ms,
                  NULL, err);
}
