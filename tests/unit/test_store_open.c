/* Opening: migrations, what is refused, the views, several at once. */
#include "store_fixture.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include "core/store/database/pool.h"

static void a_new_database_is_made_for_its_group(void **state) {
  struct fixture *fixture = *state;
  mode_t before = umask(077);
  OK(fixture, store_open(fixture->path, CONF_SYNC_ALWAYS, &fixture->store,
                         &fixture->err));
  OK(fixture, store_instance_start(fixture->store, "i", "cellpost", 1, 2,
                                   &fixture->err));
  umask(before);
  const char *const endings[] = {"", "-wal", "-shm"};
  for (size_t i = 0; i < COUNT_OF(endings); i++) {
    CLEANUP(mem_free_pointer)
    char *name = mem_format("%s%s", fixture->path, endings[i]);
    struct stat found;
    assert_int_equal(stat(name, &found), 0);
    assert_int_equal(found.st_mode & 0777, 0640);
  }
  fixture_expect(fixture, "pragma journal_mode", "wal");
  fixture_expect(fixture, "pragma integrity_check", "ok");
}

static void it_opens_again_with_all_it_held(void **state) {
  struct fixture *fixture = *state;
  fixture_fill(fixture);
  OK(fixture, store_instance_end(fixture->store, INSTANCE, &fixture->err));
  store_close(fixture->store);
  OK(fixture, store_open(fixture->path, CONF_SYNC_NEVER, &fixture->store,
                         &fixture->err));
  struct task_record task;
  OK(fixture, task_get(fixture->store, "demo", &task, &fixture->err));
  task_record_free(&task);
  fixture_expect(fixture,
                 "select program, ended_at >= started_at from instances",
                 "cellpost|1");
}

static void a_newer_database_is_refused_untouched(void **state) {
  struct fixture *fixture = *state;
  fixture_fill(fixture);
  store_close(fixture->store);
  fixture->store = NULL;
  fixture_expect(fixture,
                 "pragma user_version = 4711; drop view audit;"
                 "pragma user_version",
                 "4711");
  FAILS(fixture, ERR_CONFLICT,
        store_open(fixture->path, CONF_SYNC_NEVER, &fixture->store,
                   &fixture->err));
  assert_non_null(strstr(fixture->err.text, "version 4711"));
  assert_null(fixture->store);
  fixture_expect(
      fixture, "select count(*) from sqlite_schema where name = 'audit'", "0");
}

static void a_foreign_database_is_refused_untouched(void **state) {
  struct fixture *fixture = *state;
  fixture_expect(fixture, "create table mine (a); pragma journal_mode",
                 "delete");
  FAILS(fixture, ERR_CONFLICT,
        store_open(fixture->path, CONF_SYNC_NEVER, &fixture->store,
                   &fixture->err));
  fixture_expect(fixture, "pragma journal_mode", "delete");
  fixture_expect(fixture, "select group_concat(name) from sqlite_schema",
                 "mine");
}

static void what_is_no_database_is_refused(void **state) {
  struct fixture *fixture = *state;
  FILE *file = fopen(fixture->path, "we");
  for (int i = 0; i < 5000; i++)
    fputs("not a database ", file);
  fclose(file);
  FAILS(fixture, ERR_UNAVAILABLE,
        store_open(fixture->path, CONF_SYNC_NEVER, &fixture->store,
                   &fixture->err));
  FAILS(fixture, ERR_IO,
        store_open("/proc/nowhere/cellpost.db", CONF_SYNC_NEVER,
                   &fixture->store, &fixture->err));
}

static void changed_views_are_made_anew(void **state) {
  struct fixture *fixture = *state;
  fixture_fill(fixture);
  store_close(fixture->store);
  fixture_expect(fixture,
                 "drop view audit; create view audit as select 1 as old;"
                 "create view gone as select 1;"
                 "update meta set value = 'x' where name = 'views_sha256';"
                 "select old from audit",
                 "1");
  OK(fixture, store_open(fixture->path, CONF_SYNC_NEVER, &fixture->store,
                         &fixture->err));
  fixture_expect(fixture, "select count(accepted) from audit", "0");
  fixture_expect(fixture,
                 "select count(*) from sqlite_schema where name = 'gone'", "0");
}

static void another_schema_of_the_same_number_is_refused(void **state) {
  struct fixture *fixture = *state;
  static const struct {
    const char *change, *told;
  } cases[] = {
      {"alter table runs add column later text", "table runs"},
      {"drop index replays_open", "index replays_open"},
      {"drop trigger chain_stays; create trigger chain_stays before delete on"
       " chain begin select 1; end",
       "trigger chain_stays"},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    fixture_fill(fixture);
    store_close(fixture->store);
    fixture->store = NULL;
    CLEANUP(mem_free_pointer)
    char *sql = mem_format("%s; select 1", cases[i].change);
    fixture_expect(fixture, sql, "1");
    FAILS(fixture, ERR_CONFLICT,
          store_open(fixture->path, CONF_SYNC_NEVER, &fixture->store,
                     &fixture->err));
    assert_non_null(strstr(fixture->err.text, cases[i].told));
    assert_int_equal(unlink(fixture->path), 0);
  }
}

