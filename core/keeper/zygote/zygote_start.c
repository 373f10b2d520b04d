/* One kernel's order: sent, answered, awaited. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/keeper/shim/kernel_process.h"
#include "core/keeper/shim/shim_order.h"
#include "core/keeper/shim/zygote_fork.h"
#include "core/keeper/zygote/zygote_private.h"

#define ANSWER_LIMIT_MS 3000 /* for one fork */

static int send_order(struct zygote *zygote, const struct shim_order *order,
                      int report, struct err *err) {
  CLEANUP(buf_free) struct buf bytes = BUF_INIT(SHIM_ORDER_BYTES);
  int descriptors[SHIM_ORDER_DESCRIPTORS];
  int count = shim_order_pack(order, report, &bytes, descriptors);
  if (count < 0)
    return err_set(err, ERR_TOO_LARGE, "the order is too long");
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof descriptors)];
  } control = {0};
  size_t size = (size_t)count * sizeof *descriptors;
  struct iovec part = {bytes.data, bytes.length};
  struct msghdr message = {.msg_iov = &part,
                           .msg_iovlen = 1,
                           .msg_control = &control,
                           .msg_controllen = CMSG_SPACE(size)};
  control.header.cmsg_level = SOL_SOCKET;
  control.header.cmsg_type = SCM_RIGHTS;
  control.header.cmsg_len = CMSG_LEN(size);
  memcpy(CMSG_DATA(&control.header), descriptors, size);
  if (sendmsg(zygote->channel.descriptor, &message, MSG_NOSIGNAL) < 0)
    return err_errno(err, ERR_UNAVAILABLE, errno, "it takes no order");
  return 0;
}

static pid_t take_answer(struct zygote *zygote, struct err *err) {
  struct pollfd polled = {.fd = zygote->channel.descriptor, .events = POLLIN};
  struct zygote_answer answer;
  int ready;
  do
    ready = poll(&polled, 1, ANSWER_LIMIT_MS);
  while (ready < 0 && errno == EINTR);
  if (ready <= 0 || recv(polled.fd, &answer, sizeof answer, MSG_DONTWAIT) !=
                        (ssize_t)sizeof answer)
    return err_set(err, ERR_UNAVAILABLE, "it does not answer");
  if (answer.shim < 0)
    return err_errno(err, ERR_UNAVAILABLE, answer.error, "it cannot fork");
  return answer.shim;
}

int zygote_start(struct zygote *zygote, const struct shim_order *order,
                 struct shim_process *ret, struct err *err) {
  int report[2];
  if (kernel_process_open_reports(report, err) < 0)
    return -1;
  CLEANUP(mem_close_descriptor) int near = report[0];
  struct err fault = {0};
  int sent = send_order(zygote, order, report[1], &fault);
  close(report[1]);
  pid_t shim = sent != 0 ? -1 : take_answer(zygote, &fault);
  if (shim < 0) {
    if (fault.kind != ERR_TOO_LARGE)
      zygote_fail(zygote, fault.text);
    return err_set(err, fault.kind, "zygote %s: %s", zygote->name, fault.text);
  }
  return shim_await(shim, near, ret, err);
}
