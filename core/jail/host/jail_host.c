#include "core/jail/host/jail_host.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/id.h"
#include "core/base/layout.h"
#include "core/base/mem.h"
#include "core/jail/host/jail_paths.h"
#include "core/jail/host/jail_record.h"
#include "core/jail/layers/jail_ids.h"
#include "core/jail/layers/jail_mounts.h"

#define KILL_LIMIT_MS 100 /* in one go */
#define AGAIN_NS (50 * CLOCK_MS)

/* One kernel that runs. */
struct inmate {
  struct inmate *next;
  char id[ID_UUID_SIZE];
  int64_t uid; /* -1: none of its own */
  struct cgroup *group;
  int64_t leaves_at; /* its group could not be removed yet: when to try again
                        (monotonic); 0: it runs */
};

struct jail_host {
  struct jail_survey survey;
  struct inmate *inmates;
};

static struct inmate **find(const struct jail_host *host, const char *id) {
  struct inmate **place = (struct inmate **)&host->inmates;
  while (*place != NULL && strcmp((*place)->id, id) != 0)
    place = &(*place)->next;
  return place;
}

static void inmate_free(struct inmate *inmate) {
  if (inmate != NULL)
    cgroup_free(inmate->group);
  free(inmate);
}

void jail_host_close(struct jail_host *host) {
  if (host == NULL)
    return;
  while (host->inmates != NULL) {
    struct inmate *inmate = host->inmates;
    host->inmates = inmate->next;
    inmate_free(inmate);
  }
  jail_survey_close(&host->survey);
  free(host);
}

int jail_host_open(const struct conf *conf, const struct jail *plain,
                   const char *scratch, const char *tasks,
                   struct jail_host **ret, struct err *err) {
  struct jail_survey survey;
  *ret = NULL;
  if (jail_survey_open(conf, plain, scratch, tasks, false, &survey, err) < 0)
    return -1;
  *ret = mem_new(sizeof **ret);
  (*ret)->survey = survey;
  return conf->jail == CONF_JAIL_REQUIRED
             ? jail_survey_require_all(&survey, err)
             : 0;
}

const struct jail_survey *jail_host_survey(const struct jail_host *host) {
  return &host->survey;
}

bool jail_host_has(const struct jail_host *host, enum jail_layer layer) {
  return jail_survey_has(&host->survey, layer);
}

static bool is_taken(const struct jail_host *host, int64_t uid) {
  for (const struct inmate *inmate = host->inmates; inmate != NULL;
       inmate = inmate->next)
    if (inmate->uid == uid)
      return true;
  return false;
}

/* One that no living kernel has. Instances begin at different places, so that
 * two on one host mostly have no user in common. */
static int64_t free_uid(const struct jail_host *host) {
  for (int64_t i = 0; i < host->survey.conf->uid_count; i++) {
    int64_t place = (host->survey.instance + i) % host->survey.conf->uid_count;
    if (!is_taken(host, host->survey.conf->uid_first + place))
      return host->survey.conf->uid_first + place;
  }
  return -1;
}

static int take_user(struct jail_host *host, struct jail *jail,
                     struct inmate *inmate, struct err *err) {
  if (!jail_host_has(host, JAIL_IDS))
    return 0;
  int64_t uid = free_uid(host);
  if (uid < 0)
    return err_set(err, ERR_UNAVAILABLE,
                   "no user id is free (uid_count in [jail])");
  struct jail_owner outside = {host->survey.plain.uid, host->survey.plain.gid};
  struct jail_owner inside = {(uid_t)uid, (gid_t)uid};
  int map = jail_ids_map_owner(outside, inside, err);
  if (map < 0)
    return -1;
  jail->uid = inside.uid;
  jail->gid = inside.gid;
  jail->workspace_owner = map;
  inmate->uid = uid;
  return 0;
}

