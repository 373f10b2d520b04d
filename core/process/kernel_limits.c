#include "core/process/kernel_limits.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "core/base/mem.h"

#define MIB (INT64_C(1) << 20)
/* What a task may ask for. Below the least no kernel of Jupyter starts. */
static const struct {
  const char *name;
  size_t place;
  double least;
  size_t most; /* in struct conf */
} askable[] = {
    {"memory", offsetof(struct kernel_limits, memory), 64.0 * 1024 * 1024,
     offsetof(struct conf, memory_max)},
    {"pids", offsetof(struct kernel_limits, pids), 16,
     offsetof(struct conf, pids_max)},
    {"cpus", offsetof(struct kernel_limits, cpus), 0.05,
     offsetof(struct conf, cpus_max)},
    {"workspace_bytes", offsetof(struct kernel_limits, workspace_bytes),
     1024.0 * 1024, offsetof(struct conf, workspace_bytes_max)},
    {"workspace_files", offsetof(struct kernel_limits, workspace_files), 100,
     offsetof(struct conf, workspace_files_max)},
};

static bool is_decimal(size_t i) {
  return askable[i].place == offsetof(struct kernel_limits, cpus);
}

static double most_of(const struct conf *conf, size_t i) {
  const char *place = (const char *)conf + askable[i].most;
  if (!is_decimal(i))
    return (double)*(const int64_t *)(const void *)place;
  double most = *(const double *)(const void *)place;
  return most == 0 ? 4096 : most;
}

static int take(const struct conf *conf, size_t i, const struct json *value,
                struct kernel_limits *limits, struct err *err) {
  double number = json_as_number(value, NAN), most = most_of(conf, i);
  bool whole = json_kind(value) == JSON_INTEGER;
  if (!(number >= askable[i].least && number <= most) ||
      (!whole && !is_decimal(i)))
    return err_set(
        err, ERR_FIELD, "limits.%s must be a %snumber from %.12g to %.12g",
        askable[i].name, is_decimal(i) ? "" : "whole ", askable[i].least, most);
  char *place = (char *)limits + askable[i].place;
  if (is_decimal(i))
    *(double *)(void *)place = number;
  else
    *(int64_t *)(void *)place = (int64_t)number;
  return 0;
}

static int take_named(const struct conf *conf, const char *name,
                      const struct json *value, struct kernel_limits *limits,
                      struct err *err) {
  for (size_t i = 0; i < COUNT_OF(askable); i++)
    if (strcmp(name, askable[i].name) == 0)
      return take(conf, i, value, limits, err);
  return err_set(err, ERR_FIELD,
                 "limits.%.60s is unknown; there are memory, pids, cpus, "
                 "workspace_bytes and workspace_files",
                 name);
}

int kernel_limits_read(const struct conf *conf, const struct json *wanted,
                       struct kernel_limits *ret, struct err *err) {
  struct kernel_limits limits = {
      .memory = conf->memory,
      .pids = conf->pids,
      .cpus = conf->cpus,
      .workspace_bytes = conf->workspace_bytes,
      .workspace_files = conf->workspace_files,
      .tmp_bytes = conf->tmp_bytes,
      .open_files = conf->open_files,
      .file_bytes = conf->file_bytes,
  };
  enum json_kind kind = json_kind(wanted);
  if (kind != JSON_NULL && kind != JSON_OBJECT)
    return err_set(err, ERR_FIELD, "limits must be an object");
  void *state = NULL;
  const char *name;
  struct json *value;
  while (json_next(wanted, &state, &name, &value))
    if (take_named(conf, name, value, &limits, err) < 0)
      return -1;
  *ret = limits;
  return 0;
}

int kernel_limits_threads(const struct kernel_limits *limits, int processors,
                          int most) {
  int threads = processors < 1 ? 1 : processors;
  if (limits->cpus > 0 && (int)ceil(limits->cpus) < threads)
    threads = (int)ceil(limits->cpus);
  return threads < most ? threads : most;
}

/* A margin that a busy allocator does not cross before it is interrupted. */
int64_t kernel_limits_soft_memory(const struct kernel_limits *limits) {
  int64_t margin = limits->memory / 10;
  margin = margin < 32 * MIB ? 32 * MIB : margin;
  margin = margin > 256 * MIB ? 256 * MIB : margin;
  margin = margin > limits->memory / 4 ? limits->memory / 4 : margin;
  return limits->memory - margin;
}
