#include "core/jail/watch/jail_watch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/jail/watch/jail_held.h"

/* A busy program fills some gigabytes a second: how soon it can be at the limit
 * decides when to look again. */
#define FILL_BYTES_PER_MS (INT64_C(4) << 20)
#define LOOK_LEAST_MS 10
#define LOOK_MOST_MS 500
#define QUOTA_NS (2 * CLOCK_S)
#define QUOTA_OVER_NS CLOCK_S
#define HELD_NS (5 * CLOCK_S)
#define ACTIVITY_NS (10 * CLOCK_MS) /* of CPU time */
#define SURVIVED_NS (10 * CLOCK_S)
#define QUOTA_EFFORT                                                           \
  20 /* at most a twentieth of the time is spent counting                      \
      */
#define GROWTH_BYTES (INT64_C(16) << 20)
#define GROWTH_FILES 100
#define RUN_BYTES (INT64_C(1) << 20)
#define RUN_FILES 64

bool jail_watch_trips(struct jail_watch_trigger *trigger, int64_t fixed) {
  int64_t from = trigger->next == 0 ? trigger->soft : trigger->next;
  if (fixed < trigger->soft - trigger->margin / 2)
    trigger->next = 0;
  if (fixed < from)
    return false;
  trigger->next = fixed + trigger->margin / 4;
  return true;
}

static int64_t next_base(int64_t most, int64_t base, int64_t used,
                         int64_t growth) {
  if (used <= most)
    return most;
  return used + growth < base ? used + growth : base;
}

/* It only ever shrinks after the first time. */
static void set_base(struct jail_quota *quota, struct fs_usage usage) {
  const struct fs_usage *most = &quota->most;
  if (!quota->based)
    quota->base = (struct fs_usage){INT64_MAX, INT64_MAX};
  quota->based = true;
  quota->base.bytes =
      next_base(most->bytes, quota->base.bytes, usage.bytes, GROWTH_BYTES);
  quota->base.files =
      next_base(most->files, quota->base.files, usage.files, GROWTH_FILES);
}

static bool is_over(const struct jail_quota *quota, struct fs_usage usage) {
  return usage.bytes > quota->base.bytes || usage.files > quota->base.files;
}

/* For too long by files without a name alone. */
static bool keeps_nameless(struct jail_quota *quota, struct fs_usage usage,
                           struct fs_usage held, int64_t now) {
  const struct fs_usage named = {usage.bytes - held.bytes,
                                 usage.files - held.files};
  if (!is_over(quota, usage) || is_over(quota, named))
    quota->nameless_since = 0;
  else if (quota->nameless_since == 0)
    quota->nameless_since = now;
  return quota->nameless_since != 0 && now - quota->nameless_since >= HELD_NS;
}

enum jail_verdict jail_watch_judge(struct jail_quota *quota,
                                   struct fs_usage usage, struct fs_usage held,
                                   int64_t now) {
  set_base(quota, usage);
  bool over = is_over(quota, usage);
  bool grows = usage.bytes > quota->last.bytes + GROWTH_BYTES ||
               usage.files > quota->last.files + GROWTH_FILES;
  bool keeps = keeps_nameless(quota, usage, held, now);
  enum jail_verdict verdict = JAIL_FINE;
  if (over && !quota->over)
    verdict = JAIL_INTERRUPT;
  else if (over && (grows || keeps))
    verdict = JAIL_KILL_NOW;
  if (over)
    quota->last = usage;
  quota->over = over;
  return verdict;
}

static int open_same(const char *path, dev_t device, ino_t inode) {
  struct stat status;
  int directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (directory >= 0 && fstat(directory, &status) == 0 &&
      status.st_dev == device && status.st_ino == inode)
    return directory;
  mem_close_descriptor(&directory);
  return -1;
}

static bool make_timer(pid_t kernel, timer_t *ret) {
  clockid_t clock;
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL,
                           .sigev_signo = SIGALRM};
  return clock_getcpuclockid(kernel, &clock) == 0 &&
         timer_create(clock, &event, ret) == 0;
}

