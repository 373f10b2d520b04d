/* Version 1: one hierarchy for each controller. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/cgroup/cgroup_private.h"

#define FREEZE_LIMIT_MS 500

static void prepare(struct cgroup_host *host, const char *name) {
  for (size_t i = 0; i < CGROUP_COUNT; i++) {
    const char *base = host->base.directories[i];
    if (base == NULL)
      continue;
    mkdir(base, 0755); /* a configured one may be new */
    char *directory = mem_format("%s/%s", base, name);
    if (mkdir(directory, 0755) != 0 && errno != EEXIST)
      cgroup_give_up(host, (enum cgroup_controller)i,
                     "no control group can be made in %s: %s", base,
                     strerror(errno));
    host->instance.directories[i] = directory;
  }
}

/* Memory and swap together may not be less than memory alone, so they come
 * after it. Where swap is not counted, nothing of it is used. */
static int limit_memory(const char *directory, int64_t bytes) {
  if (cgroup_write_number(directory, "memory.limit_in_bytes", bytes) != 0)
    return -1;
  cgroup_write_number(directory, "memory.swappiness", 0);
  if (cgroup_write_number(directory, "memory.memsw.limit_in_bytes", bytes) != 0)
    return errno == ENOENT ? 0 : -1;
  return 0;
}

static int limit(const struct cgroup *group, const struct cgroup_limits *limits,
                 struct err *err) {
  char *const *directories = group->directories;
  if (directories[CGROUP_MEMORY] != NULL &&
      limit_memory(directories[CGROUP_MEMORY], limits->memory) != 0)
    return err_errno(err, ERR_IO, errno, "cannot limit memory");
  if (directories[CGROUP_PIDS] != NULL &&
      cgroup_write_number(directories[CGROUP_PIDS], "pids.max", limits->pids) !=
          0)
    return err_errno(err, ERR_IO, errno, "cannot limit processes");
  int64_t quota = (int64_t)(limits->cpus * CGROUP_CPU_PERIOD_US);
  if (directories[CGROUP_CPU] != NULL && quota > 0 &&
      (cgroup_write_number(directories[CGROUP_CPU], "cpu.cfs_period_us",
                           CGROUP_CPU_PERIOD_US) != 0 ||
       cgroup_write_number(directories[CGROUP_CPU], "cpu.cfs_quota_us",
                           quota) != 0))
    return err_errno(err, ERR_IO, errno, "cannot limit processor time");
  return 0;
}

static int64_t fixed_memory(const char *directory) {
  int64_t anonymous = cgroup_read_key(directory, "memory.stat", "total_rss");
  int64_t shared = cgroup_read_key(directory, "memory.stat", "total_shmem");
  return anonymous < 0 ? -1 : anonymous + (shared < 0 ? 0 : shared);
}

static void read_usage(const struct cgroup *group, struct cgroup_usage *ret) {
  const char *memory = group->directories[CGROUP_MEMORY];
  const char *pids = group->directories[CGROUP_PIDS];
  int64_t cpu =
      cgroup_read_number(group->directories[CGROUP_ACCOUNT], "cpuacct.usage");
  *ret = (struct cgroup_usage){
      .cpu_us = cpu < 0 ? -1 : cpu / 1000,
      .memory = cgroup_read_number(memory, "memory.usage_in_bytes"),
      .memory_peak = cgroup_read_number(memory, "memory.max_usage_in_bytes"),
      .memory_limit = cgroup_read_number(memory, "memory.limit_in_bytes"),
      .memory_fixed = fixed_memory(memory),
      .oom_kills = cgroup_read_key(memory, "memory.oom_control", "oom_kill"),
      .pids = cgroup_read_number(pids, "pids.current"),
      .pids_refused = cgroup_read_key(pids, "pids.events", "max"),
  };
}

/* The registration lives as long as the eventfd. */
static struct cgroup_watch watch(const struct cgroup *group, int64_t soft) {
  struct cgroup_watch none = {-1, 0};
  const char *directory = group->directories[CGROUP_MEMORY];
  if (directory == NULL)
    return none;
  CLEANUP(mem_free_pointer)
  char *path = mem_format("%s/memory.usage_in_bytes", directory);
  CLEANUP(mem_close_descriptor) int usage = open(path, O_RDONLY | O_CLOEXEC);
  CLEANUP(mem_close_descriptor)
  int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (usage < 0 || event < 0)
    return none;
  char text[64];
  snprintf(text, sizeof text, "%d %d %lld", event, usage, (long long)soft / 2);
  if (cgroup_write(directory, "cgroup.event_control", text) != 0)
    return none;
  return (struct cgroup_watch){mem_steal_descriptor(&event), POLLIN};
}

/* Freezing takes effect some time after it was asked for. */
static void freeze(const struct cgroup *group, bool frozen) {
  const char *directory = group->directories[CGROUP_FREEZER];
  const char *wanted = frozen ? "FROZEN" : "THAWED";
  if (directory == NULL ||
      cgroup_write(directory, "freezer.state", wanted) != 0)
    return;
  int64_t end = clock_monotonic_ns() + FREEZE_LIMIT_MS * CLOCK_MS;
  char state[32] = "";
  while (cgroup_read(directory, "freezer.state", state, sizeof state) == 0 &&
         strncmp(state, wanted, strlen(wanted)) != 0 &&
         clock_monotonic_ns() < end)
    poll(NULL, 0, 1);
}

const struct cgroup_backend cgroup_version_1 = {prepare,
                                                limit,
                                                read_usage,
                                                watch,
                                                freeze,
                                                "cpuacct.usage",
                                                "memory.max_usage_in_bytes",
                                                1000};
