#include "core/base/clock.h"

#include <stdio.h>
#include <time.h>

int64_t clock_wall_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t clock_monotonic_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * CLOCK_S + now.tv_nsec;
}

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

int clock_poll_timeout(int64_t deadline_ns) {
  int64_t left = deadline_ns - clock_monotonic_ns();
  if (left <= 0)
    return 0;
  int64_t milliseconds = (left + CLOCK_MS - 1) / CLOCK_MS;
  return milliseconds > INT32_MAX ? INT32_MAX : (int)milliseconds;
}
