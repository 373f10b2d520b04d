/* What this host can give: which layers kernels can be jailed with, found out
 * by trying, and what each needs. */
#ifndef CELLPOST_JAIL_HOST_JAIL_SURVEY_H
#define CELLPOST_JAIL_HOST_JAIL_SURVEY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/cgroup/cgroup.h"
#include "core/conf/conf.h"
#include "core/jail/host/jail_probe.h"
#include "core/jail/jail.h"
#include "core/json/json.h"

struct jail_survey {
  const struct conf *conf;
  struct jail plain; /* who a kernel is without a user of its own */
  unsigned layers;   /* JAIL_BIT of those that can be had */
  struct jail_status status[JAIL_LAYERS];
  struct cgroup_host *groups;
  struct jail_filter *filter;
  int landlock_abi;
  int64_t instance; /* a number that is this instance's on this host */
};

/* `plain` says who kernels are without a jail. The layers are tried out, with
 * `scratch` (an existing directory, absolute, nothing is left in it) in the
 * place of a kernel's and `tasks` in that of a task's files. `trial`: control
 * groups are looked at only; no kernel can be started.
 * ERR_UNAVAILABLE: kernels cannot be confined at all. */
int jail_survey_open(const struct conf *conf, const struct jail *plain,
                     const char *scratch, const char *tasks, bool trial,
                     struct jail_survey *ret, struct err *err);
void jail_survey_close(struct jail_survey *survey);

bool jail_survey_has(const struct jail_survey *survey, enum jail_layer layer);
const char *jail_survey_state(enum jail_state state); /* "on" */

/* ERR_UNAVAILABLE names the first layer that is missing. */
int jail_survey_require_all(const struct jail_survey *survey, struct err *err);

/* For the report of control_report.h; the caller's. */
struct json *jail_survey_describe(const struct jail_survey *survey);

/* Describes what this process could do if it were the keeper, in a directory of
 * its own in /tmp; the caller's. */
int jail_survey_try(const struct conf *conf, struct json **ret,
                    struct err *err);

#endif
