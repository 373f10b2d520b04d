#include "core/control/task_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/id.h"
#include "core/base/mem.h"

/* The bytes that stand for numbers lie far behind the content; in front of them
 * is the one whose holder gives the next number. */
#define FIRST_BYTE ((off_t)1 << 40)
#define NEXT_BYTE (FIRST_BYTE - 1)
#define NOTES_OFFSET ((off_t)sizeof(uint64_t))
#define NOTES_MOST ((off_t)3 << 10)
/* An id and a line end. */
#define NOTE_SIZE ID_UUID_SIZE

static off_t byte_of(uint64_t number) { return FIRST_BYTE + (off_t)number; }

static int set_lock(int file, int command, short type, off_t start,
                    off_t length) {
  struct flock lock = {
      .l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = length};
  int result;
  do
    result = fcntl(file, command, &lock);
  while (result < 0 && errno == EINTR);
  return result;
}

static void name_of(const char *task, char name[ID_TASK_SIZE + 8]) {
  snprintf(name, ID_TASK_SIZE + 8, "%s.lock", task);
}

/* Whoever holds NEXT_BYTE counts on and locks the new number before anybody
 * else looks. */
static int take_number(int file, uint64_t *number) {
  if (set_lock(file, F_OFD_SETLKW, F_WRLCK, NEXT_BYTE, 1) < 0)
    return -1;
  uint64_t last = 0;
  int result = -1;
  if (pread(file, &last, sizeof last, 0) >= 0) {
    last++;
    if (pwrite(file, &last, sizeof last, 0) == (ssize_t)sizeof last)
      result = set_lock(file, F_OFD_SETLK, F_WRLCK, byte_of(last), 1);
  }
  int number_error = errno;
  set_lock(file, F_OFD_SETLK, F_UNLCK, NEXT_BYTE, 1);
  errno = number_error;
  *number = last;
  return result;
}

int task_lock_join(int directory, const char *task, struct task_lock *ret,
                   struct err *err) {
  char name[ID_TASK_SIZE + 8];
  name_of(task, name);
  struct task_lock lock = TASK_LOCK_NONE;
  lock.file =
      openat(directory, name,
             O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0660);
  if (lock.file < 0 || take_number(lock.file, &lock.number) < 0) {
    err_errno(err, errno == ENOSPC ? ERR_NO_SPACE : ERR_IO, errno,
              "lock file %s", name);
    task_lock_leave(&lock);
    return -1;
  }
  *ret = lock;
  return 0;
}

void task_lock_leave(struct task_lock *lock) {
  mem_close_descriptor(&lock->file);
}

bool task_lock_is_first(const struct task_lock *lock) {
  struct flock before = {.l_type = F_RDLCK,
                         .l_whence = SEEK_SET,
                         .l_start = byte_of(1),
                         .l_len = (off_t)lock->number - 1};
  return lock->number <= 1 || (fcntl(lock->file, F_OFD_GETLK, &before) == 0 &&
                               before.l_type == F_UNLCK);
}

bool task_lock_is_valid(int directory, const char *task,
                        const struct task_lock *lock) {
  char name[ID_TASK_SIZE + 8];
  struct stat named, held;
  name_of(task, name);
  return fstatat(directory, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         fstat(lock->file, &held) == 0 && named.st_ino == held.st_ino &&
         named.st_dev == held.st_dev;
}

int task_lock_reopen(const struct task_lock *lock, struct task_lock *ret,
                     struct err *err) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", lock->file);
  int file = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (file < 0)
    return err_errno(err, ERR_IO, errno, "cannot wait for the task's turn");
  *ret = (struct task_lock){.file = file, .number = lock->number};
  return 0;
}

/* The smaller numbers are asked for together, as a reader, so that those who
 * wait do not keep each other out. */
int task_lock_await(const struct task_lock *reopened, struct err *err) {
  if (reopened->number > 1 &&
      set_lock(reopened->file, F_OFD_SETLKW, F_RDLCK, byte_of(1),
               (off_t)reopened->number - 1) < 0)
    return err_errno(err, ERR_IO, errno, "cannot wait for the task's turn");
  return 0;
}

int task_lock_try(int directory, const char *task, struct task_lock *ret,
                  struct err *err) {
  struct task_lock lock;
  if (task_lock_join(directory, task, &lock, err) < 0)
    return -1;
  if (!task_lock_is_first(&lock) ||
      !task_lock_is_valid(directory, task, &lock)) {
    task_lock_leave(&lock);
    return 0;
  }
  *ret = lock;
  return 1;
}

void task_lock_note_begun(const struct task_lock *lock, const char *run,
                          bool recorded) {
  char note[NOTE_SIZE + 1];
  struct stat status;
  snprintf(note, sizeof note, "%.36s\n", run);
  if (fstat(lock->file, &status) < 0)
    return;
  off_t at = status.st_size;
  if (recorded && at > NOTES_MOST && ftruncate(lock->file, NOTES_OFFSET) == 0)
    at = NOTES_OFFSET;
  if (pwrite(lock->file, note, NOTE_SIZE, at) != NOTE_SIZE)
    return;
}

bool task_lock_has_begun(int directory, const char *task, const char *run) {
  char name[ID_TASK_SIZE + 8], note[NOTE_SIZE];
  name_of(task, name);
  CLEANUP(mem_close_descriptor)
  int file =
      openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0)
    return true;
  for (off_t at = NOTES_OFFSET;
       pread(file, note, sizeof note, at) == (ssize_t)sizeof note;
       at += (off_t)sizeof note)
    if (memcmp(note, run, ID_UUID_SIZE - 1) == 0)
      return true;
  return false;
}

void task_lock_remove(int directory, const char *task) {
  char name[ID_TASK_SIZE + 8];
  name_of(task, name);
  unlinkat(directory, name, 0);
}
