#include "fcgi/transport/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/mem.h"

#define PATIENCE_S 2
#define FIRST_PASSED 3 /* SD_LISTEN_FDS_START, sd_listen_fds(3) */

static bool is_listening(int descriptor) {
  int listening = 0;
  socklen_t size = sizeof listening;
  return getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) ==
             0 &&
         listening != 0;
}

/* The number of sockets that a service manager passed to this very process. */
static int passed_count(void) {
  const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
  if (pid == NULL || count == NULL || strtol(pid, NULL, 10) != getpid())
    return 0;
  return (int)strtol(count, NULL, 10);
}

static int take(int descriptor, struct listener *ret, struct err *err) {
  if (!is_listening(descriptor))
    return err_set(err, ERR_INVALID, "descriptor %d is no listening socket",
                   descriptor);
  int flags = fcntl(descriptor, F_GETFD);
  if (flags < 0 || fcntl(descriptor, F_SETFD, flags | FD_CLOEXEC) < 0)
    return err_errno(err, ERR_IO, errno, "descriptor %d", descriptor);
  *ret = (struct listener){.descriptor = descriptor, .inherited = true};
  return 0;
}

static int new_socket(struct err *err) {
  int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  return made >= 0 ? made
                   : err_errno(err, ERR_IO, errno, "cannot make a socket");
}

/* A socket whose process is gone refuses connections (unix(7)); one that is
 * alive accepts them, or its queue is full. */
static bool is_served(const struct sockaddr_un *address) {
  CLEANUP(mem_close_descriptor)
  int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  return probe < 0 ||
         connect(probe, (const struct sockaddr *)address, sizeof *address) ==
             0 ||
         (errno != ECONNREFUSED && errno != ENOENT);
}

/* A process that was killed lets go of its socket only when the last of its
 * threads is gone. */
static bool is_served_for_long(const struct sockaddr_un *address) {
  int64_t deadline = clock_monotonic_ns() + PATIENCE_S * CLOCK_S;
  while (is_served(address)) {
    if (clock_monotonic_ns() > deadline)
      return true;
    poll(NULL, 0, 20);
  }
  return false;
}

static int remove_stale(const struct sockaddr_un *address, struct err *err) {
  struct stat status;
  if (lstat(address->sun_path, &status) < 0)
    return errno == ENOENT ? 0
                           : err_errno(err, ERR_IO, errno, "cannot look at %s",
                                       address->sun_path);
  if (!S_ISSOCK(status.st_mode))
    return err_set(err, ERR_CONFLICT, "%s exists and is no socket",
                   address->sun_path);
  if (is_served_for_long(address))
    return err_set(err, ERR_CONFLICT, "another process serves %s",
                   address->sun_path);
  if (unlink(address->sun_path) < 0 && errno != ENOENT)
    return err_errno(err, ERR_IO, errno, "cannot remove %s", address->sun_path);
  return 0;
}

/* The mode is there from the first moment: fchmod(2) does not reach the file of
 * a socket. */
static int bind_and_listen(int descriptor, const struct sockaddr_un *address,
                           struct err *err) {
  mode_t before = umask(0117);
  int result =
      bind(descriptor, (const struct sockaddr *)address, sizeof *address);
  umask(before);
  if (result < 0)
    return err_errno(err, ERR_IO, errno, "cannot bind %s", address->sun_path);
  if (listen(descriptor, LISTENER_BACKLOG) < 0)
    return err_errno(err, ERR_IO, errno, "cannot listen on %s",
                     address->sun_path);
  return 0;
}

/* Holds the directory's lock, so that of two processes that find the same stale
 * socket the second one meets the first one's new socket. */
static int lock_directory(const char *path, struct err *err) {
  CLEANUP(mem_free_pointer) char *copy = mem_copy_text(path);
  CLEANUP(mem_close_descriptor)
  int directory = fs_open_directory(dirname(copy), err);
  if (directory < 0)
    return -1;
  while (flock(directory, LOCK_EX) < 0)
    if (errno != EINTR)
      return err_errno(err, ERR_IO, errno, "cannot lock the directory of %s",
                       path);
  return mem_steal_descriptor(&directory);
}

static int make(const char *path, struct listener *ret, struct err *err) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path)
    return err_set(err, ERR_INVALID, "%.200s is too long for a socket", path);
  memcpy(address.sun_path, path, strlen(path));
  CLEANUP(mem_close_descriptor) int lock = lock_directory(path, err);
  CLEANUP(mem_close_descriptor) int descriptor = new_socket(err);
  struct stat status;
  if (lock < 0 || descriptor < 0 || remove_stale(&address, err) < 0 ||
      bind_and_listen(descriptor, &address, err) < 0)
    return -1;
  if (stat(path, &status) < 0)
    return err_errno(err, ERR_IO, errno, "cannot look at %s", path);
  *ret = (struct listener){.descriptor = mem_steal_descriptor(&descriptor),
                           .path = mem_copy_text(path),
                           .device = status.st_dev,
                           .inode = status.st_ino};
  return 0;
}

int listener_open(const char *path, struct listener *ret, struct err *err) {
  int passed = passed_count();
  if (passed > 1)
    return err_set(err, ERR_INVALID, "%d sockets were passed, wanted is one",
                   passed);
  if (passed == 1)
    return take(FIRST_PASSED, ret, err);
  return is_listening(STDIN_FILENO) ? take(STDIN_FILENO, ret, err)
                                    : make(path, ret, err);
}

static void remove_name(const struct listener *listener) {
  struct stat status;
  if (lstat(listener->path, &status) == 0 &&
      status.st_dev == listener->device && status.st_ino == listener->inode)
    unlink(listener->path);
}

void listener_stop(struct listener *listener) {
  if (listener->inherited)
    return;
  remove_name(listener);
  shutdown(listener->descriptor, SHUT_RDWR);
}

void listener_close(struct listener *listener) {
  mem_close_descriptor(&listener->descriptor);
  free(listener->path);
}
