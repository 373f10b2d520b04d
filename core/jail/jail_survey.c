/* What this host can give: jail_host_open. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/crypto.h"
#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/jail/jail_host_private.h"
#include "core/jail/jail_ids.h"
#include "core/jail/jail_landlock.h"
#include "core/jail/jail_probe.h"
#include "core/jail/jail_seccomp.h"

#define INSTANCE_DIGITS 12
#define LIMIT_LAYERS                                                           \
  (JAIL_BIT(JAIL_LIMIT_MEMORY) | JAIL_BIT(JAIL_LIMIT_PIDS) |                   \
   JAIL_BIT(JAIL_LIMIT_CPU) | JAIL_BIT(JAIL_KILL) | JAIL_BIT(JAIL_QUOTA))

static void note(struct jail_host *host, enum jail_layer layer,
                 enum jail_state state, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void note(struct jail_host *host, enum jail_layer layer,
                 enum jail_state state, const char *format, ...) {
  struct jail_status *status = &host->status[layer];
  va_list values;
  va_start(values, format);
  vsnprintf(status->note, sizeof status->note, format, values);
  va_end(values);
  status->state = state;
  if (state == JAIL_OFF || state == JAIL_UNNEEDED)
    host->layers &= ~JAIL_BIT(layer);
}

static void survey_landlock(struct jail_host *host) {
  host->landlock_abi = jail_landlock_abi();
  if (host->landlock_abi == 0)
    note(host, JAIL_LANDLOCK, JAIL_OFF, "this Linux has none: %s",
         strerror(errno));
  else if (host->landlock_abi < JAIL_LANDLOCK_LEAST)
    note(host, JAIL_LANDLOCK, JAIL_OFF,
         "ABI %d of this Linux would forbid to move files between directories",
         host->landlock_abi);
  else
    note(host, JAIL_LANDLOCK, JAIL_ON, "ABI %d", host->landlock_abi);
}

static void survey_filter(struct jail_host *host) {
  struct err err = {0};
  if (jail_filter_build(&host->filter, &err) < 0)
    note(host, JAIL_SECCOMP, JAIL_OFF, "%.200s", err.text);
}

/* Two instances on one host keep apart by where they run. */
static int survey_groups(struct jail_host *host, bool trial, struct err *err) {
  static const struct {
    enum jail_layer layer;
    enum cgroup_controller controller;
  } limits[] = {{JAIL_LIMIT_MEMORY, CGROUP_MEMORY},
                {JAIL_LIMIT_PIDS, CGROUP_PIDS},
                {JAIL_LIMIT_CPU, CGROUP_CPU}};
  char instance[CRYPTO_SHA256_HEX];
  const char *run = host->conf->run_directory, *base = host->conf->cgroup;
  crypto_sha256(run, strlen(run), instance);
  instance[INSTANCE_DIGITS] = '\0';
  host->uid_begin = (int64_t)strtoull(instance, NULL, 16);
  if (cgroup_host_open(strcmp(base, "auto") == 0 ? NULL : base,
                       trial ? NULL : instance, NULL, &host->groups, err) < 0)
    return -1;
  for (size_t i = 0; i < COUNT_OF(limits); i++) {
    const char *fault = cgroup_fault(host->groups, limits[i].controller);
    if (fault != NULL)
      note(host, limits[i].layer, JAIL_OFF, "%.200s", fault);
    else
      note(host, limits[i].layer, JAIL_ON, "control groups version %d",
           cgroup_version(host->groups));
  }
  return 0;
}

static void survey_users(struct jail_host *host, const char *tasks) {
  if (!host->plain.switch_user) {
    note(host, JAIL_IDS, JAIL_UNNEEDED,
         "the keeper is not root: its user, in a namespace of its own");
    return;
  }
  note(host, JAIL_USER, JAIL_UNNEEDED,
       "the keeper is root: kernels have users of their own");
  struct err err = {0};
  struct jail_owner outside = {host->plain.uid, host->plain.gid};
  struct jail_owner inside = {(uid_t)host->conf->uid_first,
                              (gid_t)host->conf->uid_first};
  CLEANUP(mem_close_descriptor) int map = jail_map_owner(outside, inside, &err);
  CLEANUP(mem_close_descriptor) int place = fs_open_directory(tasks, &err);
  if (map < 0 || place < 0 || jail_probe_owner_map(place, map, &err) < 0)
    note(host, JAIL_IDS, JAIL_OFF, "all kernels are one user: %.150s",
         err.text);
}

