#include "core/notebook/writer/publish.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "core/base/layout.h"
#include "core/base/mem.h"
#include "core/notebook/writer/index.h"

static _Atomic uint64_t count_appended, count_copied, count_bytes;

void publish_counts(uint64_t *appended, uint64_t *copied, uint64_t *bytes) {
  *appended = atomic_load(&count_appended);
  *copied = atomic_load(&count_copied);
  *bytes = atomic_load(&count_bytes);
}

struct fingerprint publish_fingerprint(const struct stat *status) {
  return (struct fingerprint){
      .inode = status->st_ino,
      .size = (uint64_t)status->st_size,
      .seconds = status->st_mtim.tv_sec,
      .nanoseconds = status->st_mtim.tv_nsec,
  };
}

static int fail(struct err *err, const char *what) {
  return err_errno(err, ERR_IO, errno, "writing the notebook: %s", what);
}

static int open_published(const struct notebook *notebook) {
  return openat(notebook->directory, LAYOUT_NOTEBOOK,
                O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

/* Reads exactly that range; a file that is shorter counts as an error. */
static int read_range(int file, char *to, size_t length, off_t from) {
  while (length > 0) {
    ssize_t got = pread(file, to, length, from);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0) {
      errno = got < 0 ? errno : EIO;
      return -1;
    }
    to += got;
    from += got;
    length -= (size_t)got;
  }
  return 0;
}

int publish_read(const struct notebook *notebook, size_t from, size_t length,
                 struct buf *out, struct err *err) {
  CLEANUP(mem_close_descriptor) int file = open_published(notebook);
  if (file < 0)
    return err_errno(err, ERR_IO, errno, "opening the notebook");
  char *end = buf_reserve(out, length);
  if (end == NULL)
    return err_set(err, ERR_TOO_LARGE, "a cell of %zu bytes is too large",
                   length);
  if (read_range(file, end, length, (off_t)from) < 0)
    return err_errno(err, ERR_IO, errno, "reading the notebook");
  out->length += length;
  out->data[out->length] = '\0';
  return 0;
}

static int copy_by_hand(int from, off_t from_at, int to, off_t to_at,
                        size_t length, struct err *err) {
  enum { PART = 64 << 10 };
  CLEANUP(mem_free_pointer) char *bytes = mem_array(PART, 1);
  while (length > 0) {
    size_t part = length < PART ? length : PART;
    if (read_range(from, bytes, part, from_at) < 0)
      return fail(err, "reading the last version");
    if (fs_pwrite_all(to, bytes, part, to_at, err) < 0)
      return -1;
    from_at += (off_t)part;
    to_at += (off_t)part;
    length -= part;
  }
  return 0;
}

/* Copies a range between files, inside the kernel when it is long and the
 * filesystem can. */
static int copy_range(int from, off_t from_at, int to, off_t to_at,
                      size_t length, struct err *err) {
  enum { SHORT = 256 << 10 };
  atomic_fetch_add(&count_bytes, length);
  while (length > SHORT) {
    ssize_t copied = copy_file_range(from, &from_at, to, &to_at, length, 0);
    if (copied <= 0)
      break;
    length -= (size_t)copied;
  }
  return copy_by_hand(from, from_at, to, to_at, length, err);
}

/* A lease says that no other open description of the file exists, and none
 * comes into being before it ends (with the descriptor). Who tries waits, and
 * we are sent a signal, whose default would be to end us: SIGURG is ignored. */
bool publish_take_lease(int file) {
  return fcntl(file, F_SETSIG, SIGURG) == 0 &&
         fcntl(file, F_SETLEASE, F_WRLCK) == 0;
}

/* Gives a lease back and keeps the file; false when that cannot be told: then
 * it must be closed, since whoever opens it would have to wait. */
static bool end_lease(int file) {
  fcntl(file, F_SETLEASE, F_UNLCK);
  return fcntl(file, F_GETLEASE) == F_UNLCK;
}

/* Whether the spare's name leads to this file. */
static bool is_named_spare(const struct notebook *notebook,
                           const struct stat *file) {
  struct stat named;
  return fstatat(notebook->directory, LAYOUT_NOTEBOOK_SPARE, &named,
                 AT_SYMLINK_NOFOLLOW) == 0 &&
         named.st_ino == file->st_ino && named.st_dev == file->st_dev;
}

/* Opens the spare when it is known, nobody has it open, no other name leads to
 * it, and it is what it was. */
static int open_spare(struct notebook *notebook) {
  if (notebook->spare.inode == 0)
    return -1;
  CLEANUP(mem_close_descriptor)
  int file = mem_steal_descriptor(&notebook->spare_file);
  bool kept = file >= 0;
  if (!kept)
    file = openat(notebook->directory, LAYOUT_NOTEBOOK_SPARE,
                  O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  struct stat status;
  if (file < 0 || !publish_take_lease(file) || fstat(file, &status) < 0)
    return -1;
  struct fingerprint found = publish_fingerprint(&status);
  bool same = S_ISREG(status.st_mode) && status.st_nlink == 1 &&
              fingerprint_equal(&found, &notebook->spare) &&
              (!kept || is_named_spare(notebook, &status));
  return same ? mem_steal_descriptor(&file) : -1;
}

void publish_drop_spare(struct notebook *notebook) {
  unlinkat(notebook->directory, LAYOUT_NOTEBOOK_SPARE, 0);
  mem_close_descriptor(&notebook->spare_file);
  notebook->spare.inode = 0;
}

/* A new, empty spare; who still reads the old one keeps it. */
static int make_spare(struct notebook *notebook, struct err *err) {
  publish_drop_spare(notebook);
  int file = openat(notebook->directory, LAYOUT_NOTEBOOK_SPARE,
                    O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (file < 0)
    return fail(err, "making a new file");
  fchmod(file, 0644); /* the web server reads it, whatever our umask */
  return file;
}

static size_t new_size(const struct notebook *notebook,
                       const struct change *change) {
  return change->from + change->length +
         (notebook->published.size - change->resume);
}

/* Writes what the file lacks from `start` on to be the next version. */
static int write_version(const struct notebook *notebook,
                         const struct change *change, int file, size_t start,
                         struct err *err) {
  size_t rest = notebook->published.size - change->resume;
  if (start < change->from || rest > 0) {
    CLEANUP(mem_close_descriptor) int old = open_published(notebook);
    if (old < 0)
      return fail(err, "opening the last version");
    if (start < change->from &&
        copy_range(old, (off_t)start, file, (off_t)start, change->from - start,
                   err) < 0)
      return -1;
    if (rest > 0 &&
        copy_range(old, (off_t)change->resume, file,
                   (off_t)(change->from + change->length), rest, err) < 0)
      return -1;
  }
  atomic_fetch_add(&count_bytes, change->length);
  return fs_pwrite_all(file, change->bytes, change->length, (off_t)change->from,
                       err);
}

/* Cuts the file where the version ends, brings it to the disk when that was
 * asked for, and says what it then is. It stays open for a sync that comes
 * later. */
static int finish_version(const struct notebook *notebook, int *file,
                          size_t size, struct fingerprint *ret,
                          struct err *err) {
  struct stat status;
  if (fstat(*file, &status) < 0)
    return fail(err, "looking at it");
  if ((uint64_t)status.st_size != size &&
      (ftruncate(*file, (off_t)size) < 0 || fstat(*file, &status) < 0))
    return fail(err, "cutting it to size");
  if (notebook->sync == FS_SYNC_DATA && fdatasync(*file) < 0)
    return fail(err, "bringing it to the disk");
  *ret = publish_fingerprint(&status);
  if (notebook->later != NULL && end_lease(*file))
    return 0;
  /* Filesystems over a network tell of a full disk only here. */
  if (close(mem_steal_descriptor(file)) < 0 && errno != EINTR)
    return fail(err, "closing it");
  return 0;
}

/* Exchanges the two names, or, where that cannot be, moves the new file over
 * the old one and has no spare. */
static int put_in_place(struct notebook *notebook, struct err *err) {
  int directory = notebook->directory;
  if (notebook->published.inode == 0) {
    if (renameat2(directory, LAYOUT_NOTEBOOK_SPARE, directory, LAYOUT_NOTEBOOK,
                  RENAME_NOREPLACE) == 0)
      return 0;
    if (errno == EEXIST)
      return err_set(err, ERR_CONFLICT,
                     "the notebook was made by another process");
  } else if (renameat2(directory, LAYOUT_NOTEBOOK_SPARE, directory,
                       LAYOUT_NOTEBOOK, RENAME_EXCHANGE) == 0) {
    return 1;
  }
  if (errno != EINVAL && errno != ENOSYS)
    return fail(err, "putting it in place");
  if (renameat(directory, LAYOUT_NOTEBOOK_SPARE, directory, LAYOUT_NOTEBOOK) <
      0)
    return fail(err, "putting it in place");
  return 0;
}

/* After a full disk the spare is good up to where it was written; after any
 * other failure nothing of it is relied on. */
static void give_up_spare(struct notebook *notebook, int file, size_t start,
                          bool full) {
  struct stat status;
  if (!full || file < 0 || start == 0 || ftruncate(file, (off_t)start) < 0 ||
      fstat(file, &status) < 0) {
    publish_drop_spare(notebook);
    return;
  }
  notebook->spare = publish_fingerprint(&status);
  index_distrust_spare(notebook, start);
}

/* After the exchange the files have changed their parts. */
static void keep_files(struct notebook *notebook, int *file, bool exchanged) {
  mem_close_descriptor(&notebook->spare_file);
  if (exchanged)
    notebook->spare_file = mem_steal_descriptor(&notebook->published_file);
  mem_close_descriptor(&notebook->published_file);
  notebook->published_file = mem_steal_descriptor(file);
  if (notebook->later != NULL && notebook->published_file >= 0)
    fs_later_add(notebook->later, &notebook->key, notebook->published_file,
                 notebook->directory);
}

bool publish_is_stale(const struct notebook *notebook) {
  struct stat status;
  struct fingerprint found = {0};
  if (fstatat(notebook->directory, LAYOUT_NOTEBOOK, &status,
              AT_SYMLINK_NOFOLLOW) == 0)
    found = publish_fingerprint(&status);
  return !fingerprint_equal(&found, &notebook->published) ||
         index_sequence(notebook) != notebook->sequence;
}

static int check_change(const struct notebook *notebook,
                        const struct change *change, struct err *err) {
  if (publish_is_stale(notebook))
    return err_set(err, ERR_CONFLICT,
                   "the notebook was changed by another process");
  if (new_size(notebook, change) > BUF_NOTEBOOK)
    return err_set(err, ERR_TOO_LARGE,
                   "the notebook would be larger than %zu bytes", BUF_NOTEBOOK);
  return 0;
}

/* Opens what is written to: the spare from *start on, or a new file from 0. */
static int open_target(struct notebook *notebook, const struct change *change,
                       size_t *start, bool *copy, struct err *err) {
  int file = open_spare(notebook);
  *copy = file < 0;
  *start = 0;
  if (*copy)
    return make_spare(notebook, err);
  *start = change->from < notebook->spare_common ? change->from
                                                 : notebook->spare_common;
  if (*start < notebook->spare_common)
    index_distrust_spare(notebook, *start);
  return file;
}

int publish_version(struct notebook *notebook, const struct change *change,
                    struct err *err) {
  size_t start;
  bool copy;
  if (check_change(notebook, change, err) < 0)
    return -1;
  CLEANUP(mem_close_descriptor)
  int file = open_target(notebook, change, &start, &copy, err);
  if (file < 0)
    return -1;
  struct err fault = {0};
  struct fingerprint written;
  if (write_version(notebook, change, file, start, &fault) < 0 ||
      finish_version(notebook, &file, new_size(notebook, change), &written,
                     &fault) < 0) {
    give_up_spare(notebook, file, start, fault.kind == ERR_NO_SPACE);
    return err_set(err, fault.kind, "%s", fault.text);
  }
  int exchanged = put_in_place(notebook, err);
  if (exchanged < 0) {
    publish_drop_spare(notebook);
    return -1;
  }
  atomic_fetch_add(copy ? &count_copied : &count_appended, 1);
  notebook->spare = notebook->published;
  notebook->spare_common = change->from;
  if (exchanged == 0)
    notebook->spare.inode = 0;
  notebook->published = written;
  keep_files(notebook, &file, exchanged != 0);
  if (notebook->sync == FS_SYNC_DATA && fsync(notebook->directory) < 0)
    return fail(err, "bringing its name to the disk") + 2;
  return 0;
}
