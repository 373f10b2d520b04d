/* What a kernel has used so far, with all that it started, as its control group
 * counts it; where there is none, what the kernel's own process has used. Read
 * by the app, which needs no privilege for it: the files are open to all. */
#ifndef CELLPOST_CGROUP_METER_H
#define CELLPOST_CGROUP_METER_H

#include <stdint.h>

struct meter;

/* For the kernel `id` with the pid. Never fails; meter_close. */
struct meter *meter_open(int64_t pid, const char *id);
void meter_close(struct meter *meter);

/* CPU time in microseconds, and the most memory in bytes since meter_begin, or
 * since the kernel's start where that cannot be had (page cache included where
 * a group counts, as it does against the limit); -1: not known (any more). One
 * system call each. */
void meter_begin(const struct meter *meter);
int64_t meter_cpu(const struct meter *meter);
int64_t meter_peak(const struct meter *meter);

#endif
