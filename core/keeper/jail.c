#include "core/keeper/jail.h"

#include <errno.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

int jail_survey(enum conf_jail wanted, const char **ret, struct err *err) {
  if (wanted == CONF_JAIL_REQUIRED)
    return err_set(err, ERR_UNAVAILABLE,
                   "jail = required, but this version confines kernels by user "
                   "and no_new_privs only; set jail = auto or off");
  *ret = "kernels are confined by user and no_new_privs only: no namespaces, "
         "no limits of memory or processes, no system call filter";
  return 0;
}

/* The group goes first: without root's uid it could not be changed any more. */
static int switch_user(const struct jail *jail, struct err *err) {
  if (setgroups(0, NULL) != 0)
    return err_errno(err, ERR_IO, errno, "cannot drop the groups");
  if (setresgid(jail->gid, jail->gid, jail->gid) != 0)
    return err_errno(err, ERR_IO, errno, "cannot take the group %u",
                     (unsigned)jail->gid);
  if (setresuid(jail->uid, jail->uid, jail->uid) != 0)
    return err_errno(err, ERR_IO, errno, "cannot take the user %u",
                     (unsigned)jail->uid);
  return 0;
}

static int set_limits(const struct jail *jail, struct err *err) {
  const struct rlimit none = {0, 0};
  struct rlimit files;
  if (setrlimit(RLIMIT_CORE, &none) != 0)
    return err_errno(err, ERR_IO, errno, "cannot forbid core dumps");
  if (jail->open_files == 0 || getrlimit(RLIMIT_NOFILE, &files) != 0)
    return 0;
  files.rlim_cur = jail->open_files;
  if (setrlimit(RLIMIT_NOFILE, &files) != 0)
    return err_errno(err, ERR_IO, errno, "cannot limit open files");
  return 0;
}

int jail_enter(const struct jail *jail, struct err *err) {
  if (set_limits(jail, err) != 0)
    return -1;
  umask(077);
  if (jail->switch_user && switch_user(jail, err) != 0)
    return -1;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) != 0)
    return err_errno(err, ERR_IO, errno, "cannot set no_new_privs");
  return 0;
}
