#include "core/process/log_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/layout.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/json/json.h"

static const char *const names[2] = {LAYOUT_LOG ".0", LAYOUT_LOG ".1"};

int log_ring_open(int directory, struct log_ring *ret, struct err *err) {
  struct log_ring ring = {.files = {-1, -1}};
  for (int i = 0; i < 2; i++) {
    ring.files[i] = openat(
        directory, names[i],
        O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (ring.files[i] >= 0)
      continue;
    int number = errno;
    log_ring_close(&ring);
    return err_errno(err, ERR_IO, number, "cannot make the log %s", names[i]);
  }
  *ret = ring;
  return 0;
}

void log_ring_close(struct log_ring *ring) {
  for (int i = 0; i < 2; i++)
    mem_close_descriptor(&ring->files[i]);
}

/* The other file is emptied before it becomes the current one, so that a reader
 * never takes its old content for new. */
static void turn(struct log_ring *ring) {
  unsigned other = 1 - ring->current;
  if (ftruncate(ring->files[other], 0) < 0)
    return;
  ring->current = other;
  ring->used = 0;
}

void log_ring_write(struct log_ring *ring, const char *bytes, size_t length) {
  while (length != 0 && ring->used < LOG_RING_FILE) {
    size_t room = LOG_RING_FILE - ring->used;
    ssize_t written =
        write(ring->files[ring->current], bytes, length < room ? length : room);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return;
    bytes += written;
    length -= (size_t)written;
    ring->used += (size_t)written;
    if (ring->used == LOG_RING_FILE)
      turn(ring);
  }
}

static int append_file(int directory, const char *name, struct buf *out) {
  CLEANUP(mem_close_descriptor)
  int file = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  return file < 0 ? 0 : fs_read_all(file, out, NULL);
}

int log_ring_read(int directory, struct buf *out) {
  struct stat status;
  bool first_is_older =
      fstatat(directory, names[0], &status, AT_SYMLINK_NOFOLLOW) == 0 &&
      (size_t)status.st_size >= LOG_RING_FILE;
  if (append_file(directory, names[first_is_older ? 0 : 1], out) < 0)
    return -1;
  return append_file(directory, names[first_is_older ? 1 : 0], out);
}

void log_ring_tail(int directory, char *text, size_t size) {
  CLEANUP(buf_free) struct buf raw = BUF_INIT(4 * LOG_RING_FILE);
  CLEANUP(buf_free) struct buf clean = BUF_INIT(12 * LOG_RING_FILE);
  log_ring_read(directory, &raw);
  /* A few bytes more than wanted: half a character at the start is then among
   * what is cut off below. */
  size_t wanted = size + 4;
  size_t skipped = raw.length > wanted ? raw.length - wanted : 0;
  for (size_t i = skipped; i < raw.length; i++)
    if (raw.data[i] == '\0')
      raw.data[i] = ' ';
  utf8_repair(buf_string(&raw) + skipped, raw.length - skipped, &clean);
  const char *start = buf_string(&clean);
  if (clean.length > size - 1)
    start += clean.length - (size - 1);
  while (utf8_is_continuation(*start))
    start++;
  snprintf(text, size, "%s", start);
}
