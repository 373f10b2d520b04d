/* What a shim looks after while its kernel runs.
 *
 * Memory: beyond kernel_limits_soft_memory the run is interrupted, once for
 * each time that it gets there and again when it grows on, before the hard
 * limit ends the kernel with all its variables. Page cache does not count: the
 * system takes it back.
 *
 * The workspace, with deleted files that are held (jail_held.h): beyond its
 * bytes or files the run is interrupted; what still
 * grows a second later is killed. What it holds when the kernel starts is no
 * fault of this kernel, which is needed to delete it: that much, and a little
 * for its start, it may go on to hold until it holds less.
 *
 * The directory of the sockets: when the kernel has a root of its own, it holds
 * a handful of them and nothing else; a kernel that puts more there is killed.
 * Without one, settings, caches and temporary files are in it, too. */
#ifndef CELLPOST_JAIL_WATCH_JAIL_WATCH_H
#define CELLPOST_JAIL_WATCH_JAIL_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "core/base/fs_usage.h"
#include "core/cgroup/cgroup.h"
#include "core/jail/jail.h"
#include "core/process/exit_record.h"

enum jail_verdict { JAIL_FINE, JAIL_INTERRUPT, JAIL_KILL_NOW };

/* Decides by numbers alone. */
struct jail_watch_trigger {
  int64_t soft, margin;
  int64_t next; /* interrupts from here on; 0: from soft on */
};
bool jail_watch_trips(struct jail_watch_trigger *trigger, int64_t fixed);

struct jail_quota {
  struct fs_usage most;
  struct fs_usage base;   /* what is tolerated: `most`, or what was found */
  struct fs_usage last;   /* the last time that it was over */
  int64_t nameless_since; /* it is over by files without a name; 0: it is not */
  bool based, over;
};
/* The first usage is the base. */
/* `held` is the part of it that has no name: it cannot be deleted, so that a
 * kernel that keeps it for five seconds (`now`, monotonic) is killed. */
enum jail_verdict jail_watch_judge(struct jail_quota *quota,
                                   struct fs_usage usage, struct fs_usage held,
                                   int64_t now);

/* How many kills for lack of memory the kernel has survived: those that were
 * counted more than ten seconds ago. One that was killed takes a while to end
 * on a busy machine. `counted` at `now` (monotonic). Pure. */
struct jail_watch;
void jail_watch_forget_kills(struct jail_watch *watch, int64_t counted,
                             int64_t now);

struct jail_watch {
  const struct cgroup *group; /* NULL: none */
  struct cgroup_watch memory;
  struct jail_watch_trigger trigger;
  int64_t memory_at;  /* when to look at memory (monotonic), 0: when told to */
  int workspace, run; /* open directories, -1: not watched */
  struct jail_quota quota;
  timer_t activity;       /* of the kernel: counts its CPU time */
  bool can_rest, resting; /* until that, or memory, tells */
  int64_t quota_at;       /* when to look at files, 0: never */
  int64_t cpu_us;         /* when they were looked at */
  int64_t oom_kills;      /* that are no reason of the kernel's end */
  int64_t oom_kills_seen; /* all that were seen, the last of them when */
  int64_t oom_seen_at;
  enum exit_cause cause; /* of the last verdict */
};

/* In the shim, as long as it may open things. Takes what the jail has. `kernel`
 * is its pid here. While the kernel is alone and idle nothing is looked at: a
 * timer on its CPU time sends SIGALRM. */
void jail_watch_open(struct jail_watch *watch, const struct jail *jail,
                     pid_t kernel);

/* When jail_watch_turn is due at the latest; 0: when memory tells. */
int64_t jail_watch_due(const struct jail_watch *watch);

/* `told`: the memory's descriptor is ready, or SIGALRM has come. What is to be
 * done with the kernel;
 * watch->cause says why. */
enum jail_verdict jail_watch_turn(struct jail_watch *watch, bool told);

/* Puts into the record of a kernel that has just ended what the group knows:
 * time, peak and limit of all its processes, and whether the kernel was killed
 * for lack of memory. */
void jail_watch_conclude(const struct jail_watch *watch,
                         struct exit_record *record);

#endif
