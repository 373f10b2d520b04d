#include "core/keeper/zygote/zygote_process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/ipykernel/ipykernel.h"
#include "core/keeper/shim/kernel_process.h"
#include "core/keeper/shim/shim_order.h"
#include "core/keeper/shim/zygote_fork.h"
#include "embedded.h"

/* zygote_library.S */
extern const char zygote_library[], zygote_library_end[];

/* Above those that the zygote gets. */
#define DESCRIPTORS_FROM 16
/* What a zygote is started with must be as long as what a kernel shows instead
 * (zygote_fork_show): a last argument and a variable of so many spaces. */
#define ARGUMENT_ROOM 384
#define VARIABLE_ROOM 4096
/* debugpy warns of modules that are frozen, in vain: nobody debugs a zygote. */
#define QUIET_DEBUGGER "PYDEVD_DISABLE_FILE_VALIDATION=1"

#define ANSWER_LIMIT_MS 3000 /* for one fork */

struct ends {
  int channel[2], words[2], library, script, kernel, setup;
};

static void close_ends(struct ends *ends) {
  int *const all[] = {&ends->channel[0], &ends->channel[1], &ends->words[0],
                      &ends->words[1],   &ends->library,    &ends->script};
  for (size_t i = 0; i < COUNT_OF(all); i++)
    mem_close_descriptor(all[i]);
}

static int open_memory(const char *bytes, size_t size, struct err *err) {
  CLEANUP(mem_close_descriptor)
  int file = memfd_create("cellpost-zygote", MFD_CLOEXEC);
  if (file < 0)
    return err_errno(err, ERR_IO, errno, "cannot make a memory file");
  if (fs_write_all(file, bytes, size, err) < 0)
    return -1;
  return mem_steal_descriptor(&file);
}

static int open_script(const char *path, struct err *err) {
  const struct embedded_file *file = embedded_find(path);
  return open_memory(file->text, file->length, err);
}

static int open_ends(struct ends *ends, struct err *err) {
  /* cppcheck-suppress comparePointers ; to the linker it is one object */
  size_t size = (size_t)(zygote_library_end - zygote_library);
  ends->library = open_memory(zygote_library, size, err);
  ends->script = open_script("core/keeper/zygote/zygote.py", err);
  ends->kernel = open_script("core/keeper/zygote/zygote_kernel.py", err);
  ends->setup = open_script(IPYKERNEL_SETUP, err);
  if (ends->library < 0 || ends->script < 0 || ends->kernel < 0 ||
      ends->setup < 0)
    return -1;
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends->channel) !=
          0 ||
      pipe2(ends->words, O_CLOEXEC) < 0 ||
      fcntl(ends->words[0], F_SETFL, O_NONBLOCK) < 0)
    return err_errno(err, ERR_IO, errno, "cannot make a pair of sockets");
  return 0;
}

/* program… script name arguments preload… room */
static char **compose_arguments(const struct zygote_order *order) {
  size_t count = 0;
  const char *next = order->preload;
  char **list = mem_array(strlen(next) + 16, sizeof *list);
  for (char *const *word = order->program; *word != NULL && count < 8; word++)
    list[count++] = mem_copy_text(*word);
  list[count++] = mem_format("/proc/self/fd/%d", ZYGOTE_SCRIPT);
  list[count++] = mem_copy_text(order->name);
  list[count++] = mem_copy_text(order->arguments);
  for (next += strspn(next, " \t"); *next != '\0';
       next += strspn(next, " \t")) {
    size_t length = strcspn(next, " \t");
    list[count++] = mem_copy_bytes(next, length);
    next += length;
  }
  list[count] = mem_format("%*s", ARGUMENT_ROOM, "");
  return list;
}

static char **compose_environment(char *const *environment) {
  size_t count = 0;
  while (environment[count] != NULL)
    count++;
  char **list = mem_array(count + 3, sizeof *list);
  for (size_t i = 0; i < count; i++)
    list[i] = mem_copy_text(environment[i]);
  list[count++] = mem_copy_text(QUIET_DEBUGGER);
  list[count] = mem_format("CELLPOST_ROOM=%*s", VARIABLE_ROOM, "");
  return list;
}

static void free_list(char **list) {
  for (size_t i = 0; list != NULL && list[i] != NULL; i++)
    free(list[i]);
  free(list);
}

static void free_lists(char ***list) { free_list(*list); }

/* In the child. Everything is moved up first: it may have the number that
 * something else must get. */
static int arrange(const struct ends *ends, pid_t keeper) {
  const struct {
    int from, to;
  } places[] = {{ends->channel[1], ZYGOTE_CHANNEL},
                {ends->library, ZYGOTE_LIBRARY},
                {ends->script, ZYGOTE_SCRIPT},
                {ends->kernel, ZYGOTE_KERNEL},
                {ends->setup, ZYGOTE_SETUP},
                {open("/dev/null", O_RDWR | O_CLOEXEC), 0},
                {ends->words[1], 1},
                {ends->words[1], 2}};
  int kept[COUNT_OF(places)];
  for (size_t i = 0; i < COUNT_OF(places); i++) {
    kept[i] = fcntl(places[i].from, F_DUPFD_CLOEXEC, DESCRIPTORS_FROM);
    if (kept[i] < 0)
      return -1;
  }
  for (size_t i = 0; i < COUNT_OF(places); i++) {
    if (dup2(kept[i], places[i].to) < 0)
      return -1;
    kept[i] = places[i].to;
  }
  kernel_process_close_others(kept, COUNT_OF(kept));
  if (setsid() < 0 || chdir("/") < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ||
      getppid() != keeper)
    return -1;
  return 0;
}

