#include "core/cgroup/meter.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/cgroup/cgroup.h"
#include "core/process/process.h"

struct meter {
  int64_t pid;
  struct cgroup_meters group; /* descriptors -1: it has none */
};

struct meter *meter_open(int64_t pid, const char *id) {
  struct meter *meter = mem_new(sizeof *meter);
  meter->pid = pid;
  if (cgroup_open_meters(pid, id, &meter->group) < 0)
    meter->group.cpu = meter->group.peak = -1;
  return meter;
}

void meter_close(struct meter *meter) {
  if (meter == NULL)
    return;
  mem_close_descriptor(&meter->group.cpu);
  mem_close_descriptor(&meter->group.peak);
  free(meter);
}

/* The number behind the name with which the file may begin. */
static int64_t read_number(int file) {
  char text[64];
  ssize_t got = pread(file, text, sizeof text - 1, 0);
  if (got <= 0)
    return -1;
  text[got] = '\0';
  const char *digits = strpbrk(text, "0123456789\n");
  return digits == NULL || *digits == '\n' ? -1 : strtoll(digits, NULL, 10);
}

void meter_begin(const struct meter *meter) {
  if (meter->group.peak >= 0)
    (void)!pwrite(meter->group.peak, "0", 1, 0);
}

int64_t meter_cpu(const struct meter *meter) {
  if (meter->group.cpu < 0)
    return process_cpu(meter->pid);
  int64_t value = read_number(meter->group.cpu);
  return value < 0 ? -1 : value / meter->group.cpu_unit;
}

int64_t meter_peak(const struct meter *meter) {
  int64_t cpu, peak = -1;
  if (meter->group.peak >= 0)
    return read_number(meter->group.peak);
  return process_usage(meter->pid, &cpu, &peak) == 0 ? peak : -1;
}
