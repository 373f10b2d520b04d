#include "core/process/process.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/base/mem.h"

#define STATUS_SIZE 8192 /* /proc/<pid>/status is about 1500 bytes */

struct stat_line {
  char state;
  int64_t threads;
  int64_t start_time;
};

int process_each(void (*visit)(int proc, pid_t pid, void *context),
                 void *context) {
  DIR *proc = opendir("/proc");
  if (proc == NULL)
    return -1;
  for (const struct dirent *entry; (entry = readdir(proc)) != NULL;)
    if (isdigit((unsigned char)entry->d_name[0]))
      visit(dirfd(proc), (pid_t)atoi(entry->d_name), context);
  closedir(proc);
  return 0;
}

int process_read(int proc, int64_t pid, const char *name, char *text,
                 size_t size) {
  char path[64];
  snprintf(path, sizeof path, "%" PRId64 "/%s", pid, name);
  CLEANUP(mem_close_descriptor)
  int file = openat(proc, path, O_RDONLY | O_CLOEXEC);
  if (pid <= 0 || file < 0)
    return -1;
  ssize_t got;
  do
    got = read(file, text, size - 1);
  while (got < 0 && errno == EINTR);
  if (got <= 0)
    return -1;
  text[got] = '\0';
  return 0;
}

static int read_proc(int64_t pid, const char *name, char *text, size_t size) {
  CLEANUP(mem_close_descriptor)
  int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return proc < 0 ? -1 : process_read(proc, pid, name, text, size);
}

/* The command (field 2) may hold spaces and parentheses; nothing after it does,
 * so the fields are counted from the last parenthesis on. */
static int read_stat(int64_t pid, struct stat_line *ret) {
  char text[1024];
  if (read_proc(pid, "stat", text, sizeof text) < 0)
    return -1;
  const char *rest = strrchr(text, ')');
  if (rest == NULL)
    return -1;
  struct stat_line line;
  int found = sscanf(rest + 1,
                     " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u"
                     " %*u %*u %*d %*d %*d %*d %" SCNd64 " %*d %" SCNd64,
                     &line.state, &line.threads, &line.start_time);
  if (found != 3)
    return -1;
  *ret = line;
  return 0;
}

int64_t process_start_time(int64_t pid) {
  struct stat_line line;
  return read_stat(pid, &line) == 0 ? line.start_time : -1;
}

/* A process whose first thread has ended while others run shows as a zombie
 * with several threads: it is alive. */
static bool has_ended(const struct stat_line *line) {
  return line->state == 'X' || (line->state == 'Z' && line->threads <= 1);
}

bool process_is_alive(int64_t pid, int64_t start_time) {
  struct stat_line line;
  return read_stat(pid, &line) == 0 && line.start_time == start_time &&
         !has_ended(&line);
}

int process_open(int64_t pid, int64_t start_time) {
  if (pid <= 0)
    return -1;
  CLEANUP(mem_close_descriptor)
  int descriptor = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0U);
  if (descriptor < 0 || process_start_time(pid) != start_time)
    return -1;
  return mem_steal_descriptor(&descriptor);
}

/* The number behind "<name>:" in /proc/<pid>/status, or -1. */
static int64_t status_number(int64_t pid, const char *name, int base) {
  char text[STATUS_SIZE], wanted[32];
  if (read_proc(pid, "status", text, sizeof text) < 0)
    return -1;
  snprintf(wanted, sizeof wanted, "\n%s:", name);
  const char *line = strstr(text, wanted);
  if (line == NULL)
    return -1;
  return (int64_t)strtoull(line + strlen(wanted), NULL, base);
}

int64_t process_cpu(int64_t pid) {
  clockid_t clock;
  struct timespec time;
  if (clock_getcpuclockid((pid_t)pid, &clock) != 0 ||
      clock_gettime(clock, &time) < 0)
    return -1;
  return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

int process_usage(int64_t pid, int64_t *cpu_us, int64_t *memory_peak_bytes) {
  int64_t cpu = process_cpu(pid);
  int64_t peak = status_number(pid, "VmHWM", 10);
  if (cpu < 0 || peak < 0)
    return -1;
  *cpu_us = cpu;
  *memory_peak_bytes = peak * 1024;
  return 0;
}

int64_t process_memory(int64_t pid) {
  int64_t resident = status_number(pid, "VmRSS", 10);
  return resident < 0 ? -1 : resident * 1024;
}

bool process_catches(int64_t pid, int signal) {
  int64_t caught = status_number(pid, "SigCgt", 16);
  return caught != -1 && ((uint64_t)caught >> (signal - 1) & 1) != 0;
}
