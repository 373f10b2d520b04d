#include "core/store/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/id.h"
#include "core/base/mem.h"
#include "core/store/database/db.h"
#include "core/store/database/migrate.h"

/* VACUUM INTO takes an empty file that is there: it keeps our mode. */
static int make_empty(const char *name, struct err *err) {
  CLEANUP(mem_close_descriptor)
  int file = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  return file < 0 ? err_errno(err, ERR_IO, errno, "making %s", name) : 0;
}

static int copy(const char *path, const char *to, struct err *err) {
  struct db *db;
  if (db_open(path, DB_WRITER, false, &db, err) < 0)
    return -1;
  int result = migrate_check(db, err);
  if (result == 0)
    result = db_copy_into(db, to, err);
  db_close(db);
  return result;
}

static int check(const char *path, struct err *err) {
  struct db *db;
  CLEANUP(mem_free_pointer) char *said = NULL;
  if (db_open(path, DB_READER, false, &db, err) < 0)
    return -1;
  int result = db_text(db, "PRAGMA quick_check(1)", &said, err);
  db_close(db);
  if (result == 0 && strcmp(said, "ok") != 0)
    return err_set(err, ERR_IO, "the copy is damaged: %.300s", said);
  return result;
}

static int sync_file(const char *path, int flags, struct err *err) {
  CLEANUP(mem_close_descriptor) int file = open(path, flags | O_CLOEXEC);
  if (file < 0 || fsync(file) < 0)
    return err_errno(err, ERR_IO, errno, "bringing %s to the disk", path);
  return 0;
}

static int put_in_place(const char *temporary, const char *target,
                        struct err *err) {
  if (sync_file(temporary, O_RDONLY, err) < 0)
    return -1;
  if (renameat2(AT_FDCWD, temporary, AT_FDCWD, target, RENAME_NOREPLACE) < 0)
    return err_errno(err, errno == EEXIST ? ERR_CONFLICT : ERR_IO, errno,
                     "naming the copy %s", target);
  CLEANUP(mem_free_pointer) char *name = mem_copy_text(target);
  return sync_file(dirname(name), O_RDONLY | O_DIRECTORY, err);
}

int backup_database(const char *path, const char *target, struct err *err) {
  if (access(path, F_OK) != 0)
    return err_set(err, ERR_NOT_FOUND, "there is no database %s", path);
  if (access(target, F_OK) == 0)
    return err_set(err, ERR_CONFLICT, "%s is there already", target);
  char random[17];
  id_random_hex(random, 8);
  CLEANUP(mem_free_pointer)
  char *temporary = mem_format("%s.%s.tmp", target, random);
  if (make_empty(temporary, err) < 0)
    return -1;
  if (copy(path, temporary, err) < 0 || check(temporary, err) < 0 ||
      put_in_place(temporary, target, err) < 0) {
    CLEANUP(mem_free_pointer)
    char *journal = mem_format("%s-journal", temporary);
    unlink(journal);
    unlink(temporary);
    return -1;
  }
  return 0;
}