int zygote_process_start(const struct zygote_order *order,
                         struct zygote_process *ret, struct err *err) {
  CLEANUP(close_ends)
  struct ends ends = {{-1, -1}, {-1, -1}, -1, -1, -1, -1};
  if (open_ends(&ends, err) < 0)
    return -1;
  CLEANUP(free_lists) char **arguments = compose_arguments(order);
  CLEANUP(free_lists)
  char **variables = compose_environment(order->environment);
  pid_t keeper = getpid();
  pid_t pid = fork();
  if (pid == 0) {
    kernel_process_renew_signals();
    if (arrange(&ends, keeper) == 0)
      kernel_process_execute(arguments, variables);
    _exit(127);
  }
  if (pid < 0)
    return err_errno(err, ERR_IO, errno, "cannot fork");
  *ret = (struct zygote_process){
      .pid = pid,
      .end = (int)syscall(SYS_pidfd_open, pid, 0U),
      .channel = mem_steal_descriptor(&ends.channel[0]),
      .words = mem_steal_descriptor(&ends.words[0]),
  };
  return 0;
}

static int send_order(int channel, const struct shim_order *order, int report,
                      struct err *err) {
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
  if (sendmsg(channel, &message, MSG_NOSIGNAL) < 0)
    return err_errno(err, ERR_PROTOCOL, errno, "it takes no order");
  return 0;
}

static pid_t take_answer(int channel, struct err *err) {
  struct pollfd polled = {.fd = channel, .events = POLLIN};
  struct zygote_answer answer;
  int ready;
  do
    ready = poll(&polled, 1, ANSWER_LIMIT_MS);
  while (ready < 0 && errno == EINTR);
  if (ready <= 0 || recv(polled.fd, &answer, sizeof answer, MSG_DONTWAIT) !=
                        (ssize_t)sizeof answer)
    return err_set(err, ERR_PROTOCOL, "it does not answer");
  if (answer.shim < 0)
    return err_errno(err, ERR_PROTOCOL, answer.error, "it cannot fork");
  return answer.shim;
}

int zygote_process_fork(int channel, const struct shim_order *order,
                        struct shim_process *ret, struct err *err) {
  int report[2];
  if (kernel_process_open_reports(report, err) < 0)
    return -1;
  CLEANUP(mem_close_descriptor) int near = report[0];
  int sent = send_order(channel, order, report[1], err);
  close(report[1]);
  pid_t shim = sent < 0 ? -1 : take_answer(channel, err);
  return shim < 0 ? -1 : shim_await(shim, near, ret, err);
}

static char *find_program(const char *program, char *const *environment) {
  if (strchr(program, '/') != NULL)
    return mem_copy_text(program);
  const char *next = kernel_process_path(environment);
  while (*next != '\0') {
    size_t length = strcspn(next, ":");
    char *path = mem_format("%.*s/%s", (int)length, next, program);
    if (access(path, X_OK) == 0)
      return path;
    free(path);
    next += length + (next[length] == ':');
  }
  return NULL;
}

/* Who can write to a directory can replace what is in it. */
static bool is_firm(const char *path) {
  struct stat status;
  return lstat(path, &status) == 0 &&
         (status.st_uid == 0 || status.st_uid == geteuid()) &&
         (S_ISLNK(status.st_mode) || (status.st_mode & S_IWOTH) == 0) &&
         (S_ISLNK(status.st_mode) || (status.st_mode & S_IWGRP) == 0 ||
          status.st_gid == 0);
}

static bool is_firm_throughout(const char *path) {
  CLEANUP(mem_free_pointer) char *copy = mem_copy_text(path);
  for (char *slash = copy + 1; *path == '/'; slash++) {
    slash = strchr(slash, '/');
    if (slash != NULL)
      *slash = '\0';
    if (!is_firm(copy))
      return false;
    if (slash == NULL)
      return true;
    *slash = '/';
  }
  return false;
}

static bool is_virtual(const char *path) {
  size_t length = (size_t)(strrchr(path, '/') - path);
  CLEANUP(mem_free_pointer)
  char *beside = mem_format("%.*s/pyvenv.cfg", (int)length, path);
  CLEANUP(mem_free_pointer)
  char *above = mem_format("%.*s/../pyvenv.cfg", (int)length, path);
  return access(beside, F_OK) == 0 || access(above, F_OK) == 0;
}

char *zygote_process_distrust(const char *program, char *const *environment) {
  CLEANUP(mem_free_pointer) char *path = find_program(program, environment);
  char resolved[PATH_MAX];
  if (path == NULL || realpath(path, resolved) == NULL)
    return mem_format("%s is not found", program);
  if (is_virtual(path))
    return mem_format("%s is of a virtual environment", path);
  if (!is_firm_throughout(path) || !is_firm_throughout(resolved))
    return mem_format("others than root can change %s", path);
  return NULL;
}
