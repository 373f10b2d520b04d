#include "core/run/session/known_kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

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
