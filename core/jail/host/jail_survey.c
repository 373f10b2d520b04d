#include "core/jail/host/jail_survey.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/crypto.h"
#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/jail/host/jail_probe.h"
#include "core/jail/host/jail_seccomp.h"
#include "core/jail/layers/jail_ids.h"
#include "core/jail/layers/jail_landlock.h"

#define INSTANCE_DIGITS 12
#define LIMIT_LAYERS                                                           \
  (JAIL_BIT(JAIL_LIMIT_MEMORY) | JAIL_BIT(JAIL_LIMIT_PIDS) |                   \
   JAIL_BIT(JAIL_LIMIT_CPU) | JAIL_BIT(JAIL_KILL) | JAIL_BIT(JAIL_QUOTA))

static void note(struct jail_survey *survey, enum jail_layer layer,
                 enum jail_state state, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void note(struct jail_survey *survey, enum jail_layer layer,
                 enum jail_state state, const char *format, ...) {
  struct jail_status *status = &survey->status[layer];
  va_list values;
  va_start(values, format);
  vsnprintf(status->note, sizeof status->note, format, values);
  va_end(values);
  status->state = state;
  if (state == JAIL_OFF || state == JAIL_UNNEEDED)
    survey->layers &= ~JAIL_BIT(layer);
}

static void survey_landlock(struct jail_survey *survey) {
  survey->landlock_abi = jail_landlock_abi();
  if (survey->landlock_abi == 0)
    note(survey, JAIL_LANDLOCK, JAIL_OFF, "this Linux has none: %s",
         strerror(errno));
  else if (survey->landlock_abi < JAIL_LANDLOCK_LEAST)
    note(survey, JAIL_LANDLOCK, JAIL_OFF,
         "ABI %d of this Linux would forbid to move files between directories",
         survey->landlock_abi);
  else
    note(survey, JAIL_LANDLOCK, JAIL_ON, "ABI %d", survey->landlock_abi);
}

static void survey_filter(struct jail_survey *survey) {
  struct err err = {0};
  if (jail_seccomp_build(&survey->filter, &err) < 0)
    note(survey, JAIL_SECCOMP, JAIL_OFF, "%.200s", err.text);
}

/* Two instances on one host keep apart by where they run. */
static int survey_groups(struct jail_survey *survey, bool trial,
                         struct err *err) {
  static const struct {
    enum jail_layer layer;
    enum cgroup_controller controller;
  } limits[] = {{JAIL_LIMIT_MEMORY, CGROUP_MEMORY},
                {JAIL_LIMIT_PIDS, CGROUP_PIDS},
                {JAIL_LIMIT_CPU, CGROUP_CPU}};
  char instance[CRYPTO_SHA256_HEX];
  const char *run = survey->conf->run_directory, *base = survey->conf->cgroup;
  crypto_sha256(run, strlen(run), instance);
  instance[INSTANCE_DIGITS] = '\0';
  survey->instance = (int64_t)strtoull(instance, NULL, 16);
  if (cgroup_host_open(strcmp(base, "auto") == 0 ? NULL : base,
                       trial ? NULL : instance, NULL, &survey->groups, err) < 0)
    return -1;
  for (size_t i = 0; i < COUNT_OF(limits); i++) {
    const char *fault = cgroup_fault(survey->groups, limits[i].controller);
    if (fault != NULL)
      note(survey, limits[i].layer, JAIL_OFF, "%.200s", fault);
    else
      note(survey, limits[i].layer, JAIL_ON, "control groups version %d",
           cgroup_version(survey->groups));
  }
  return 0;
}

static void survey_users(struct jail_survey *survey, const char *tasks) {
  if (!survey->plain.switch_user) {
    note(survey, JAIL_IDS, JAIL_UNNEEDED,
         "the keeper is not root: its user, in a namespace of its own");
    return;
  }
  note(survey, JAIL_USER, JAIL_UNNEEDED,
       "the keeper is root: kernels have users of their own");
  struct err err = {0};
  struct jail_owner outside = {survey->plain.uid, survey->plain.gid};
  struct jail_owner inside = {(uid_t)survey->conf->uid_first,
                              (gid_t)survey->conf->uid_first};
  CLEANUP(mem_close_descriptor)
  int map = jail_ids_map_owner(outside, inside, &err);
  CLEANUP(mem_close_descriptor) int place = fs_open_directory(tasks, &err);
  if (map < 0 || place < 0 || jail_ids_probe_map(place, map, &err) < 0)
    note(survey, JAIL_IDS, JAIL_OFF, "all kernels are one user: %.150s",
         err.text);
}

/* With other directories in the place of a kernel's. */
static int try_out(struct jail_survey *survey, const char *scratch,
                   const char *tasks, struct err *err) {
  struct stat status;
  if (stat(tasks, &status) < 0)
    return err_errno(err, ERR_IO, errno, "cannot look at %s", tasks);
  struct jail jail = survey->plain;
  jail.layers = survey->layers & ~LIMIT_LAYERS;
  jail.limits = (struct kernel_limits){.tmp_bytes = survey->conf->tmp_bytes,
                                       .open_files = survey->conf->open_files,
                                       .file_bytes = survey->conf->file_bytes};
  jail.workspace = tasks;
  jail.workspace_device = status.st_dev;
  jail.workspace_inode = status.st_ino;
  jail.run = scratch;
  jail.filter = survey->filter;
  jail.landlock_abi = survey->landlock_abi;
  if (jail_has(&jail, JAIL_IDS))
    jail.uid = jail.gid = (uid_t)survey->conf->uid_first;
  if (jail_probe_all(&jail, survey->status, err) < 0)
    return err_wrap(err, "kernels cannot be confined at all");
  survey->layers = jail.layers | (survey->layers & LIMIT_LAYERS);
  return 0;
}

static void survey_killing(struct jail_survey *survey) {
  bool freezer = cgroup_fault(survey->groups, CGROUP_FREEZER) == NULL &&
                 cgroup_version(survey->groups) < 0;
  if (jail_survey_has(survey, JAIL_PID))
    note(survey, JAIL_KILL, JAIL_ON, "with the pid namespace%s",
         freezer ? " and the control group" : "");
  else if (freezer)
    note(survey, JAIL_KILL, JAIL_ON, "with the control group");
  else
    note(survey, JAIL_KILL, JAIL_DEGRADED, "one by one");
  note(survey, JAIL_QUOTA, JAIL_DEGRADED,
       "looked at every few seconds while anything runs: what is "
       "written in between is on the disk by then; files that only a message "
       "in a socket holds are not counted");
}

int jail_survey_require_all(const struct jail_survey *survey, struct err *err) {
  for (size_t i = 0; i < JAIL_LAYERS; i++)
    if (survey->status[i].state == JAIL_OFF)
      return err_set(err, ERR_UNAVAILABLE,
                     "jail = required, but the layer \"%s\" (%s) is missing: "
                     "%s",
                     jail_layer_name((enum jail_layer)i),
                     jail_layer_meaning((enum jail_layer)i),
                     survey->status[i].note);
  return 0;
}

static void switch_all_off(struct jail_survey *survey) {
  for (size_t i = 0; i < JAIL_LAYERS; i++)
    note(survey, (enum jail_layer)i, JAIL_OFF, "jail = off");
}

static int look(struct jail_survey *survey, const char *scratch,
                const char *tasks, bool trial, struct err *err) {
  survey->layers = JAIL_BIT(JAIL_LAYERS) - 1;
  if (survey->conf->jail == CONF_JAIL_OFF) {
    switch_all_off(survey);
    return 0;
  }
  if (survey_groups(survey, trial, err) < 0)
    return -1;
  survey_landlock(survey);
  survey_filter(survey);
  survey_users(survey, tasks);
  if (try_out(survey, scratch, tasks, err) < 0)
    return -1;
  survey_killing(survey);
  return 0;
}

int jail_survey_open(const struct conf *conf, const struct jail *plain,
                     const char *scratch, const char *tasks, bool trial,
                     struct jail_survey *ret, struct err *err) {
  struct jail_survey survey = {.conf = conf, .plain = *plain};
  if (look(&survey, scratch, tasks, trial, err) < 0) {
    jail_survey_close(&survey);
    return -1;
  }
  *ret = survey;
  return 0;
}

void jail_survey_close(struct jail_survey *survey) {
  cgroup_host_close(survey->groups);
  jail_filter_free(survey->filter);
}

bool jail_survey_has(const struct jail_survey *survey, enum jail_layer layer) {
  return (survey->layers & JAIL_BIT(layer)) != 0;
}

const char *jail_survey_state(enum jail_state state) {
  static const char *const states[] = {[JAIL_ON] = "on",
                                       [JAIL_DEGRADED] = "degraded",
                                       [JAIL_OFF] = "off",
                                       [JAIL_UNNEEDED] = "not needed"};
  return states[state];
}

static struct json *describe(const struct jail_survey *survey,
                             enum jail_layer layer) {
  const struct jail_status *status = &survey->status[layer];
  struct json *object = json_object();
  json_set_text(object, "name", jail_layer_name(layer));
  json_set_text(object, "meaning", jail_layer_meaning(layer));
  json_set_text(object, "state", jail_survey_state(status->state));
  json_set_text(object, "note", status->note);
  return object;
}

struct json *jail_survey_describe(const struct jail_survey *survey) {
  static const char *const modes[] = {[CONF_JAIL_OFF] = "off",
                                      [CONF_JAIL_AUTO] = "auto",
                                      [CONF_JAIL_REQUIRED] = "required"};
  struct json *report = json_object(), *layers = json_array();
  for (size_t i = 0; i < JAIL_LAYERS; i++)
    json_push(layers, describe(survey, (enum jail_layer)i));
  json_set_text(report, "mode", modes[survey->conf->jail]);
  json_set(report, "layers", layers);
  return report;
}

/* As the keeper would be. */
static struct jail who(const struct conf *conf) {
  const struct passwd *user = geteuid() == 0 ? getpwnam(conf->user) : NULL;
  return (struct jail){.switch_user = user != NULL,
                       .uid = user == NULL ? geteuid() : user->pw_uid,
                       .gid = user == NULL ? getegid() : user->pw_gid};
}

int jail_survey_try(const struct conf *conf, struct json **ret,
                    struct err *err) {
  char scratch[] = "/tmp/cellpost-jail-XXXXXX";
  if (mkdtemp(scratch) == NULL)
    return err_errno(err, ERR_IO, errno, "cannot make %s", scratch);
  struct jail_survey survey;
  const char *tasks = access(conf->state_directory, R_OK | X_OK) == 0
                          ? conf->state_directory
                          : "/tmp";
  struct jail plain = who(conf);
  int result =
      jail_survey_open(conf, &plain, scratch, tasks, true, &survey, err);
  rmdir(scratch);
  if (result < 0)
    return -1;
  *ret = jail_survey_describe(&survey);
  jail_survey_close(&survey);
  return 0;
}
