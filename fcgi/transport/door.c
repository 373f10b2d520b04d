#include "fcgi/transport/door.h"

#include <errno.h>
#include <fcgiapp.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/fs.h"
#include "core/base/mem.h"

#define CGI_CHUNK ((size_t)64 << 10)

struct door {
  bool cgi;
  bool failed;   /* the peer took nothing any more */
  bool finished; /* nothing is open */
  FCGX_Request request;
  struct buf written; /* CGI: waits for door_flush */
};

int door_init(void) { return FCGX_Init() == 0 ? 0 : -1; }

bool door_is_cgi(void) {
  return FCGX_IsCGI() && getenv("GATEWAY_INTERFACE") != NULL;
}

struct door *door_open(int listener) {
  struct door *door = mem_new(sizeof *door);
  door->finished = true;
  FCGX_InitRequest(&door->request, listener, 0);
  return door;
}

struct door *door_open_cgi(void) {
  struct door *door = mem_new(sizeof *door);
  door->cgi = true;
  door->written = (struct buf)BUF_INIT(2 * CGI_CHUNK);
  return door;
}

void door_close(struct door *door) {
  door_finish(door);
  buf_free(&door->written);
  free(door);
}

/* A peer that neither reads nor closes must not hold a thread for ever. */
static void set_timeouts(int descriptor) {
  struct timeval limit = {.tv_sec = DOOR_TIMEOUT};
  setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

int door_accept(struct door *door) {
  int result = FCGX_Accept_r(&door->request);
  if (result < 0)
    return result;
  door->failed = false;
  door->finished = false;
  set_timeouts(door->request.ipcFd);
  return 0;
}

const char *door_param(const struct door *door, const char *name) {
  return door->cgi ? getenv(name) : FCGX_GetParam(name, door->request.envp);
}

static size_t read_cgi(char *bytes, size_t size) {
  size_t length = 0;
  while (length < size) {
    ssize_t got = read(STDIN_FILENO, bytes + length, size - length);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      break;
    length += (size_t)got;
  }
  return length;
}

size_t door_read(struct door *door, void *bytes, size_t size) {
  if (door->cgi)
    return read_cgi(bytes, size);
  int wanted = size > INT_MAX ? INT_MAX : (int)size;
  int got = FCGX_GetStr(bytes, wanted, door->request.in);
  return got < 0 ? 0 : (size_t)got;
}

static int flush_cgi(struct door *door) {
  struct err err;
  int result = fs_write_all(STDOUT_FILENO, buf_string(&door->written),
                            door->written.length, &err);
  buf_reset(&door->written);
  return result;
}

static int write_cgi(struct door *door, const char *bytes, size_t size) {
  struct err err;
  if (door->written.length + size > CGI_CHUNK && flush_cgi(door) < 0)
    return -1;
  if (size > CGI_CHUNK)
    return fs_write_all(STDOUT_FILENO, bytes, size, &err);
  return buf_append(&door->written, bytes, size);
}

static int write_fastcgi(struct door *door, const char *bytes, size_t size) {
  while (size != 0) {
    int part = size > INT_MAX ? INT_MAX : (int)size;
    if (FCGX_PutStr(bytes, part, door->request.out) != part)
      return -1;
    bytes += part;
    size -= (size_t)part;
  }
  return 0;
}

int door_write(struct door *door, const void *bytes, size_t size) {
  if (door->failed || door->finished)
    return -1;
  int result = door->cgi ? write_cgi(door, bytes, size)
                         : write_fastcgi(door, bytes, size);
  door->failed = result < 0;
  return result;
}

int door_flush(struct door *door) {
  if (door->failed || door->finished)
    return -1;
  int result = door->cgi ? flush_cgi(door) : FCGX_FFlush(door->request.out);
  door->failed = result < 0;
  return result;
}

int door_connection(const struct door *door) {
  return door->cgi || door->finished ? -1 : door->request.ipcFd;
}

int door_detach(struct door *door, int *request) {
  if (door->cgi || door_flush(door) < 0)
    return -1;
  int socket = fcntl(door->request.ipcFd, F_DUPFD_CLOEXEC, 0);
  if (socket < 0)
    return -1;
  *request = door->request.requestId;
  /* Detached, it is closed without shutdown(2), which would reach our copy. */
  FCGX_Detach(&door->request);
  FCGX_Free(&door->request, 1);
  door->finished = true;
  return socket;
}

/* The web server waits for the end of standard output and of standard error,
 * and this process may still have a run to see to its end. */
static void finish_cgi(struct door *door) {
  if (!door->failed)
    flush_cgi(door);
  int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nothing < 0)
    return;
  for (int descriptor = 0; descriptor <= 2; descriptor++)
    dup2(nothing, descriptor);
  close(nothing);
}

void door_break_off(struct door *door) {
  if (door->cgi || door->finished)
    return;
  FCGX_Free(&door->request, 1);
  door->finished = true;
}

void door_finish(struct door *door) {
  if (door->finished)
    return;
  if (door->cgi)
    finish_cgi(door);
  else
    FCGX_Finish_r(&door->request);
  door->finished = true;
}
