#include "core/jail/layers/jail_enter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/jail/layers/jail_filter.h"
#include "core/jail/layers/jail_ids.h"
#include "core/jail/layers/jail_landlock.h"
#include "core/jail/layers/jail_mounts.h"
#include "core/jail/layers/jail_namespaces.h"
#include "core/jail/layers/jail_rlimits.h"

/* A group of its own lets the kernel share its sockets with the app's group. */
#define UMASK_SHARED 002
#define UMASK_PLAIN 022
#define UMASK_UNJAILED 077

int jail_enter_shim(const struct jail *jail, struct err *err) {
  if (!jail_has(jail, JAIL_USER))
    return 0;
  return jail_namespaces_map_user(jail->uid, jail->gid, err);
}

static void set_umask(const struct jail *jail) {
  if (jail->layers == 0)
    umask(UMASK_UNJAILED);
  else
    umask(jail_has(jail, JAIL_IDS) ? UMASK_SHARED : UMASK_PLAIN);
}

/* When memory runs out on the whole machine, kernels go first. Higher is always
 * allowed; without /proc it stays as it is. */
static void offer_to_oom_killer(void) {
  CLEANUP(mem_close_descriptor)
  int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file >= 0)
    (void)!write(file, "500", 3);
}

static int enter_world(const struct jail *jail, enum jail_layer *failed,
                       struct err *err) {
  *failed = JAIL_LIMIT_MEMORY;
  if (cgroup_enter(jail->entries, jail->entry_count, err) < 0)
    return -1;
  *failed = JAIL_RLIMITS;
  if (jail_rlimits_enter(&jail->limits, jail_has(jail, JAIL_IDS), err) < 0)
    return -1;
  offer_to_oom_killer();
  if (jail_namespaces_unshare(jail, failed, err) < 0)
    return -1;
  *failed = JAIL_MOUNT;
  return jail_has(jail, JAIL_MOUNT) ? jail_mounts_enter(jail, err) : 0;
}

static int become_nobody(const struct jail *jail, enum jail_layer *failed,
                         struct err *err) {
  bool none = jail_has(jail, JAIL_CAPABILITIES);
  *failed = JAIL_CAPABILITIES;
  if (none && jail_ids_drop_bounding(err) < 0)
    return -1;
  *failed = JAIL_IDS;
  if (jail_ids_switch_user(jail, err) < 0)
    return -1;
  *failed = JAIL_CAPABILITIES;
  if (none && jail_ids_drop_capabilities(err) < 0)
    return -1;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) < 0)
    return err_errno(err, ERR_IO, errno, "cannot set no_new_privs");
  return 0;
}

static int wall_in(const struct jail *jail, enum jail_layer *failed,
                   struct err *err) {
  *failed = JAIL_LANDLOCK;
  if (jail_has(jail, JAIL_LANDLOCK) && jail_landlock_enter(jail, err) < 0)
    return -1;
  *failed = JAIL_SECCOMP;
  return jail_has(jail, JAIL_SECCOMP) ? jail_filter_enter(jail->filter, err)
                                      : 0;
}

int jail_enter(const struct jail *jail, enum jail_layer *failed,
               struct err *err) {
  enum jail_layer step = JAIL_LAYERS;
  set_umask(jail);
  if (enter_world(jail, &step, err) >= 0 &&
      become_nobody(jail, &step, err) >= 0 && wall_in(jail, &step, err) >= 0)
    return 0;
  if (failed != NULL)
    *failed = step;
  return err_wrap(err, "%s", jail_layer_name(step));
}
