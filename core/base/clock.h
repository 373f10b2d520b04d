/* Time. Wall-clock times are microseconds since 1970-01-01 UTC (int64_t, as
 * the database keeps them); durations and deadlines are nanoseconds of
 * CLOCK_MONOTONIC. */
#ifndef CELLPOST_BASE_CLOCK_H
#define CELLPOST_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#define CLOCK_MS INT64_C(1000000)   /* nanoseconds in a millisecond */
#define CLOCK_S INT64_C(1000000000) /* nanoseconds in a second */
#define CLOCK_ISO_SIZE 32

int64_t clock_wall_us(void);
int64_t clock_monotonic_ns(void);

/* Nanoseconds since the host has been started, its sleep included
 * (CLOCK_BOOTTIME): for ages, and for durations that are told. No change of the
 * wall clock touches it, and all processes of the host share it. */
int64_t clock_boot_ns(void);

/* "2026-11-29T20:04:58.219554Z" (RFC 3339, always six digits, always Z). */
void clock_format_iso(int64_t wall_us, char text[CLOCK_ISO_SIZE]);

/* The way back: RFC 3339 with "Z" or an offset, a fraction of any length or
 * none; or a date alone, which is its midnight (UTC). 0 on success. */
int clock_parse_iso(const char *text, int64_t *wall_us);

static inline int64_t clock_sooner(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* Milliseconds from now until the deadline, rounded up, for poll(): 0 when it
 * has passed, at most INT32_MAX. */
int clock_poll_timeout(int64_t deadline_ns);

#endif