/* In directories that stand in for a kernel's. */
static int try_out(struct jail_host *host, const char *scratch,
                   const char *tasks, struct err *err) {
  struct stat status;
  if (stat(tasks, &status) != 0)
    return err_errno(err, ERR_IO, errno, "cannot look at %s", tasks);
  struct jail jail = host->plain;
  jail.layers = host->layers & ~LIMIT_LAYERS;
  jail.limits = (struct jail_limits){.tmp_bytes = host->conf->tmp_bytes,
                                     .open_files = host->conf->open_files,
                                     .file_bytes = host->conf->file_bytes};
  jail.workspace = tasks;
  jail.workspace_device = status.st_dev;
  jail.workspace_inode = status.st_ino;
  jail.run = scratch;
  jail.filter = host->filter;
  jail.landlock_abi = host->landlock_abi;
  if (jail_has(&jail, JAIL_IDS))
    jail.uid = jail.gid = (uid_t)host->conf->uid_first;
  if (jail_probe_all(&jail, host->status, err) < 0)
    return err_wrap(err, "kernels cannot be confined at all");
  host->layers = jail.layers | (host->layers & LIMIT_LAYERS);
  return 0;
}

static void survey_killing(struct jail_host *host) {
  bool freezer = cgroup_fault(host->groups, CGROUP_FREEZER) == NULL &&
                 cgroup_version(host->groups) != 0;
  if (jail_host_has(host, JAIL_PID))
    note(host, JAIL_KILL, JAIL_ON, "with the pid namespace%s",
         freezer ? " and the control group" : "");
  else if (freezer)
    note(host, JAIL_KILL, JAIL_ON, "with the control group");
  else
    note(host, JAIL_KILL, JAIL_DEGRADED, "one by one");
  note(host, JAIL_QUOTA, JAIL_ON, "looked at every few seconds during a run");
}

static int refuse_missing(const struct jail_host *host, struct err *err) {
  for (size_t i = 0; i < JAIL_LAYERS; i++)
    if (host->status[i].state == JAIL_OFF)
      return err_set(err, ERR_UNAVAILABLE,
                     "jail = required, but the layer \"%s\" (%s) is missing: "
                     "%s",
                     jail_layer_name((enum jail_layer)i),
                     jail_layer_meaning((enum jail_layer)i),
                     host->status[i].note);
  return 0;
}

static void switch_all_off(struct jail_host *host) {
  for (size_t i = 0; i < JAIL_LAYERS; i++)
    note(host, (enum jail_layer)i, JAIL_OFF, "jail = off");
}

static int survey(struct jail_host *host, const char *scratch,
                  const char *tasks, bool trial, struct err *err) {
  host->layers = JAIL_BIT(JAIL_LAYERS) - 1;
  if (host->conf->jail == CONF_JAIL_OFF) {
    switch_all_off(host);
    return 0;
  }
  if (survey_groups(host, trial, err) < 0)
    return -1;
  survey_landlock(host);
  survey_filter(host);
  survey_users(host, tasks);
  if (try_out(host, scratch, tasks, err) < 0)
    return -1;
  survey_killing(host);
  return 0;
}

int jail_host_open(const struct conf *conf, const struct jail *plain,
                   const char *scratch, const char *tasks, bool trial,
                   struct jail_host **ret, struct err *err) {
  CLEANUP(jail_host_done) struct jail_host *host = mem_new(sizeof *host);
  *ret = NULL;
  host->conf = conf;
  host->plain = *plain;
  if (survey(host, scratch, tasks, trial, err) < 0)
    return -1;
  int result = 0;
  if (conf->jail == CONF_JAIL_REQUIRED)
    result = refuse_missing(host, err);
  *ret = MEM_STEAL(host);
  return result;
}
