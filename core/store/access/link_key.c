#include "core/store/access/link_key.h"

#include <stdio.h>

#include "core/base/clock.h"
#include "core/base/id.h"
#include "core/base/mem.h"
#include "core/store/database/pool.h"

/* 1, 0 (there is none), -1. */
static int load(struct statement *statement, struct link_key *ret,
                struct err *err) {
  int row = statement_step(statement, err);
  if (row <= 0)
    return row;
  ret->number = statement_integer(statement, 0, 0);
  snprintf(ret->key, sizeof ret->key, "%s", statement_text(statement, 1, NULL));
  return 1;
}

static int read_newest(struct store *store, struct link_key *ret,
                       struct err *err) {
  CLEANUP(read_end) struct read read;
  if (read_begin(store, &read, err) < 0)
    return -1;
  return load(db_statement(read.db, "link_key_newest"), ret, err);
}

/* Unless another process has made one meanwhile. */
static int make(struct store *store, struct err *err) {
  char key[LINK_KEY_SIZE];
  id_random_hex(key, 32);
  CLEANUP(write_end) struct write write;
  if (write_begin(store, &write, err) < 0)
    return -1;
  struct statement *statement = db_statement(write.db, "link_key_insert");
  statement_bind_text(statement, "key", key);
  statement_bind_integer(statement, "now", clock_wall_us());
  if (statement_run(statement, err) < 0)
    return -1;
  return write_commit(&write, err);
}

int link_key_newest(struct store *store, struct link_key *ret,
                    struct err *err) {
  int found = read_newest(store, ret, err);
  if (found == 0 && make(store, err) >= 0)
    found = read_newest(store, ret, err);
  return found > 0 ? 0 : -1;
}

int link_key_find(struct store *store, int64_t number, struct link_key *ret,
                  struct err *err) {
  CLEANUP(read_end) struct read read;
  if (read_begin(store, &read, err) < 0)
    return -1;
  struct statement *statement = db_statement(read.db, "link_key_get");
  statement_bind_integer(statement, "id", number);
  int found = load(statement, ret, err);
  if (found == 0)
    return err_set(err, ERR_NOT_FOUND, "no such key of links");
  return found < 0 ? -1 : 0;
}
