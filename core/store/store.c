#include "core/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/store/database/migrate.h"
#include "core/store/database/pool.h"

/* How long a probe waits for a writer. */
#define PROBE_PATIENCE (1 * CLOCK_S)

/* Bytes that must be free on the disk. */
#define PROBE_ROOM ((unsigned long)1 << 20)

/* A file that root makes belongs to whom its directory belongs to, so that an
 * unprivileged process can open it as well. (SQLite then gives the -wal and
 * -shm files the same owner and mode.) */
static int give_to_directory_owner(int file, const char *path,
                                   struct err *err) {
  CLEANUP(mem_free_pointer) char *copy = mem_copy_text(path);
  struct stat directory;
  if (stat(dirname(copy), &directory) < 0 ||
      fchown(file, directory.st_uid, directory.st_gid) < 0)
    return err_errno(err, ERR_IO, errno, "owner of %s", path);
  return 0;
}

/* Makes the file with our mode before SQLite makes it with its own. O_EXCL: an
 * existing database is not opened here, since closing it would drop the locks
 * that this process may hold on it. */
static int make_file(const char *path, struct err *err) {
  CLEANUP(mem_close_descriptor)
  int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
  if (file < 0)
    return errno == EEXIST ? 0
                           : err_errno(err, ERR_IO, errno, "making %s", path);
  if (fchmod(file, 0640) < 0)
    return err_errno(err, ERR_IO, errno, "mode of %s", path);
  return geteuid() == 0 ? give_to_directory_owner(file, path, err) : 0;
}

static int open_writer(struct store *store, struct err *err) {
  if (make_file(store->path, err) < 0 ||
      db_open(store->path, DB_WRITER, store->sync == CONF_SYNC_ALWAYS,
              &store->writer, err) < 0 ||
      migrate_check(store->writer, err) < 0 ||
      db_use_wal(store->writer, err) < 0)
    return -1;
  /* The log is there once the database has been read. */
  if (migrate_run(store->writer, err) < 0)
    return -1;
  if (stat(store->path, &store->identity) < 0)
    return err_errno(err, ERR_IO, errno, "looking at %s", store->path);
  return 0;
}

int store_open(const char *path, enum conf_sync sync, struct store **ret,
               struct err *err) {
  struct store *store = mem_new(sizeof *store);
  store->path = mem_copy_text(path);
  store->log_path = mem_format("%s-wal", path);
  store->sync = sync;
  pool_init(store);
  if (open_writer(store, err) < 0) {
    store_close(store);
    return err_wrap(err, "%s", path);
  }
  *ret = store;
  return 0;
}

void store_close(struct store *store) {
  if (store == NULL)
    return;
  maintenance_stop(store->maintenance);
  pool_close(store);
  free(store->path);
  free(store->log_path);
  free(store);
}

int store_maintain(struct store *store, struct err *err) {
  struct maintenance *maintenance;
  if (maintenance_start(store->path, store->sync == CONF_SYNC_BACKGROUND,
                        &store->writing, &maintenance, err) < 0)
    return -1;
  pthread_mutex_lock(&store->writing);
  store->maintenance = maintenance;
  pthread_mutex_unlock(&store->writing);
  return 0;
}

void store_set_patience(int64_t nanoseconds) { pool_set_patience(nanoseconds); }

/* A row may fit into what the log has taken already: the next ones would not.
 */
static int check_room(const char *path, struct err *err) {
  struct statvfs disk;
  if (statvfs(path, &disk) < 0)
    return err_errno(err, ERR_IO, errno, "looking at the disk of %s", path);
  if (disk.f_bavail * disk.f_frsize >= PROBE_ROOM)
    return 0;
  return err_set(err, ERR_NO_SPACE,
                 "the disk of the database is full: make room on it");
}

/* With a connection that has nothing in memory yet. */
static int probe(struct db *db, struct err *err) {
  char now[CLOCK_ISO_SIZE];
  clock_format_iso(clock_wall_us(), now);
  db_set_deadline(db, clock_monotonic_ns() + PROBE_PATIENCE);
  if (db_check_header(db, err) < 0 || db_begin(db, err) < 0)
    return -1;
  struct statement *statement = db_statement(db, "meta_set");
  statement_bind_text(statement, "name", "probed_at");
  statement_bind_text(statement, "value", now);
  return statement_run(statement, err) < 0 ? -1 : db_commit(db, err);
}

int store_probe(struct store *store, struct err *err) {
  struct db *db;
  if (pool_check_place(store, err) < 0 || check_room(store->path, err) < 0 ||
      db_open(store->path, DB_WRITER, store->sync == CONF_SYNC_ALWAYS, &db,
              err) < 0)
    return -1;
  int status = probe(db, err);
  db_close(db);
  return status;
}

int store_instance_start(struct store *store, const char *id,
                         const char *program, int64_t pid, int64_t pid_start,
                         struct err *err) {
  CLEANUP(write_end) struct write write;
  if (write_begin(store, &write, err) < 0)
    return -1;
  struct statement *statement = db_statement(write.db, "instance_start");
  statement_bind_text(statement, "id", id);
  statement_bind_text(statement, "program", program);
  statement_bind_integer(statement, "pid", pid);
  statement_bind_integer(statement, "pid_start", pid_start);
  statement_bind_integer(statement, "started_at", clock_wall_us());
  if (statement_run(statement, err) < 0)
    return -1;
  return write_commit(&write, err);
}

int store_instance_end(struct store *store, const char *id, struct err *err) {
  CLEANUP(write_end) struct write write;
  if (write_begin(store, &write, err) < 0)
    return -1;
  struct statement *statement = db_statement(write.db, "instance_end");
  statement_bind_integer(statement, "ended_at", clock_wall_us());
  statement_bind_text(statement, "id", id);
  if (statement_run(statement, err) < 0)
    return -1;
  return write_commit(&write, err);
}
