#include "core/keeper/shim/zygote_fork.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/jail/layers/jail_namespaces.h"
#include "core/keeper/shim/kernel_process.h"
#include "core/keeper/shim/shim.h"
#include "core/keeper/shim/shim_order.h"

struct region {
  char *start;
  size_t size;
};

struct message {
  char bytes[SHIM_ORDER_BYTES];
  size_t length;
  int descriptors[SHIM_ORDER_DESCRIPTORS];
  int count;
};

static struct region arguments_region, environment_region;
static struct message message;
static struct shim_order order; /* a kernel's */

/* Fields 48 to 51 of /proc/self/stat (proc(5)). */
int zygote_fork_open(void) {
  char text[2048];
  CLEANUP(mem_close_descriptor)
  int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  ssize_t got = file < 0 ? -1 : read(file, text, sizeof text - 1);
  if (got <= 0)
    return -1;
  text[got] = '\0';
  char *place = strrchr(text, ')');
  for (int field = 2; field < 48 && place != NULL; field++)
    place = strchr(place + 1, ' ');
  uintptr_t ends[4];
  if (place == NULL ||
      sscanf(place, " %" SCNuPTR " %" SCNuPTR " %" SCNuPTR " %" SCNuPTR,
             &ends[0], &ends[1], &ends[2], &ends[3]) != 4)
    return -1;
  arguments_region = (struct region){(char *)ends[0], ends[1] - ends[0]};
  environment_region = (struct region){(char *)ends[2], ends[3] - ends[2]};
  shim_give_title_room(arguments_region.start, arguments_region.size);
  return 0;
}

/* One text behind the other, as far as there is room. The last byte stays NUL:
 * else ps(1) would read on. */
static void write_list(const struct region *region, char *const *list) {
  size_t used = 0;
  memset(region->start, 0, region->size);
  for (; *list != NULL && region->size - used > 1; list++) {
    size_t length = strnlen(*list, region->size - used - 1);
    memcpy(region->start + used, *list, length);
    used += length + 1;
    if (used >= region->size)
      return;
  }
}

void zygote_fork_call(const char *name) {
  char *const list[] = {(char *)name, NULL};
  const char *slash = strrchr(name, '/');
  prctl(PR_SET_NAME, slash == NULL ? name : slash + 1);
  write_list(&arguments_region, list);
}

void zygote_fork_show(char *const *arguments, char *const *environment) {
  const char *slash = strrchr(arguments[0], '/');
  prctl(PR_SET_NAME, slash == NULL ? arguments[0] : slash + 1);
  write_list(&arguments_region, arguments);
  write_list(&environment_region, environment);
}

static void take_descriptors(struct msghdr *header) {
  message.count = 0;
  for (struct cmsghdr *part = CMSG_FIRSTHDR(header); part != NULL;
       part = CMSG_NXTHDR(header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
      continue;
    size_t size = part->cmsg_len - CMSG_LEN(0);
    memcpy(message.descriptors, CMSG_DATA(part), size);
    message.count = (int)(size / sizeof(int));
  }
}

/* 1; 0 when the channel is closed; -1. */
static int receive(int channel) {
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(SHIM_ORDER_DESCRIPTORS * sizeof(int))];
  } control;
  struct iovec part = {message.bytes, sizeof message.bytes};
  struct msghdr header = {.msg_iov = &part,
                          .msg_iovlen = 1,
                          .msg_control = &control,
                          .msg_controllen = sizeof control};
  ssize_t got;
  do
    got = recvmsg(channel, &header, MSG_CMSG_CLOEXEC);
  while (got < 0 && errno == EINTR);
  if (got <= 0)
    return (int)got;
  message.length = (size_t)got;
  take_descriptors(&header);
  return 1;
}

static void close_descriptors(void) {
  for (int i = 0; i < message.count; i++)
    close(message.descriptors[i]);
}

/* Returns in the kernel. */
static void be_shim(void) {
  int report = -1;
  struct err err = {0};
  if (shim_order_unpack(message.bytes, message.length, message.descriptors,
                        message.count, &order, &report, &err) < 0)
    _exit(127);
  shim_be(&order, report);
}

static int answer(int channel, pid_t shim, int error) {
  const struct zygote_answer told = {shim, shim < 0 ? error : 0};
  ssize_t sent;
  do
    sent = send(channel, &told, sizeof told, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent < 0 ? -1 : 0;
}

int zygote_fork_wait(int channel) {
  for (;;) {
    struct jail jail;
    int got = receive(channel);
    if (got <= 0)
      return got;
    pid_t shim = -1;
    int error = EBADMSG;
    if (shim_order_peek(message.bytes, message.length, &jail) == 0) {
      shim = jail_namespaces_fork_sibling(&jail);
      error = errno;
    }
    if (shim == 0) {
      be_shim();
      return 1;
    }
    close_descriptors();
    if (answer(channel, shim, error) < 0)
      return -1;
  }
}

char *const *zygote_fork_arguments(void) { return order.argv; }
char *const *zygote_fork_environment(void) { return order.environment; }
int zygote_fork_attendance(void) { return order.attendance; }
