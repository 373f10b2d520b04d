/* What goes wrong around the database: a lock that another process keeps, a
 * file that is gone, damaged or read-only. */
#include "store_fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "core/store/database/db.h"

static int start(struct fixture *fixture) {
  static int count;
  CLEANUP(mem_free_pointer) char *id = mem_format("i-%d", ++count);
  return store_instance_start(fixture->store, id, "cellpost", 1, 2,
                              &fixture->err);
}

/* What an auditor's BEGIN IMMEDIATE does. */
static struct db *lock_it(struct fixture *fixture) {
  struct db *db;
  OK(fixture, db_open(fixture->path, DB_WRITER, false, &db, &fixture->err));
  OK(fixture, db_begin(db, &fixture->err));
  return db;
}

static void a_lock_of_others_costs_no_more_than_the_patience(void **state) {
  struct fixture *fixture = *state;
  struct db *other = lock_it(fixture);
  store_set_patience(300 * CLOCK_MS);
  int64_t begin = clock_monotonic_ns();
  FAILS(fixture, ERR_UNAVAILABLE, start(fixture));
  assert_non_null(strstr(fixture->err.text, "another process holds its lock"));
  int64_t waited = clock_monotonic_ns() - begin;
  assert_in_range(waited, 300 * CLOCK_MS, 5 * CLOCK_S);
  /* It is spent: the next call does not wait again. */
  begin = clock_monotonic_ns();
  FAILS(fixture, ERR_UNAVAILABLE, start(fixture));
  assert_true(clock_monotonic_ns() - begin < 250 * CLOCK_MS);
  /* Reading goes on; the probe tells. */
  struct task_record task;
  OK(fixture, task_get(fixture->store, "demo", &task, &fixture->err));
  task_record_free(&task);
  FAILS(fixture, ERR_UNAVAILABLE, store_probe(fixture->store, &fixture->err));
  db_rollback(other);
  OK(fixture, start(fixture));
  OK(fixture, store_probe(fixture->store, &fixture->err));
  store_set_patience(-1);
  db_close(other);
}

static void *wait_in_vain(void *argument) {
  struct fixture fixture = {.store = ((struct fixture *)argument)->store};
  store_set_patience(400 * CLOCK_MS);
  bool failed = store_instance_end(fixture.store, INSTANCE, &fixture.err) < 0 &&
                fixture.err.kind == ERR_UNAVAILABLE;
  return failed ? NULL : argument;
}

static void writers_wait_beside_each_other(void **state) {
  struct fixture *fixture = *state;
  struct db *other = lock_it(fixture);
  pthread_t threads[8];
  int64_t begin = clock_monotonic_ns();
  for (size_t i = 0; i < COUNT_OF(threads); i++)
    assert_int_equal(pthread_create(&threads[i], NULL, wait_in_vain, fixture),
                     0);
  for (size_t i = 0; i < COUNT_OF(threads); i++) {
    void *fault;
    pthread_join(threads[i], &fault);
    assert_null(fault);
  }
  /* One after another they would need 3.2 seconds. */
  assert_true(clock_monotonic_ns() - begin < 2 * CLOCK_S);
  db_close(other);
}

static void a_database_that_is_gone_is_not_written_on(void **state) {
  struct fixture *fixture = *state;
  const char *const parts[] = {"", "-wal"};
  struct task_record task;
  FAILS(fixture, ERR_NOT_FOUND,
        task_get(fixture->store, "opens a reader", &task, &fixture->err));
  for (size_t i = 0; i < COUNT_OF(parts); i++) {
    CLEANUP(mem_free_pointer)
    char *name = mem_format("%s%s", fixture->path, parts[i]);
    CLEANUP(mem_free_pointer) char *aside = mem_format("%s.aside", name);
    assert_int_equal(rename(name, aside), 0);
    FAILS(fixture, ERR_UNAVAILABLE, start(fixture));
    assert_non_null(strstr(fixture->err.text, "deleted or replaced"));
    /* What is open can still be read. */
    OK(fixture, task_get(fixture->store, "demo", &task, &fixture->err));
    task_record_free(&task);
    FAILS(fixture, ERR_UNAVAILABLE, store_probe(fixture->store, &fixture->err));
    assert_int_equal(rename(aside, name), 0);
    OK(fixture, start(fixture));
    OK(fixture, store_probe(fixture->store, &fixture->err));
  }
  /* Nor on another that has taken its name. */
  CLEANUP(mem_free_pointer) char *aside = mem_format("%s.aside", fixture->path);
  assert_int_equal(rename(fixture->path, aside), 0);
  int file = open(fixture->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0640);
  assert_true(file >= 0);
  close(file);
  FAILS(fixture, ERR_UNAVAILABLE, start(fixture));
  assert_int_equal(rename(aside, fixture->path), 0);
  OK(fixture, start(fixture));
}

static void expect_success(pid_t child) {
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

/* In another process: closing the file would drop the locks of this one. */
static void write_over(struct fixture *fixture) {
  pid_t child = fork();
  if (child == 0) {
    int file = open(fixture->path, O_WRONLY | O_CLOEXEC);
    _exit(pwrite(file, "not a database at all", 21, 0) == 21 ? 0 : 1);
  }
  expect_success(child);
}

static void a_damaged_database_is_told(void **state) {
  struct fixture *fixture = *state;
  OK(fixture, store_probe(fixture->store, &fixture->err));
  write_over(fixture);
  FAILS(fixture, ERR_UNAVAILABLE, store_probe(fixture->store, &fixture->err));
  assert_non_null(strstr(fixture->err.text, "damaged"));
}

static bool make_read_only(const char *directory) {
  return unshare(CLONE_NEWNS) == 0 &&
         mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
         mount(directory, directory, NULL, MS_BIND, NULL) == 0 &&
         mount(NULL, directory, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) ==
             0;
}

static void a_read_only_disk_is_told(void **state) {
  struct fixture *fixture = *state;
  enum { TOLD, NOT_TOLD, NO_MOUNT };
  store_close(fixture->store);
  fixture->store = NULL;
  pid_t child = fork();
  if (child == 0) {
    struct store *store;
    if (store_open(fixture->path, CONF_SYNC_NEVER, &store, &fixture->err) < 0)
      _exit(NOT_TOLD);
    if (!make_read_only(fixture->directory))
      _exit(NO_MOUNT);
    bool told = store_probe(store, &fixture->err) < 0 &&
                fixture->err.kind == ERR_UNAVAILABLE &&
                strstr(fixture->err.text, "read-only") != NULL;
    if (!told)
      fprintf(stderr, "%s\n", fixture->err.text);
    _exit(told ? TOLD : NOT_TOLD);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  if (WEXITSTATUS(status) == NO_MOUNT)
    skip();
  assert_int_equal(WEXITSTATUS(status), TOLD);
}

#define TEST(name_)                                                            \
  cmocka_unit_test_setup_teardown(name_, fixture_open, fixture_close)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_lock_of_others_costs_no_more_than_the_patience),
      TEST(writers_wait_beside_each_other),
      TEST(a_database_that_is_gone_is_not_written_on),
      TEST(a_damaged_database_is_told),
      TEST(a_read_only_disk_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
