#include "core/base/clock.h"

#include <stdbool.h>
#include <stdio.h>
#include <time.h>

static int64_t nanoseconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (int64_t)now.tv_sec * CLOCK_S + now.tv_nsec;
}

int64_t clock_wall_us(void) { return nanoseconds(CLOCK_REALTIME) / 1000; }

int64_t clock_monotonic_ns(void) { return nanoseconds(CLOCK_MONOTONIC); }

int64_t clock_boot_ns(void) { return nanoseconds(CLOCK_BOOTTIME); }

void clock_format_iso(int64_t wall_us, char text[CLOCK_ISO_SIZE]) {
  int64_t fraction = wall_us % 1000000;
  if (fraction < 0)
    fraction += 1000000;
  time_t seconds = (time_t)((wall_us - fraction) / 1000000);
  struct tm parts;
  gmtime_r(&seconds, &parts);
  char date[24];
  strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &parts);
  snprintf(text, CLOCK_ISO_SIZE, "%.19s.%06dZ", date, (int)fraction);
}

/* Reads ".123" in microseconds; gives what follows. */
static const char *read_fraction(const char *text, int64_t *wall_us) {
  if (*text != '.')
    return text;
  int64_t unit = 100000;
  for (text++; *text >= '0' && *text <= '9'; text++, unit /= 10)
    *wall_us += (*text - '0') * unit;
  return text;
}

/* "Z", "+01:00", "-05:30", and nothing after it. */
static int read_offset(const char *text, int64_t *wall_us) {
  unsigned hours, minutes;
  int end = 0;
  if ((*text == 'Z' || *text == 'z') && text[1] == '\0')
    return 0;
  if ((*text != '+' && *text != '-') ||
      sscanf(text + 1, "%2u:%2u%n", &hours, &minutes, &end) != 2 || end != 5 ||
      text[6] != '\0' || hours > 23 || minutes > 59)
    return -1;
  int64_t offset = (int64_t)(hours * 60 + minutes) * 60 * 1000000;
  *wall_us += *text == '+' ? -offset : offset;
  return 0;
}

int clock_parse_iso(const char *text, int64_t *wall_us) {
  struct tm parts = {0};
  const char *rest = strptime(text, "%Y-%m-%d", &parts);
  if (rest == NULL)
    return -1;
  bool is_date = *rest == '\0';
  if (!is_date && (*rest != 'T' && *rest != 't' && *rest != ' '))
    return -1;
  if (!is_date && (rest = strptime(rest + 1, "%H:%M:%S", &parts)) == NULL)
    return -1;
  int64_t at = (int64_t)timegm(&parts) * 1000000;
  if (!is_date && read_offset(read_fraction(rest, &at), &at) != 0)
    return -1;
  *wall_us = at;
  return 0;
}

int clock_poll_timeout(int64_t deadline_ns) {
  int64_t left = deadline_ns - clock_monotonic_ns();
  if (left <= 0)
    return 0;
  int64_t milliseconds = (left + CLOCK_MS - 1) / CLOCK_MS;
  return milliseconds > INT32_MAX ? INT32_MAX : (int)milliseconds;
}
