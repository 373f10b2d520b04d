/* Control groups: what a kernel and all that it starts may use together, and
 * what they have used. One contract for both versions (cgroups(7); Linux,
 * Documentation/admin-guide/cgroup-v1/ and cgroup-v2.rst).
 *
 * Beneath a base (the group the keeper runs in, or a configured one) is one
 * group for each instance of the service, "cellpost-<instance>", and in it one
 * for each kernel, named by its id. With version 2 they are one directory; with
 * version 1 every controller has a hierarchy of its own, and so has the group.
 *
 * Version 2 lets no process be in a group whose controllers are handed down:
 * the keeper moves itself from the base into its child CGROUP_KEEPER. With
 * systemd, give the unit Delegate=yes (and DelegateSubgroup=cellpost-keeper, so
 * that it can be started again while kernels run). */
#ifndef CELLPOST_CGROUP_CGROUP_H
#define CELLPOST_CGROUP_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/cgroup/cgroup_values.h"

/* Where this host's groups are, and which controllers work. */
struct cgroup_host;

/* Makes the instance's group; instance NULL: only looks whether one could be
 * made, and changes nothing. `base`: a path as in /proc/self/cgroup, or NULL
 * for the one this process is in. A controller that cannot be used is no
 * failure, see cgroup_fault. The host is the caller's. */
int cgroup_host_open(const char *base, const char *instance,
                     const struct cgroup_view *view, struct cgroup_host **ret,
                     struct err *err);
/* Removes the instance's group when it is empty. */
void cgroup_host_close(struct cgroup_host *host);

/* Why a controller cannot be used, or NULL when it can. */
const char *cgroup_fault(const struct cgroup_host *host,
                         enum cgroup_controller controller);
int cgroup_version(const struct cgroup_host *host); /* 0: none works */

struct cgroup;

/* Makes a kernel's group with its limits, by all controllers that work. Nothing
 * is left on failure. The group is the caller's (cgroup_free, which leaves the
 * group itself alone). */
int cgroup_make(struct cgroup_host *host, const char *name,
                const struct cgroup_limits *limits, struct cgroup **ret,
                struct err *err);
void cgroup_free(struct cgroup *group);
void cgroup_done(struct cgroup **group); /* cleanup form */

/* A group as text, and back: so that the next keeper finds it, wherever that
 * one runs. ERR_INVALID: it is garbled. */
int cgroup_describe(const struct cgroup *group, struct buf *out);
int cgroup_parse(const char *text, struct cgroup **ret, struct err *err);

/* Opens what a process writes to in order to move into the group. Returns how
 * many descriptors were opened, at most CGROUP_COUNT; the caller closes them.
 */
int cgroup_open_entries(const struct cgroup *group, int entries[CGROUP_COUNT],
                        struct err *err);
/* The group's directory, to be given to clone3(2) with CLONE_INTO_CGROUP; -1
 * with version 1, which does not know that. */
int cgroup_open_directory(const struct cgroup *group);
/* Moves the calling process (and nothing else) into the group. */
int cgroup_enter(const int *entries, int count, struct err *err);

void cgroup_read_usage(const struct cgroup *group, struct cgroup_usage *ret);

/* Lets a user begin the count of the most memory anew: only that. */
void cgroup_give_peak(const struct cgroup *group, uid_t user);

/* The files that count; each begins with a number or with "NAME NUMBER". */
struct cgroup_meters {
  int cpu, peak;    /* the caller's; peak -1: there is none */
  int64_t cpu_unit; /* of `cpu`, in a microsecond */
};
/* Of the group that a process is in, when its name is `name`; else -1. Needs no
 * privilege. What is written to `peak` begins it anew, if the caller may
 * (cgroup_give_peak): with version 2 for this descriptor alone, and since Linux
 * 6.12 only; with version 1 for everybody. */
int cgroup_open_meters(int64_t pid, const char *name,
                       struct cgroup_meters *ret);

/* Tells when memory gets tight, so that nobody has to look all the time.
 * Version 1: a threshold at half of `soft` bytes (memory.usage_in_bytes through
 * cgroup.event_control). Version 2: memory.high is set to `soft`, which slows
 * down what goes beyond, and memory.events tells. The descriptor is the
 * caller's. */
struct cgroup_watch cgroup_watch_memory(const struct cgroup *group,
                                        int64_t soft);
/* Call this after an event, before the next poll. */
void cgroup_watch_clear(const struct cgroup_watch *watch);

/* How many processes are in the group now. */
int cgroup_count(const struct cgroup *group);

/* Kills everything in the group and waits for its end, at most limit_ms. The
 * number of processes left. */
int cgroup_kill(const struct cgroup *group, int limit_ms);

/* Removes the group; nothing may run in it, and it may be busy for a moment
 * after the last process was reaped: waits at most limit_ms. A missing one is
 * fine. */
int cgroup_remove(const struct cgroup *group, int limit_ms, struct err *err);

/* Kills and removes every group of the instance whose name is not `known`. */
void cgroup_sweep(struct cgroup_host *host,
                  bool (*known)(void *context, const char *name),
                  void *context);

#endif
