#include "core/keeper/kernels/registry.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/jail/watch/jail_notice.h"
#include "core/process/log_ring.h"
#include "core/process/process.h"

int registry_open_shim(const struct kernel *kernel) {
  return fs_open_beneath(kernel->keeper->places.shims, kernel->id,
                         O_RDONLY | O_DIRECTORY, 0, NULL);
}

void registry_read_files(const struct kernel *kernel,
                         struct control_kernel *ret) {
  CLEANUP(mem_close_descriptor) int directory = registry_open_shim(kernel);
  if (directory < 0)
    return;
  log_ring_tail(directory, ret->stderr_tail, sizeof ret->stderr_tail);
  struct jail_notice notice = jail_notice_read(directory);
  ret->memory_tight_at = notice.memory_at;
  ret->workspace_over_at = notice.workspace_at;
}

void registry_describe(const struct kernel *kernel,
                       struct control_kernel *ret) {
  memset(ret, 0, sizeof *ret);
  snprintf(ret->id, sizeof ret->id, "%s", kernel->id);
  snprintf(ret->directory, sizeof ret->directory, "%s", kernel->directory);
  ret->generation = kernel->generation;
  ret->pid = kernel->process.kernel_pid;
  ret->pid_start = kernel->process.kernel_start;
  ret->exit_code = -1;
  ret->cpu_us = ret->memory_bytes = ret->memory_peak_bytes =
      ret->memory_limit_bytes = -1;
}

/* Of all its processes together, where they are counted. */
static void tell_usage(const struct kernel *kernel,
                       struct control_kernel *ret) {
  struct cgroup_usage usage;
  if (!jail_host_usage(kernel->keeper->jails, kernel->id, &usage))
    return;
  const struct {
    int64_t *told, used;
  } pairs[] = {{&ret->cpu_us, usage.cpu_us},
               {&ret->memory_bytes, usage.memory},
               {&ret->memory_peak_bytes, usage.memory_peak},
               {&ret->memory_limit_bytes, usage.memory_limit}};
  for (size_t i = 0; i < COUNT_OF(pairs); i++)
    if (pairs[i].used >= 0)
      *pairs[i].told = pairs[i].used;
}

void registry_tell(const struct kernel *kernel, struct control_kernel *ret) {
  if (kernel->last != NULL) {
    *ret = *kernel->last;
    return;
  }
  registry_describe(kernel, ret);
  ret->alive = !registry_is_dead(kernel);
  process_usage(ret->pid, &ret->cpu_us, &ret->memory_peak_bytes);
  ret->memory_bytes = process_memory(ret->pid);
  tell_usage(kernel, ret);
  registry_read_files(kernel, ret);
}

/* A kernel that has ended long ago, of which only the row is left. */
static int tell_row(struct keeper *keeper, const char *id,
                    struct control_kernel *ret, struct err *err) {
  CLEANUP(kernel_record_free) struct kernel_record record = {0};
  if (kernel_get(keeper->store, id, &record, err) < 0)
    return -1;
  memset(ret, 0, sizeof *ret);
  snprintf(ret->id, sizeof ret->id, "%s", id);
  snprintf(ret->directory, sizeof ret->directory, "%s",
           record.directory == NULL ? "" : record.directory);
  snprintf(ret->end, sizeof ret->end, "%s", kernel_end_name(record.end));
  snprintf(ret->reason, sizeof ret->reason, "%s",
           record.reason == NULL ? "" : record.reason);
  ret->generation = record.generation;
  ret->pid = record.pid;
  ret->pid_start = record.pid_start;
  ret->exit_code = record.exit_code;
  ret->signal = record.signal;
  ret->cpu_us = ret->memory_bytes = ret->memory_limit_bytes = -1;
  ret->memory_peak_bytes = record.memory_peak == 0 ? -1 : record.memory_peak;
  return 0;
}

int registry_tell_id(struct keeper *keeper, const char *id,
                     struct control_kernel *ret, struct err *err) {
  const struct kernel *kernel = registry_find(keeper, id);
  if (kernel != NULL && *kernel->task != '\0') {
    registry_tell(kernel, ret);
    return 0;
  }
  for (size_t i = 0; i < KEEPER_ENDED_KEPT; i++) {
    if (keeper->ended[i] == NULL || strcmp(keeper->ended[i]->id, id) != 0)
      continue;
    *ret = *keeper->ended[i];
    return 0;
  }
  return tell_row(keeper, id, ret, err);
}
