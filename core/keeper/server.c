#include "core/keeper/server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/keeper/client.h"
#include "core/keeper/verbs.h"

#define BACKLOG 1024
#define MOST_CLIENTS 1024
#define SILENCE_NS (30 * CLOCK_S)

static void client_close(struct client *client) {
  struct keeper *keeper = client->keeper;
  verbs_abandon(keeper, client);
  for (struct client **place = &keeper->clients; *place != NULL;
       place = &(*place)->next) {
    if (*place != client)
      continue;
    *place = client->next;
    break;
  }
  keeper->client_count--;
  loop_remove(&keeper->loop, &client->source);
  free(client);
}

/* Nobody waits for the answer any more, and what was true when the order was
 * sent need not be true now. */
static bool is_late(const struct control_request *request, struct err *err) {
  if (request->deadline == 0 || clock_monotonic_ns() < request->deadline)
    return false;
  err_set(err, ERR_TIMEOUT, "the order was read after its deadline");
  return true;
}

/* One message is one request. A client that sends another one before its answer
 * has come, or hangs up, is dropped; what it asked for goes on. */
static void on_client(void *context) {
  struct client *client = context;
  struct control_request request;
  struct err err = {0};
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_CONTROL_MESSAGE);
  char *room = buf_reserve(&text, BUF_CONTROL_MESSAGE);
  ssize_t got = recv(client->source.descriptor, room, BUF_CONTROL_MESSAGE,
                     MSG_DONTWAIT | MSG_TRUNC);
  if (got < 0 && (errno == EAGAIN || errno == EINTR))
    return;
  if (got <= 0 || client->waiting) {
    client_close(client);
    return;
  }
  client->waiting = true;
  if (client->stranger)
    err_set(&err, ERR_DENIED, "this user may not ask the keeper");
  else if ((size_t)got > BUF_CONTROL_MESSAGE)
    err_set(&err, ERR_TOO_LARGE, "the request is too long");
  else if (control_request_decode(room, (size_t)got, &request, &err) >= 0 &&
           !is_late(&request, &err)) {
    verbs_handle(client->keeper, client, &request);
    return;
  }
  client_refuse(client, &err);
}

static void client_add(struct keeper *keeper, int descriptor, uid_t uid) {
  struct client *client = mem_new(sizeof *client);
  client->keeper = keeper;
  client->owner = uid == 0 || uid == geteuid();
  client->stranger = !client->owner && uid != keeper->places.jail.uid;
  client->leave_at = clock_monotonic_ns() + SILENCE_NS;
  client->source = (struct loop_source){descriptor, on_client, client};
  client->next = keeper->clients;
  keeper->clients = client;
  keeper->client_count++;
  if (loop_add(&keeper->loop, &client->source, NULL) < 0)
    client_close(client);
}

/* One that is not let in gets one answer all the same. */
static void turn_away(int descriptor, const char *text) {
  struct err err = {0};
  CLEANUP(buf_free) struct buf answer = BUF_INIT(BUF_CONTROL_MESSAGE);
  err_set(&err, ERR_UNAVAILABLE, "%s", text);
  log_warning("a connection is turned away: %s", text);
  control_answer_encode_error(&err, &answer);
  send(descriptor, answer.data, answer.length, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Without a descriptor to spare a connection could be neither taken nor turned
 * away, and the loop would spin on it. */
static void accept_with_spare(struct keeper *keeper) {
  mem_close_descriptor(&keeper->spare);
  CLEANUP(mem_close_descriptor)
  int peer = accept4(keeper->listener.descriptor, NULL, NULL, SOCK_CLOEXEC);
  if (peer >= 0)
    turn_away(peer, "the keeper has no descriptors left");
  mem_close_descriptor(&peer);
  keeper->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void on_connection(void *context) {
  struct keeper *keeper = context;
  CLEANUP(mem_close_descriptor)
  int peer = accept4(keeper->listener.descriptor, NULL, NULL,
                     SOCK_CLOEXEC | SOCK_NONBLOCK);
  struct ucred who;
  socklen_t length = sizeof who;
  if (peer < 0) {
    if (errno == EMFILE || errno == ENFILE)
      accept_with_spare(keeper);
    return;
  }
  if (getsockopt(peer, SOL_SOCKET, SO_PEERCRED, &who, &length) < 0)
    return;
  if (keeper->client_count >= MOST_CLIENTS)
    turn_away(peer, "too many ask the keeper at once");
  else
    client_add(keeper, mem_steal_descriptor(&peer), who.uid);
}

static int listen_at(const struct places *places, int listener,
                     struct err *err) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(places->socket) >= sizeof address.sun_path)
    return err_set(err, ERR_INVALID, "the socket path %s is too long",
                   places->socket);
  memcpy(address.sun_path, places->socket, strlen(places->socket));
  unlink(places->socket);
  mode_t mask = umask(0117); /* 0660 from the first moment on */
  int result =
      bind(listener, (const struct sockaddr *)&address, sizeof address);
  umask(mask);
  if (result < 0 ||
      (places->jail.switch_user &&
       lchown(places->socket, 0, places->jail.gid) < 0) ||
      listen(listener, BACKLOG) < 0)
    return err_errno(err, ERR_IO, errno, "cannot listen on %s", places->socket);
  return 0;
}

int server_open(struct keeper *keeper, struct err *err) {
  CLEANUP(mem_close_descriptor)
  int listener =
      socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener < 0)
    return err_errno(err, ERR_IO, errno, "cannot make a socket");
  if (listen_at(&keeper->places, listener, err) < 0)
    return -1;
  keeper->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
  keeper->listener = (struct loop_source){mem_steal_descriptor(&listener),
                                          on_connection, keeper};
  return loop_add(&keeper->loop, &keeper->listener, err);
}

void server_close(struct keeper *keeper) {
  mem_close_descriptor(&keeper->spare);
  if (keeper->listener.descriptor < 0)
    return;
  unlink(keeper->places.socket);
  loop_remove(&keeper->loop, &keeper->listener);
  while (keeper->clients != NULL)
    client_close(keeper->clients);
}

int64_t server_turn(struct keeper *keeper) {
  int64_t now = clock_monotonic_ns(), next = KEEPER_NEVER;
  struct client *following;
  for (struct client *client = keeper->clients; client != NULL;
       client = following) {
    following = client->next;
    if (client->waiting)
      continue;
    if (now >= client->leave_at)
      client_close(client);
    else if (client->leave_at < next)
      next = client->leave_at;
  }
  return next;
}
