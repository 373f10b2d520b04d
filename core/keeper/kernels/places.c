#include "core/keeper/kernels/places.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/layout.h"
#include "core/base/mem.h"
#include "core/control/task_lock.h"

#define STATE_MODE 0750
#define DATABASE_MODE 0640

static int find_user(const char *configured, struct places *places,
                     struct err *err) {
  places->jail.switch_user = geteuid() == 0;
  errno = 0;
  const struct passwd *user =
      places->jail.switch_user ? getpwnam(configured) : getpwuid(geteuid());
  if (user == NULL && places->jail.switch_user)
    return err_set(err, ERR_NOT_FOUND,
                   "the user \"%s\" does not exist (key user in [server])",
                   configured);
  places->jail.uid = user == NULL ? geteuid() : user->pw_uid;
  places->jail.gid = user == NULL ? getegid() : user->pw_gid;
  snprintf(places->user, sizeof places->user, "%s",
           user == NULL ? "cellpost" : user->pw_name);
  return 0;
}

int places_give_away(const struct places *places, int descriptor,
                     struct err *err) {
  if (places->jail.switch_user &&
      fchown(descriptor, places->jail.uid, places->jail.gid) < 0)
    return err_errno(err, ERR_IO, errno, "cannot give a file to %s",
                     places->user);
  return 0;
}

int places_make_owned(const struct places *places, int parent, const char *name,
                      mode_t mode, struct err *err) {
  CLEANUP(mem_close_descriptor)
  int directory = fs_make_and_open(parent, name, mode, err);
  if (directory < 0 || places_give_away(places, directory, err) < 0)
    return -1;
  return mem_steal_descriptor(&directory);
}

static bool exists(const char *path) {
  struct stat status;
  return stat(path, &status) == 0;
}

/* An existing directory keeps owner and mode: it may be anybody's. */
static int open_run(struct places *places, struct err *err) {
  bool existed = exists(places->run);
  if (fs_make_directories(places->run, 0755, err) < 0)
    return -1;
  places->run_fd = fs_open_directory(places->run, err);
  if (places->run_fd < 0)
    return -1;
  if (!existed && places->jail.switch_user &&
      (fchown(places->run_fd, 0, places->jail.gid) < 0 ||
       fchmod(places->run_fd, S_ISVTX | 0775) < 0))
    return err_errno(err, ERR_IO, errno, "cannot set up %s", places->run);
  places->kernels = fs_make_and_open(places->run_fd, LAYOUT_KERNELS, 0711, err);
  places->shims = fs_make_and_open(places->run_fd, LAYOUT_SHIMS, 0700, err);
  places->turns =
      places_make_owned(places, places->run_fd, LAYOUT_TURNS, 0700, err);
  CLEANUP(mem_close_descriptor)
  int zygote = fs_make_and_open(places->run_fd, LAYOUT_ZYGOTE, 0700, err);
  return places->kernels < 0 || places->shims < 0 || places->turns < 0 ||
                 zygote < 0
             ? -1
             : 0;
}

/* The database is made here, empty, so that it is the user's: SQLite gives its
 * companions to the database's owner. Must not be open in this process yet:
 * closing a descriptor drops SQLite's locks (sqlite.org/howtocorrupt.html). */
static int make_database(const struct places *places, int state,
                         struct err *err) {
  CLEANUP(mem_close_descriptor)
  int file = fs_open_beneath(state, LAYOUT_DATABASE,
                             O_WRONLY | O_CREAT | O_EXCL, DATABASE_MODE, NULL);
  return file < 0 ? 0 : places_give_away(places, file, err);
}

static int open_state(struct places *places, struct err *err) {
  bool existed = exists(places->state);
  if (fs_make_directories(places->state, 0755, err) < 0)
    return -1;
  CLEANUP(mem_close_descriptor)
  int state = fs_open_directory(places->state, err);
  if (state < 0)
    return -1;
  if (!existed && (fchmod(state, STATE_MODE) < 0 ||
                   places_give_away(places, state, err) < 0))
    return err_errno(err, ERR_IO, errno, "cannot set up %s", places->state);
  places->tasks = places_make_owned(places, state, LAYOUT_TASKS, 0755, err);
  places->spares = fs_make_and_open(state, LAYOUT_SPARES, 0711, err);
  if (places->tasks < 0 || places->spares < 0)
    return -1;
  return places->jail.switch_user ? make_database(places, state, err) : 0;
}

static int take_lock(struct places *places, struct err *err) {
  places->lock = fs_open_beneath(places->run_fd, LAYOUT_KEEPER_LOCK,
                                 O_RDWR | O_CREAT, 0600, err);
  if (places->lock < 0)
    return -1;
  if (flock(places->lock, LOCK_EX | LOCK_NB) == 0)
    return 0;
  if (errno == EWOULDBLOCK)
    return err_set(err, ERR_CONFLICT, "another keeper runs in %s", places->run);
  return err_errno(err, ERR_IO, errno, "cannot lock %s", places->run);
}

int places_open(const struct conf *conf, struct places *ret, struct err *err) {
  struct places places = {
      .run = mem_copy_text(conf->run_directory),
      .state = mem_copy_text(conf->state_directory),
      .socket = mem_format("%s/" LAYOUT_KEEPER_SOCKET, conf->run_directory),
      .database = mem_format("%s/" LAYOUT_DATABASE, conf->state_directory),
      .run_fd = -1,
      .kernels = -1,
      .shims = -1,
      .turns = -1,
      .tasks = -1,
      .spares = -1,
      .lock = -1,
  };
  if (find_user(conf->user, &places, err) < 0 || open_run(&places, err) < 0 ||
      take_lock(&places, err) < 0 || open_state(&places, err) < 0) {
    places_close(&places);
    return -1;
  }
  *ret = places;
  return 0;
}

void places_close(struct places *places) {
  int *const descriptors[] = {
      &places->run_fd, &places->kernels, &places->shims, &places->turns,
      &places->tasks,  &places->spares,  &places->lock};
  for (size_t i = 0; i < COUNT_OF(descriptors); i++) {
    mem_close_descriptor(descriptors[i]);
  }
  free(places->run);
  free(places->state);
  free(places->socket);
  free(places->database);
}

int places_try_turn(const struct places *places, const char *task) {
  struct task_lock lock;
  if (task_lock_try(places->turns, task, &lock, NULL) != 1)
    return -1;
  if (places_give_away(places, lock.file, NULL) < 0)
    task_lock_leave(&lock);
  return lock.file;
}
