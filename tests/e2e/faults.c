/* Stands before libc in a process that a test starts with LD_PRELOAD, and lets
 * calls on files fail or tells of them.
 *
 * CELLPOST_FAULTS names a file that holds, while there are to be faults, a line
 *   CALL NUMBER PART
 * Each CALL (pwrite, write, fdatasync, fsync, renameat2, ftruncate) on a file
 * whose path has PART in it then fails with errno NUMBER. CELLPOST_CALLS names
 * a file to which each sync is written as it begins: CALL THREAD NANOSECONDS
 * PATH.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void path_of(int file, char path[512]) {
  char link[40];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, 511);
  path[length < 0 ? 0 : length] = '\0';
}

/* The errno with which this call is to fail, or 0. */
static int fault(const char *call, const char *path) {
  const char *control = getenv("CELLPOST_FAULTS");
  int file = control == NULL ? -1 : open(control, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return 0;
  char line[256], wanted[32], part[128];
  int number = 0;
  ssize_t length = read(file, line, sizeof line - 1);
  close(file);
  line[length < 0 ? 0 : length] = '\0';
  return sscanf(line, "%31s %d %127s", wanted, &number, part) == 3 &&
                 strcmp(call, wanted) == 0 && strstr(path, part) != NULL
             ? number
             : 0;
}

static int fails(const char *call, int file) {
  char path[512];
  path_of(file, path);
  int number = fault(call, path);
  errno = number;
  return number;
}

static void tell(const char *call, int file) {
  const char *name = getenv("CELLPOST_CALLS");
  int log = name == NULL
                ? -1
                : open(name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (log < 0)
    return;
  char path[512], line[700];
  struct timespec now;
  path_of(file, path);
  clock_gettime(CLOCK_MONOTONIC, &now);
  int length =
      snprintf(line, sizeof line, "%s %ld %lld %s\n", call, (long)gettid(),
               (long long)now.tv_sec * 1000000000 + now.tv_nsec, path);
  syscall(SYS_write, log, line, length);
  close(log);
}

#define NEXT(name_)                                                            \
  static __typeof__(name_) *next;                                              \
  if (next == NULL)                                                            \
  next = (__typeof__(name_) *)dlsym(RTLD_NEXT, #name_)

ssize_t pwrite(int file, const void *bytes, size_t length, off_t at) {
  NEXT(pwrite);
  return fails("pwrite", file) ? -1 : next(file, bytes, length, at);
}

ssize_t pwrite64(int file, const void *bytes, size_t length, off64_t at) {
  NEXT(pwrite64);
  return fails("pwrite", file) ? -1 : next(file, bytes, length, at);
}

ssize_t write(int file, const void *bytes, size_t length) {
  NEXT(write);
  return fails("write", file) ? -1 : next(file, bytes, length);
}

int fdatasync(int file) {
  NEXT(fdatasync);
  tell("fdatasync", file);
  return fails("fdatasync", file) ? -1 : next(file);
}

int fsync(int file) {
  NEXT(fsync);
  tell("fsync", file);
  return fails("fsync", file) ? -1 : next(file);
}

int ftruncate(int file, off_t length) {
  NEXT(ftruncate);
  return fails("ftruncate", file) ? -1 : next(file, length);
}

int renameat2(int from_directory, const char *from, int to_directory,
              const char *to, unsigned int flags) {
  NEXT(renameat2);
  int number = fault("renameat2", to);
  errno = number;
  return number ? -1 : next(from_directory, from, to_directory, to, flags);
}
