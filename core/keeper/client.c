#include "core/keeper/client.h"

#include <sys/socket.h>

#include "core/base/clock.h"
#include "core/base/mem.h"

#define SILENCE_NS (30 * CLOCK_S)

static void client_send(struct client *client, const struct buf *text) {
  client->waiting = false;
  client->leave_at = clock_monotonic_ns() + SILENCE_NS;
  if (send(client->source.descriptor, text->data, text->length,
           MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)text->length)
    shutdown(client->source.descriptor, SHUT_RDWR);
}

void client_answer(struct client *client, const struct control_kernel *kernel) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_CONTROL_MESSAGE);
  control_answer_encode(kernel, &text);
  client_send(client, &text);
}

void client_refuse(struct client *client, const struct err *fault) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_CONTROL_MESSAGE);
  control_answer_encode_error(fault, &text);
  client_send(client, &text);
}
