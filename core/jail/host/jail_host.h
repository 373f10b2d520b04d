/* The jails of this host: for every kernel its user, its control group, and
 * what it sees.
 *
 * A kernel's part is written down in its shim's directory (file "jail"), so
 * that the next keeper knows it again. */
#ifndef CELLPOST_JAIL_HOST_JAIL_HOST_H
#define CELLPOST_JAIL_HOST_JAIL_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/jail/host/jail_survey.h"
#include "core/jail/jail.h"

struct jail_host;

/* As jail_survey_open. ERR_UNAVAILABLE also: jail = required, and the text
 * names what is missing. Then *ret is set all the same (NULL otherwise), for
 * jail_host_survey. */
int jail_host_open(const struct conf *conf, const struct jail *plain,
                   const char *scratch, const char *tasks,
                   struct jail_host **ret, struct err *err);
/* Kernels go on. */
void jail_host_close(struct jail_host *host);

const struct jail_survey *jail_host_survey(const struct jail_host *host);
bool jail_host_has(const struct jail_host *host, enum jail_layer layer);

struct jail_request {
  const char *id; /* of the kernel */
  const struct kernel_limits *limits;
  const char *workspace; /* the task's files, absolute */
  int workspace_directory;
  const char *run; /* the kernel's directory, absolute */
  int run_directory;
  int shim_directory;
  char *const *argv;
  const char *kernelspec; /* its directory */
};

/* Makes everything ready for a kernel that will be started with *ret; what is
 * in `request` must live as long. Its directory and connection file are given
 * to it. On failure nothing is left. */
int jail_host_prepare(struct jail_host *host,
                      const struct jail_request *request, struct jail *ret,
                      struct err *err);
/* Closes what *jail holds for the start. The kernel is not affected. */
void jail_host_started(struct jail *jail);

/* A kernel of an earlier keeper. Without a record: nothing is known of it. */
void jail_host_adopt(struct jail_host *host, const char *id,
                     int shim_directory);

/* Nothing of the kernel may run any more: kills what does, removes its control
 * group, frees its user. What takes longer is done by jail_host_turn. Unknown
 * ids are fine. */
void jail_host_release(struct jail_host *host, const char *id);
/* Goes on with that; when to be called next (monotonic; INT64_MAX: there is
 * nothing to do). */
int64_t jail_host_turn(struct jail_host *host);

/* A kernel (a pidfd) whose sockets are there: see jail_mounts_close_run. */
int jail_host_close_run(const struct jail_host *host, int process,
                        const char *run, struct err *err);

/* Kills what runs in the kernel's control group, where it has one. */
void jail_host_kill(const struct jail_host *host, const char *id);

/* Removes control groups of kernels that are not known. */
void jail_host_sweep(struct jail_host *host);

/* What a kernel and all that it started use; false: not known. */
bool jail_host_usage(const struct jail_host *host, const char *id,
                     struct cgroup_usage *ret);

#endif
