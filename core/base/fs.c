#include "core/base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/id.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"

#define READ_CHUNK ((size_t)64 << 10)

const char *fs_printable(const char *name, char text[FS_PRINTABLE]) {
  size_t left = strlen(name), used = 0;
  while (left != 0 && used + 8 < FS_PRINTABLE) {
    size_t length = utf8_length(name, left);
    if (length == 0 || utf8_is_control(name, length)) {
      length = length == 0 ? 1 : length;
      text[used++] = '?';
    } else {
      memcpy(text + used, name, length);
      used += length;
    }
    name += length;
    left -= length;
  }
  snprintf(text + used, FS_PRINTABLE - used, "%s", left == 0 ? "" : "...");
  return text;
}

bool fs_is_name(const char *name) {
  return *name != '\0' && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
         strchr(name, '/') == NULL && strlen(name) <= NAME_MAX;
}

static int bad_name(const char *name, struct err *err) {
  char text[FS_PRINTABLE];
  return err_set(err, ERR_INVALID, "\"%s\" is not a file name",
                 fs_printable(name, text));
}

/* What an errno of an opening means to the caller. */
static enum err_kind kind_of(int number) {
  switch (number) {
  case ENOENT:
  case ENOTDIR:
    return ERR_NOT_FOUND;
  case EACCES:
  case EPERM:
    return ERR_DENIED;
  case EEXIST:
    return ERR_CONFLICT;
  case ENAMETOOLONG:
  case EISDIR:
  case EINVAL:
    return ERR_INVALID;
  default:
    return ERR_IO;
  }
}

static int fail(struct err *err, const char *what, const char *name) {
  int number = errno;
  char text[FS_PRINTABLE];
  fs_printable(name, text);
  if (number == EXDEV)
    return err_set(err, ERR_DENIED, "%s \"%s\": it leads out of its directory",
                   what, text);
  if (number == ELOOP)
    return err_set(err, ERR_DENIED, "%s \"%s\": a symbolic link is on the way",
                   what, text);
  return err_errno(err, kind_of(number), number, "%s \"%s\"", what, text);
}

/* EAGAIN: a rename or mount elsewhere raced with the look-up of ".."
 * (openat2(2)); bounded, so that an adversary who renames without pause gets an
 * error and not our time. */
static int open_beneath(int directory, const char *path, int flags,
                        mode_t mode) {
  struct open_how how = {
      .flags = (unsigned)flags | O_CLOEXEC,
      .mode = (flags & O_CREAT) != 0 ? mode & 07777U : 0,
      .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
  };
  for (int tries = 0;; tries++) {
    long opened = syscall(SYS_openat2, directory, path, &how, sizeof how);
    if (opened >= 0 || (errno != EINTR && (errno != EAGAIN || tries > 100)))
      return (int)opened;
  }
}

int fs_open_beneath(int directory, const char *path, int flags, mode_t mode,
                    struct err *err) {
  int opened = open_beneath(directory, path, flags, mode);
  return opened >= 0 ? opened : fail(err, "cannot open", path);
}

DIR *fs_list(int directory) {
  int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *listing = copy < 0 ? NULL : fdopendir(copy);
  if (listing == NULL)
    mem_close_descriptor(&copy);
  return listing;
}

int fs_open_directory(const char *path, struct err *err) {
  int opened = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return opened >= 0 ? opened : fail(err, "cannot open the directory", path);
}

