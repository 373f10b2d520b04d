#include "fcgi/cli/privilege.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/fs.h"

/* A directory that exists keeps its owner: somebody has decided. */
static int make_directory(const char *path, const struct passwd *user,
                          struct err *err) {
  struct stat status;
  if (stat(path, &status) == 0)
    return 0;
  if (fs_make_directories(path, 0755, err) < 0)
    return -1;
  if (chown(path, user->pw_uid, user->pw_gid) < 0)
    return err_errno(err, ERR_IO, errno, "cannot give %s to %s", path,
                     user->pw_name);
  return 0;
}

static int become(const struct passwd *user, struct err *err) {
  if (initgroups(user->pw_name, user->pw_gid) < 0 ||
      setresgid(user->pw_gid, user->pw_gid, user->pw_gid) < 0 ||
      setresuid(user->pw_uid, user->pw_uid, user->pw_uid) < 0 ||
      prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
    return err_errno(err, ERR_DENIED, errno, "cannot become %s", user->pw_name);
  if (user->pw_uid != 0 && setuid(0) == 0)
    return err_set(err, ERR_INTERNAL, "root could be had again");
  return 0;
}

int privilege_drop(const struct conf *conf, struct err *err) {
  if (geteuid() != 0)
    return 0;
  errno = 0;
  const struct passwd *user = getpwnam(conf->user);
  if (user == NULL)
    return err_set(err, ERR_NOT_FOUND,
                   "there is no user \"%.100s\" (the key \"user\")",
                   conf->user);
  if (make_directory(conf->state_directory, user, err) < 0 ||
      make_directory(conf->run_directory, user, err) < 0 ||
      become(user, err) < 0)
    return -1;
  return user->pw_uid == 0 ? 1 : 0;
}