void jail_watch_open(struct jail_watch *watch, const struct jail *jail,
                     pid_t kernel) {
  *watch = (struct jail_watch){.memory = {-1, 0}, .workspace = -1, .run = -1};
  if (jail->layers == 0)
    return;
  const struct kernel_limits *limits = &jail->limits;
  int64_t soft = kernel_limits_soft_memory(limits);
  watch->group = jail->group;
  watch->trigger = (struct jail_watch_trigger){soft, limits->memory - soft, 0};
  if (jail->group != NULL)
    watch->memory = cgroup_watch_memory(jail->group, soft);
  if (!jail_has(jail, JAIL_QUOTA))
    return;
  watch->quota.most =
      (struct fs_usage){limits->workspace_bytes, limits->workspace_files};
  watch->workspace =
      open_same(jail->workspace, jail->workspace_device, jail->workspace_inode);
  if (jail_has(jail, JAIL_MOUNT))
    watch->run = open(jail->run, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  watch->can_rest = make_timer(kernel, &watch->activity);
  watch->quota_at = clock_monotonic_ns(); /* before it can have written much */
}

int64_t jail_watch_due(const struct jail_watch *watch) {
  if (watch->memory_at == 0 || watch->quota_at == 0)
    return watch->memory_at + watch->quota_at;
  return watch->memory_at < watch->quota_at ? watch->memory_at
                                            : watch->quota_at;
}

static enum jail_verdict look_at_memory(struct jail_watch *watch, int64_t now) {
  struct cgroup_usage usage;
  cgroup_read_usage(watch->group, &usage);
  int64_t soft = watch->trigger.soft;
  int64_t wait_ms = (soft - usage.memory_fixed) / FILL_BYTES_PER_MS;
  wait_ms = wait_ms < LOOK_LEAST_MS ? LOOK_LEAST_MS : wait_ms;
  wait_ms = wait_ms > LOOK_MOST_MS ? LOOK_MOST_MS : wait_ms;
  watch->memory_at = usage.memory < soft / 2 ? 0 : now + wait_ms * CLOCK_MS;
  if (!jail_watch_trips(&watch->trigger, usage.memory_fixed))
    return JAIL_FINE;
  watch->cause = EXIT_MEMORY;
  return JAIL_INTERRUPT;
}

void jail_watch_forget_kills(struct jail_watch *watch, int64_t counted,
                             int64_t now) {
  if (now - watch->oom_seen_at >= SURVIVED_NS)
    watch->oom_kills = watch->oom_kills_seen;
  if (counted == watch->oom_kills_seen)
    return;
  watch->oom_kills_seen = counted;
  watch->oom_seen_at = now;
}

/* A kernel that has computed nothing has written nothing. */
static bool was_idle(struct jail_watch *watch) {
  struct cgroup_usage usage;
  if (watch->group == NULL)
    return false;
  cgroup_read_usage(watch->group, &usage);
  jail_watch_forget_kills(watch, usage.oom_kills, clock_monotonic_ns());
  bool idle =
      watch->quota.based && usage.cpu_us >= 0 && usage.cpu_us == watch->cpu_us;
  watch->cpu_us = usage.cpu_us;
  return idle;
}

static enum jail_verdict look_at_run(struct jail_watch *watch) {
  const struct fs_usage most = {RUN_BYTES, RUN_FILES};
  if (watch->run < 0)
    return JAIL_FINE;
  struct fs_usage usage = fs_usage_count(watch->run, most);
  if (usage.bytes <= most.bytes && usage.files <= most.files)
    return JAIL_FINE;
  watch->cause = EXIT_RUN_DIRECTORY;
  return JAIL_KILL_NOW;
}

/* Growth is seen beyond the base, so some more is counted; at first all is. */
static struct fs_usage most_counted(const struct jail_quota *quota) {
  struct fs_usage most = {INT64_MAX, INT64_MAX};
  if (quota->based) {
    most.bytes = quota->base.bytes + quota->base.bytes / 2 + 2 * GROWTH_BYTES;
    most.files = quota->base.files + quota->base.files / 2 + 2 * GROWTH_FILES;
  }
  return most;
}

static enum jail_verdict look_at_workspace(struct jail_watch *watch) {
  if (watch->workspace < 0)
    return JAIL_FINE;
  struct stat status;
  struct fs_usage held = {0};
  struct fs_usage usage =
      fs_usage_count(watch->workspace, most_counted(&watch->quota));
  if (fstat(watch->workspace, &status) == 0)
    held = jail_held_count(status.st_dev);
  usage.bytes += held.bytes;
  usage.files += held.files;
  enum jail_verdict verdict =
      jail_watch_judge(&watch->quota, usage, held, clock_monotonic_ns());
  if (verdict != JAIL_FINE)
    watch->cause = EXIT_WORKSPACE;
  return verdict;
}

/* That the machine is busy must not make the looks rarer: only what this
 * process has had of it counts. */
static int64_t processor_ns(void) {
  struct timespec time = {0};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec * CLOCK_S + time.tv_nsec;
}

/* An idle kernel without other processes can neither write nor grow: until it
 * has computed again there is nothing to look at. */
static void rest(struct jail_watch *watch) {
  const struct itimerspec once = {.it_value = {.tv_nsec = ACTIVITY_NS}};
  if (timer_settime(watch->activity, 0, &once, NULL) != 0)
    return;
  watch->resting = true;
  watch->memory_at = watch->quota_at = 0;
}

static enum jail_verdict look_at_files(struct jail_watch *watch, int64_t now) {
  watch->quota_at = now + QUOTA_NS;
  if (was_idle(watch) && !watch->quota.over) {
    if (watch->can_rest && cgroup_count(watch->group) == 1)
      rest(watch);
    return JAIL_FINE;
  }
  int64_t began = processor_ns();
  enum jail_verdict verdict = look_at_run(watch);
  if (verdict == JAIL_FINE)
    verdict = look_at_workspace(watch);
  int64_t effort = (processor_ns() - began) * QUOTA_EFFORT;
  int64_t pause = watch->quota.over ? QUOTA_OVER_NS : QUOTA_NS;
  watch->quota_at = clock_monotonic_ns() + (effort > pause ? effort : pause);
  return verdict;
}

enum jail_verdict jail_watch_turn(struct jail_watch *watch, bool told) {
  int64_t now = clock_monotonic_ns();
  enum jail_verdict verdict = JAIL_FINE;
  if (told)
    cgroup_watch_clear(&watch->memory);
  if (told && watch->resting) {
    watch->resting = false;
    watch->quota_at = now;
  }
  if ((told && watch->group != NULL) ||
      (watch->memory_at != 0 && now >= watch->memory_at))
    verdict = look_at_memory(watch, now);
  if (verdict == JAIL_FINE && watch->quota_at != 0 && now >= watch->quota_at)
    verdict = look_at_files(watch, now);
  return verdict;
}

void jail_watch_conclude(const struct jail_watch *watch,
                         struct exit_record *record) {
  struct cgroup_usage usage;
  if (watch->group == NULL)
    return;
  cgroup_read_usage(watch->group, &usage);
  if (usage.cpu_us >= 0)
    record->cpu_us = usage.cpu_us;
  if (usage.memory_peak > 0)
    record->memory_peak = usage.memory_peak;
  if (usage.memory_limit > 0)
    record->memory_limit = usage.memory_limit;
  bool settled = clock_monotonic_ns() - watch->oom_seen_at >= SURVIVED_NS;
  if (record->signal == SIGKILL && record->cause == EXIT_PLAIN &&
      usage.oom_kills > (settled ? watch->oom_kills_seen : watch->oom_kills))
    record->cause = EXIT_MEMORY;
}