static bool is_directory(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

int fs_make_directories(const char *path, mode_t mode, struct err *err) {
  CLEANUP(mem_free_pointer) char *prefix = mem_copy_text(path);
  for (char *end = prefix; end != NULL;) {
    end = strchr(end + strspn(end, "/"), '/');
    if (end != NULL)
      *end = '\0';
    if (mkdir(prefix, mode) != 0 && (errno != EEXIST || !is_directory(prefix)))
      return fail(err, "cannot make the directory", prefix);
    if (end != NULL)
      *end = '/';
  }
  return 0;
}

static bool is_closed_to_owner(int opened) {
  struct stat status;
  return fstat(opened, &status) == 0 && (status.st_mode & S_IRWXU) != S_IRWXU;
}

/* What O_PATH has opened cannot be given to fchmod(2): its name in /proc can be
 * given to chmod(2). */
static void give_back_to_owner(int directory, const char *name) {
  CLEANUP(mem_close_descriptor)
  int place = open_beneath(directory, name, O_PATH | O_DIRECTORY, 0);
  struct stat status;
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", place);
  if (place >= 0 && fstat(place, &status) == 0)
    (void)!chmod(path, (status.st_mode & 07777) | S_IRWXU);
}

int fs_make_and_open(int directory, const char *name, mode_t mode,
                     struct err *err) {
  if (!fs_is_name(name))
    return bad_name(name, err);
  /* Mostly it is there already. */
  int opened = open_beneath(directory, name, O_RDONLY | O_DIRECTORY, 0);
  if (opened >= 0 && !is_closed_to_owner(opened))
    return opened;
  if (opened >= 0 || errno == EACCES) {
    mem_close_descriptor(&opened);
    give_back_to_owner(directory, name);
  }
  if (mkdirat(directory, name, mode) != 0 && errno != EEXIST)
    return fail(err, "cannot make the directory", name);
  return fs_open_beneath(directory, name, O_RDONLY | O_DIRECTORY, 0, err);
}

/* At `offset`, or at the present position when that is negative. */
static int write_all(int descriptor, const char *next, size_t length,
                     off_t offset, struct err *err) {
  while (length != 0) {
    ssize_t written = offset < 0 ? write(descriptor, next, length)
                                 : pwrite(descriptor, next, length, offset);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return err_errno(err, ERR_IO, written < 0 ? errno : EIO, "cannot write");
    next += written;
    length -= (size_t)written;
    offset += offset < 0 ? 0 : written;
  }
  return 0;
}

int fs_write_all(int descriptor, const void *bytes, size_t length,
                 struct err *err) {
  return write_all(descriptor, bytes, length, -1, err);
}

int fs_pwrite_all(int descriptor, const void *bytes, size_t length,
                  off_t offset, struct err *err) {
  return write_all(descriptor, bytes, length, offset, err);
}

static int fill_temporary(int file, mode_t mode, const struct iovec *parts,
                          int count, enum fs_sync sync, struct err *err) {
  for (int i = 0; i < count; i++)
    if (fs_write_all(file, parts[i].iov_base, parts[i].iov_len, err) < 0)
      return -1;
  if (fchmod(file, mode) != 0)
    return err_errno(err, ERR_IO, errno, "cannot set the mode");
  if (sync == FS_SYNC_DATA && fdatasync(file) != 0)
    return err_errno(err, ERR_IO, errno, "cannot sync");
  return 0;
}

/* close() is checked: a network file system may tell only there that the disk
 * is full. */
static int write_temporary(int directory, const char *temporary, mode_t mode,
                           const struct iovec *parts, int count,
                           enum fs_sync sync, struct err *err) {
  int file = openat(directory, temporary,
                    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0)
    return fail(err, "cannot make", temporary);
  int result = fill_temporary(file, mode, parts, count, sync, err);
  if (close(file) != 0 && result == 0)
    result = err_errno(err, ERR_IO, errno, "cannot close");
  if (result != 0)
    unlinkat(directory, temporary, 0);
  return result;
}

/* The name is cut so that the temporary name stays within NAME_MAX. */
static void temporary_name(const char *name, char temporary[NAME_MAX + 1]) {
  char random[17];
  id_random_hex(random, 8);
  snprintf(temporary, NAME_MAX + 1, ".%.200s.%s.tmp", name, random);
}

int fs_write_atomic(int directory, const char *name, mode_t mode,
                    const struct iovec *parts, int count, enum fs_sync sync,
                    struct err *err) {
  if (!fs_is_name(name))
    return bad_name(name, err);
  char temporary[NAME_MAX + 1], text[FS_PRINTABLE];
  temporary_name(name, temporary);
  if (write_temporary(directory, temporary, mode, parts, count, sync, err) < 0)
    return err_wrap(err, "writing \"%s\"", fs_printable(name, text));
  if (renameat(directory, temporary, directory, name) != 0) {
    fail(err, "cannot replace", name);
    unlinkat(directory, temporary, 0);
    return -1;
  }
  if (sync == FS_SYNC_DATA && fsync(directory) != 0)
    return fail(err, "cannot sync the directory of", name);
  return 0;
}

/* Reads once. Returns what read(2) does; -2 when `out` is full and there is
 * more to read. */
static ssize_t read_chunk(int descriptor, struct buf *out) {
  size_t room = out->limit - out->length;
  if (room == 0) {
    char probe;
    ssize_t more = read(descriptor, &probe, 1);
    return more > 0 ? -2 : more;
  }
  size_t wanted = room < READ_CHUNK ? room : READ_CHUNK;
  char *end = buf_reserve(out, wanted);
  ssize_t got = read(descriptor, end, wanted);
  end[got > 0 ? got : 0] = '\0';
  out->length += got > 0 ? (size_t)got : 0;
  return got;
}

int fs_read_all(int descriptor, struct buf *out, struct err *err) {
  size_t before = out->length;
  for (;;) {
    ssize_t got = read_chunk(descriptor, out);
    if (got == 0)
      return 0;
    if (got > 0 || (got == -1 && errno == EINTR))
      continue;
    int number = errno;
    buf_truncate(out, before);
    if (got == -2)
      return err_set(err, ERR_TOO_LARGE, "the content is over %zu bytes",
                     out->limit - before);
    return err_errno(err, ERR_IO, number, "cannot read");
  }
}

/* O_NONBLOCK: opening a FIFO must not wait for a writer. */
int fs_read_file(int directory, const char *path, struct buf *out,
                 struct err *err) {
  CLEANUP(mem_close_descriptor)
  int file = fs_open_beneath(directory, path, O_RDONLY | O_NONBLOCK | O_NOCTTY,
                             0, err);
  if (file < 0)
    return -1;
  char text[FS_PRINTABLE];
  struct stat status;
  if (fstat(file, &status) != 0)
    return fail(err, "cannot look at", path);
  if (!S_ISREG(status.st_mode))
    return err_set(err, ERR_INVALID, "\"%s\" is not a regular file",
                   fs_printable(path, text));
  if (fs_read_all(file, out, err) < 0)
    return err_wrap(err, "reading \"%s\"", fs_printable(path, text));
  return 0;
}
