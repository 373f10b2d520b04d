/* Version 2: one hierarchy; controllers are handed down from group to group. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/cgroup/cgroup.h"
#include "core/cgroup/cgroup_file.h"
#include "core/cgroup/cgroup_group.h"

static const struct {
  enum cgroup_controller controller;
  const char *name;
} handed_down[] = {
    {CGROUP_MEMORY, "memory"}, {CGROUP_PIDS, "pids"}, {CGROUP_CPU, "cpu"}};

static int hand_down(const char *directory, const char *controller) {
  char text[32];
  snprintf(text, sizeof text, "+%s", controller);
  return cgroup_file_write(directory, "cgroup.subtree_control", text);
}

/* Leaves the group whose controllers are to be handed down. Other processes in
 * it are not ours to move. */
static int step_aside(const char *directory) {
  CLEANUP(mem_free_pointer)
  char *child = mem_format("%s/" CGROUP_KEEPER, directory);
  if (mkdir(child, 0755) < 0 && errno != EEXIST)
    return -1;
  return cgroup_file_write(child, "cgroup.procs", "0");
}

static int hand_down_from_base(const char *base, const char *controller) {
  if (hand_down(base, controller) == 0)
    return 0;
  if (errno != EBUSY || step_aside(base) < 0)
    return -1;
  return hand_down(base, controller);
}

static void give_up_all(struct cgroup_host *host, const char *base,
                        int number) {
  for (size_t i = 0; i < CGROUP_COUNT; i++)
    cgroup_give_up(host, (enum cgroup_controller)i,
                   "no control group can be made in %s: %s%s", base,
                   strerror(number),
                   number == EACCES || number == EROFS
                       ? " (it must be delegated to the keeper: Delegate=yes)"
                       : "");
}

/* A keeper that was started in its own group is one level too deep. */
static void leave_keepers_place(struct cgroup_host *host) {
  size_t length = strlen(host->base.directories[0]);
  const char *tail = "/" CGROUP_KEEPER;
  if (length <= strlen(tail) ||
      strcmp(host->base.directories[0] + length - strlen(tail), tail) != 0)
    return;
  for (size_t i = 0; i < CGROUP_COUNT; i++)
    host->base.directories[i][length - strlen(tail)] = '\0';
}

static void prepare(struct cgroup_host *host, const char *name) {
  leave_keepers_place(host);
  const char *base = host->base.directories[0];
  CLEANUP(mem_free_pointer) char *directory = mem_format("%s/%s", base, name);
  mkdir(base, 0755); /* a configured one may be new */
  for (size_t i = 0; i < COUNT_OF(handed_down); i++)
    if (hand_down_from_base(base, handed_down[i].name) < 0)
      cgroup_give_up(host, handed_down[i].controller,
                     "%s does not hand down the controller \"%s\": %s%s", base,
                     handed_down[i].name, strerror(errno),
                     errno == EBUSY ? " (other processes are in it; start "
                                      "the keeper in a group of its own)"
                                    : "");
  if (mkdir(directory, 0755) < 0 && errno != EEXIST) {
    give_up_all(host, base, errno);
    return;
  }
  for (size_t i = 0; i < COUNT_OF(handed_down); i++)
    if (host->faults[handed_down[i].controller] == NULL &&
        hand_down(directory, handed_down[i].name) < 0)
      cgroup_give_up(host, handed_down[i].controller,
                     "%s does not hand down the controller \"%s\": %s",
                     directory, handed_down[i].name, strerror(errno));
  for (size_t i = 0; i < CGROUP_COUNT; i++)
    if (host->faults[i] == NULL)
      host->instance.directories[i] = mem_copy_text(directory);
}

static int limit_memory(const char *directory, int64_t bytes) {
  if (cgroup_file_write_number(directory, "memory.max", bytes) < 0)
    return -1;
  if (cgroup_file_write(directory, "memory.swap.max", "0") < 0 &&
      errno != ENOENT)
    return -1;
  return cgroup_file_write(directory, "memory.oom.group", "1");
}

static int limit_cpu(const char *directory, int64_t quota_us) {
  char text[64];
  snprintf(text, sizeof text, "%lld %d", (long long)quota_us,
           CGROUP_CPU_PERIOD_US);
  return cgroup_file_write(directory, "cpu.max", text);
}

/* Such a file is always readable; what is new in it is "priority" (kernfs). */
static struct cgroup_watch watch(const struct cgroup *group, int64_t soft) {
  const char *directory = group->directories[CGROUP_MEMORY];
  if (directory == NULL ||
      cgroup_file_write_number(directory, "memory.high", soft) < 0)
    return (struct cgroup_watch){-1, 0};
  CLEANUP(mem_free_pointer)
  char *path = mem_format("%s/memory.events", directory);
  struct cgroup_watch made = {open(path, O_RDONLY | O_CLOEXEC), POLLPRI};
  cgroup_watch_clear(&made);
  return made;
}

/* cgroup.kill came with Linux 5.14; before, freezing keeps them from forking
 * while they are killed one by one. */
static void freeze(const struct cgroup *group, bool frozen) {
  const char *directory = group->directories[CGROUP_FREEZER];
  if (frozen && cgroup_file_write(directory, "cgroup.kill", "1") == 0)
    return;
  cgroup_file_write(directory, "cgroup.freeze", frozen ? "1" : "0");
}

const struct cgroup_backend cgroup_version_2 = {
    .cpu_file = "cpu.stat",
    .cpu_key = "usage_usec",
    .cpu_unit = 1,
    .memory_file = "memory.current",
    .peak_file = "memory.peak",
    .limit_file = "memory.max",
    .anonymous_key = "anon",
    .shared_key = "shmem",
    .oom_file = "memory.events",
    .prepare = prepare,
    .limit_memory = limit_memory,
    .limit_cpu = limit_cpu,
    .watch = watch,
    .freeze = freeze,
};