static void comments_and_things_of_others_are_no_other_schema(void **state) {
  struct fixture *fixture = *state;
  fixture_fill(fixture);
  store_close(fixture->store);
  fixture_expect(fixture,
                 "create table of_an_auditor (a);"
                 "create index of_an_auditors on runs (caller);"
                 "pragma writable_schema = on;"
                 "update sqlite_schema set sql = replace(sql, 'run ',"
                 " 'run -- a word'||char(10)||'  ') where name = 'unwritten';"
                 "select sql like '%-- a word%' from sqlite_schema"
                 " where name = 'unwritten'",
                 "1");
  OK(fixture, store_open(fixture->path, CONF_SYNC_NEVER, &fixture->store,
                         &fixture->err));
}

/* Runs `work` in `count` processes, each forked before it opens anything, all
 * let go at the same moment; each must exit with 0. */
static void in_processes(struct fixture *fixture, int count,
                         int (*work)(struct fixture *fixture)) {
  int gate[2];
  assert_int_equal(pipe(gate), 0);
  pid_t children[16];
  for (int i = 0; i < count; i++) {
    children[i] = fork();
    assert_true(children[i] >= 0);
    if (children[i] == 0) {
      char byte;
      close(gate[1]);
      _exit(read(gate[0], &byte, 1) == 0 ? work(fixture) : 99);
    }
  }
  close(gate[0]);
  close(gate[1]);
  for (int i = 0; i < count; i++) {
    int status;
    assert_int_equal(waitpid(children[i], &status, 0), children[i]);
    assert_int_equal(status, 0);
  }
}

static int open_and_write(struct fixture *fixture) {
  char id[ID_UUID_SIZE];
  id_new(id);
  struct store *store;
  if (store_open(fixture->path, CONF_SYNC_BACKGROUND, &store, &fixture->err) <
          0 ||
      store_instance_start(store, id, "cellpost", getpid(), 1, &fixture->err) <
          0) {
    fprintf(stderr, "%s\n", fixture->err.text);
    return 1;
  }
  store_close(store);
  return 0;
}

static void many_can_make_it_at_the_same_moment(void **state) {
  struct fixture *fixture = *state;
  in_processes(fixture, 12, open_and_write);
  fixture_expect(fixture, "select count(*) from instances", "12");
  fixture_expect(fixture, "pragma integrity_check", "ok");
}

static void a_store_does_not_cross_a_fork(void **state) {
  struct fixture *fixture = *state;
  fixture_fill(fixture);
  pid_t child = fork();
  if (child == 0) {
    struct task_record task;
    bool refused = task_get(fixture->store, "demo", &task, &fixture->err) < 0 &&
                   task_delete(fixture->store, "demo", &fixture->err) < 0 &&
                   fixture->err.kind == ERR_INTERNAL;
    _exit(refused ? 0 : 1);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

static void a_statement_that_is_none_is_told(void **state) {
  struct fixture *fixture = *state;
  fixture_fill(fixture);
  CLEANUP(read_end) struct read read;
  OK(fixture, read_begin(fixture->store, &read, &fixture->err));
  struct statement *statement = db_statement(read.db, "no_such_thing");
  statement_bind_text(statement, "x", "y");
  FAILS(fixture, ERR_INTERNAL, statement_step(statement, &fixture->err));
  statement = db_statement(read.db, "task_get");
  statement_bind_text(statement, "idd", "y");
  FAILS(fixture, ERR_INTERNAL, statement_step(statement, &fixture->err));
  /* And a reader cannot write. */
  statement = db_statement(read.db, "instance_end");
  FAILS(fixture, ERR_UNAVAILABLE, statement_run(statement, &fixture->err));
}

#define TEST(name_)                                                            \
  cmocka_unit_test_setup_teardown(name_, fixture_empty, fixture_close)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_new_database_is_made_for_its_group),
      TEST(it_opens_again_with_all_it_held),
      TEST(a_newer_database_is_refused_untouched),
      TEST(a_foreign_database_is_refused_untouched),
      TEST(what_is_no_database_is_refused),
      TEST(changed_views_are_made_anew),
      TEST(another_schema_of_the_same_number_is_refused),
      TEST(comments_and_things_of_others_are_no_other_schema),
      TEST(many_can_make_it_at_the_same_moment),
      TEST(a_store_does_not_cross_a_fork),
      TEST(a_statement_that_is_none_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