static int take_group(struct jail_host *host,
                      const struct jail_request *request, struct jail *jail,
                      struct inmate *inmate, struct err *err) {
  const struct cgroup_limits limits = {.memory = request->limits->memory,
                                       .pids = request->limits->pids,
                                       .cpus = request->limits->cpus};
  if (cgroup_make(host->survey.groups, request->id, &limits, &inmate->group,
                  err) < 0)
    return -1;
  jail->group = inmate->group;
  if (host->survey.plain.switch_user)
    cgroup_give_peak(inmate->group, host->survey.plain.uid);
  int count = cgroup_open_entries(inmate->group, jail->entries, err);
  if (count < 0)
    return -1;
  jail->entry_count = count;
  int directory = cgroup_open_directory(inmate->group);
  jail->group_directory = directory > 0 ? directory : 0;
  return 0;
}

static int make_written(const struct jail_host *host, const struct jail *jail,
                        int directory, const char *name, struct err *err) {
  CLEANUP(mem_close_descriptor)
  int file =
      fs_open_beneath(directory, name, O_WRONLY | O_CREAT | O_EXCL, 0640, err);
  if (file < 0)
    return -1;
  if (jail->switch_user && fchown(file, jail->uid, host->survey.plain.gid) < 0)
    return err_errno(err, ERR_IO, errno, "cannot give the kernel %s", name);
  return 0;
}

/* What the kernel writes there the app must reach: its sockets by the group,
 * which new files take from the directory (S_ISGID, inode(7)). The files that
 * it finds there it may read, and write the one for its stack. */
static int give_directory(const struct jail_host *host,
                          const struct jail_request *request,
                          const struct jail *jail, struct err *err) {
  if (!jail_has(jail, JAIL_MOUNT))
    return 0;
  int directory = request->run_directory;
  for (const char *const *name = jail_mounts_written; *name != NULL; name++)
    if (make_written(host, jail, directory, *name, err) < 0)
      return -1;
  if (!jail->switch_user)
    return 0;
  if (fchownat(directory, LAYOUT_CONNECTION, host->survey.plain.uid,
               host->survey.plain.gid, AT_SYMLINK_NOFOLLOW) < 0 ||
      fchown(directory, jail->uid, host->survey.plain.gid) < 0 ||
      fchmod(directory, S_ISGID | 0770) < 0)
    return err_errno(err, ERR_IO, errno, "cannot give the kernel %s",
                     request->run);
  return 0;
}

static int look_at_workspace(const struct jail_request *request,
                             struct jail *jail, struct err *err) {
  struct stat status;
  if (fstat(request->workspace_directory, &status) < 0)
    return err_errno(err, ERR_IO, errno, "cannot look at %s",
                     request->workspace);
  jail->workspace = request->workspace;
  jail->workspace_device = status.st_dev;
  jail->workspace_inode = status.st_ino;
  jail->run = request->run;
  return 0;
}

static int collect_paths(const struct jail_host *host,
                         const struct jail_request *request, struct jail *jail,
                         struct err *err) {
  const char *const hidden[] = {host->survey.conf->state_directory,
                                host->survey.conf->run_directory, NULL};
  const struct jail_paths_order order = {.argv = request->argv,
                                         .kernelspec = request->kernelspec,
                                         .configured =
                                             host->survey.conf->read_only_paths,
                                         .hidden = hidden};
  char **paths = NULL;
  if (jail_paths_collect(&order, &paths, err) < 0)
    return -1;
  jail->read_only = paths;
  return 0;
}

static int prepare(struct jail_host *host, const struct jail_request *request,
                   struct jail *jail, struct inmate *inmate, struct err *err) {
  if (take_user(host, jail, inmate, err) < 0 ||
      take_group(host, request, jail, inmate, err) < 0 ||
      look_at_workspace(request, jail, err) < 0 ||
      collect_paths(host, request, jail, err) < 0 ||
      give_directory(host, request, jail, err) < 0)
    return -1;
  const struct jail_record record = {inmate->uid, inmate->group};
  return jail_record_write(request->shim_directory, &record, err);
}

