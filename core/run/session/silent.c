#include "core/run/session/silent.h"

#include <poll.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"

static int drain(struct channel *channel, enum channel_name name,
                 const struct silent_other *other, struct execution *execution,
                 struct err *err) {
  for (;;) {
    CLEANUP(message_free) struct message message = {0};
    int got = channel_receive(channel, name, &message, err);
    if (got <= 0)
      return got;
    enum client_event event = client_observe(execution, name, &message);
    if (event == CLIENT_FOREIGN && other != NULL)
      other->message(other->context, &message);
  }
}

int silent_execute(struct channel *channel, int process, const char *code,
                   const struct json *user_expressions, int64_t deadline_ns,
                   const struct silent_other *other, struct execution *ret,
                   struct err *err) {
  struct execute_options options = {.silent = true,
                                    .user_expressions = user_expressions};
  CLEANUP(execution_free) struct execution execution = {0};
  struct channel_watch ended = {process, POLLIN, 0};
  if (channel_wait_connected(channel, CHANNEL_SHELL, &ended, 1,
                             clock_poll_timeout(deadline_ns), err) < 0 ||
      client_execute(channel, code, strlen(code), &options, &execution, err) <
          0)
    return -1;
  while (!client_finished(&execution)) {
    int timeout = clock_poll_timeout(deadline_ns);
    struct channel_watch watch = {process, POLLIN, 0};
    int mask = channel_wait(channel, &watch, 1, timeout, err);
    if (mask < 0)
      return -1;
    for (int name = 0; name < CHANNEL_HEARTBEAT; name++)
      if ((mask & 1 << name) != 0 &&
          drain(channel, (enum channel_name)name, other, &execution, err) < 0)
        return -1;
    if (mask == 0 && watch.revents != 0)
      return err_set(err, ERR_UNAVAILABLE, "the kernel ended");
    if (mask == 0 && timeout == 0)
      return err_set(err, ERR_TIMEOUT, "the kernel did not answer in time");
  }
  *ret = execution;
  memset(&execution, 0, sizeof execution);
  return 0;
}
