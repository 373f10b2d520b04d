#include "core/access/quota.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"

static const struct {
  const char *name;
  size_t offset;
} names[] = {
    {"runs", offsetof(struct quota, runs)},
    {"kernels", offsetof(struct quota, kernels)},
    {"runs_per_minute", offsetof(struct quota, runs_per_minute)},
    {"file_bytes", offsetof(struct quota, file_bytes)},
};

void quota_read(const struct json *limits, struct quota *ret) {
  *ret = (struct quota){0};
  for (size_t i = 0; i < COUNT_OF(names); i++) {
    int64_t value = json_get_integer(limits, names[i].name, 0);
    if (value > 0)
      *(int64_t *)(void *)((char *)ret + names[i].offset) = value;
  }
}

int quota_set(struct json *limits, const char *name, const char *value,
              struct err *err) {
  for (size_t i = 0; i < COUNT_OF(names); i++) {
    if (strcmp(names[i].name, name) != 0)
      continue;
    char *end;
    errno = 0;
    long long number = strtoll(value, &end, 10);
    if (*value < '0' || *value > '9' || *end != '\0' || errno != 0)
      return err_set(err, ERR_INVALID,
                     "%s: wanted is a whole number, not \"%.100s\"", name,
                     value);
    if (number == 0)
      json_remove(limits, name);
    else
      json_set_integer(limits, name, number);
    return 0;
  }
  return err_set(err, ERR_INVALID,
                 "there is no limit \"%.100s\"; there are runs, kernels, "
                 "runs_per_minute and file_bytes",
                 name);
}

bool quota_rate_take(struct quota_rate *rate, int64_t each, int64_t now,
                     int64_t *wait_ns) {
  int64_t minute = 60 * CLOCK_S, unit = minute / each;
  int64_t free_at = rate->free_at > now ? rate->free_at : now;
  if (free_at + unit > now + minute) {
    *wait_ns = free_at + unit - now - minute;
    return false;
  }
  rate->free_at = free_at + unit;
  return true;
}