int jail_host_prepare(struct jail_host *host,
                      const struct jail_request *request, struct jail *ret,
                      struct err *err) {
  struct jail jail = host->survey.plain;
  if (host->survey.layers == 0) {
    *ret = jail;
    return 0;
  }
  jail.layers = host->survey.layers;
  jail.limits = *request->limits;
  jail.filter = host->survey.filter;
  jail.landlock_abi = host->survey.landlock_abi;
  struct inmate *inmate = mem_new(sizeof *inmate);
  snprintf(inmate->id, sizeof inmate->id, "%s", request->id);
  inmate->uid = -1;
  int result = prepare(host, request, &jail, inmate, err);
  inmate->next = host->inmates;
  host->inmates = inmate;
  if (result == 0) {
    *ret = jail;
    return 0;
  }
  jail_host_started(&jail);
  jail_host_release(host, request->id);
  return -1;
}

void jail_host_started(struct jail *jail) {
  int open[JAIL_DESCRIPTORS];
  size_t count = jail_descriptors(jail, open);
  for (size_t i = 0; i < count; i++)
    close(open[i]);
  jail->entry_count = jail->group_directory = jail->workspace_owner = 0;
  jail_paths_free((char **)jail->read_only);
  jail->read_only = NULL;
}

void jail_host_adopt(struct jail_host *host, const char *id,
                     int shim_directory) {
  struct jail_record record;
  if (*find(host, id) != NULL ||
      jail_record_read(shim_directory, &record, NULL) < 0)
    return;
  struct inmate *inmate = mem_new(sizeof *inmate);
  snprintf(inmate->id, sizeof inmate->id, "%s", id);
  inmate->uid = record.uid;
  inmate->group = record.group;
  inmate->next = host->inmates;
  host->inmates = inmate;
}

/* True when it has gone. A group that is busy keeps its user taken, too. */
static bool leave(struct inmate **place) {
  struct inmate *inmate = *place;
  bool empty = true;
  if (inmate->group != NULL)
    empty = cgroup_kill(inmate->group, KILL_LIMIT_MS) == 0 &&
            cgroup_remove(inmate->group, KILL_LIMIT_MS, NULL) >= 0;
  inmate->leaves_at = clock_monotonic_ns() + AGAIN_NS;
  if (!empty)
    return false;
  *place = inmate->next;
  inmate_free(inmate);
  return true;
}

void jail_host_release(struct jail_host *host, const char *id) {
  struct inmate **place = find(host, id);
  if (*place != NULL)
    leave(place);
}

int64_t jail_host_turn(struct jail_host *host) {
  int64_t now = clock_monotonic_ns(), next = INT64_MAX;
  struct inmate **place = &host->inmates;
  while (*place != NULL) {
    struct inmate *inmate = *place;
    if (inmate->leaves_at != 0 && now >= inmate->leaves_at && leave(place))
      continue;
    if (inmate->leaves_at != 0)
      next = clock_sooner(next, inmate->leaves_at);
    place = &inmate->next;
  }
  return next;
}

int jail_host_close_run(const struct jail_host *host, int process,
                        const char *run, struct err *err) {
  if (!jail_host_has(host, JAIL_MOUNT))
    return 0;
  return jail_mounts_close_run(process, run, jail_host_has(host, JAIL_USER),
                               err);
}

void jail_host_kill(const struct jail_host *host, const char *id) {
  const struct inmate *inmate = *find(host, id);
  if (inmate != NULL && inmate->group != NULL)
    cgroup_kill(inmate->group, 0);
}

static bool is_known(void *context, const char *name) {
  const struct jail_host *host = context;
  return *find(host, name) != NULL;
}

void jail_host_sweep(struct jail_host *host) {
  if (host->survey.groups != NULL)
    cgroup_sweep(host->survey.groups, is_known, host);
}

bool jail_host_usage(const struct jail_host *host, const char *id,
                     struct cgroup_usage *ret) {
  const struct inmate *inmate = *find(host, id);
  if (inmate == NULL || inmate->group == NULL)
    return false;
  cgroup_read_usage(inmate->group, ret);
  return true;
}
