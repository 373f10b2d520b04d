#include "core/run/session/known_kernel.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/layout.h"
#include "core/base/mem.h"
#include "core/control/control.h"
#include "core/report/traceback/stack.h"

struct known_kernel *known_kernel_new(struct kernel_record *kernel,
                                      int process) {
  struct known_kernel *known = mem_new(sizeof *known);
  known->kernel = *kernel;
  *kernel = (struct kernel_record){0};
  known->process = process;
  return known;
}

void known_kernel_free(void *pointer) {
  struct known_kernel *known = pointer;
  if (known == NULL)
    return;
  task_notebook_close(&known->notebook);
  meter_close(known->meter);
  late_told_free(&known->late);
  kernel_record_free(&known->kernel);
  mem_close_descriptor(&known->process);
  free(known);
}

void known_kernel_remember(struct known_kernel *known, const char *message,
                           const char *run) {
  struct known_run *slot = &known->recent[known->next++ % KNOWN_KERNEL_RECENT];
  snprintf(slot->message, sizeof slot->message, "%s", message);
  snprintf(slot->run, sizeof slot->run, "%s", run);
  slot->late_bytes = 0;
}

const char *known_kernel_run(const struct known_kernel *known,
                             const char *message) {
  for (unsigned i = 0; *message != '\0' && i < KNOWN_KERNEL_RECENT; i++)
    if (strcmp(known->recent[i].message, message) == 0)
      return known->recent[i].run;
  return NULL;
}

uint64_t *known_kernel_late_bytes(struct known_kernel *known, const char *run) {
  for (unsigned i = 0; *run != '\0' && i < KNOWN_KERNEL_RECENT; i++)
    if (strcmp(known->recent[i].run, run) == 0)
      return &known->recent[i].late_bytes;
  return &known->orphan_bytes;
}

void known_kernel_dump_stack(const struct known_kernel *known,
                             const char *keeper_socket) {
  if (known->dumps_stack)
    control_stack(keeper_socket, known->kernel.id, NULL);
}

static int64_t read_line(const struct known_kernel *known) {
  enum { TAIL = 64 << 10 };
  CLEANUP(mem_close_descriptor)
  int directory = fs_open_directory(known->kernel.directory, NULL);
  if (directory < 0 || !known->dumps_stack)
    return -1;
  CLEANUP(mem_close_descriptor)
  int file =
      fs_open_beneath(directory, LAYOUT_STACK, O_RDONLY | O_NONBLOCK, 0, NULL);
  struct stat status;
  if (file < 0 || fstat(file, &status) != 0 || !S_ISREG(status.st_mode))
    return -1;
  CLEANUP(mem_free_pointer) char *text = mem_new(TAIL);
  off_t start = status.st_size > TAIL ? status.st_size - TAIL : 0;
  ssize_t length = pread(file, text, TAIL, start);
  return length <= 0 ? -1 : stack_running_line(text, (size_t)length);
}

int64_t known_kernel_running_line(const struct known_kernel *known,
                                  const char *code, size_t length) {
  int64_t line = read_line(known);
  return line <= 0 ? -1 : line + stack_leading_lines(code, length);
}
