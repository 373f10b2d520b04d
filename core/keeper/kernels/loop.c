#include "core/keeper/kernels/loop.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "core/base/mem.h"

int loop_open(struct loop *ret, struct err *err) {
  int epoll = epoll_create1(EPOLL_CLOEXEC);
  if (epoll < 0)
    return err_errno(err, ERR_IO, errno, "cannot make an event loop");
  ret->epoll = epoll;
  return 0;
}

void loop_close(struct loop *loop) { mem_close_descriptor(&loop->epoll); }

int loop_add(struct loop *loop, struct loop_source *source, struct err *err) {
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = source};
  if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, source->descriptor, &event) < 0)
    return err_errno(err, ERR_IO, errno, "cannot watch a descriptor");
  return 0;
}

void loop_remove(struct loop *loop, struct loop_source *source) {
  if (source->descriptor < 0)
    return;
  epoll_ctl(loop->epoll, EPOLL_CTL_DEL, source->descriptor, NULL);
  close(source->descriptor);
  source->descriptor = -1;
}

void loop_turn(struct loop *loop, int timeout_ms) {
  struct epoll_event event;
  if (epoll_wait(loop->epoll, &event, 1, timeout_ms) != 1)
    return;
  struct loop_source *source = event.data.ptr;
  source->ready(source->context);
}
