/* Several processes and threads on one database; death, a full disk, a long
 * reader. */
#include "store_fixture.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "core/store/database/pool.h"

/* Shared by the processes of a test. */
struct shared {
  int counters[16];
};

static struct shared *share(void) {
  void *memory = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true(memory != MAP_FAILED);
  return memory;
}

/* The parent's store must be closed: it cannot cross the fork. */
static void reopen(struct fixture *fixture) {
  OK(fixture, store_open(fixture->path, CONF_SYNC_BACKGROUND, &fixture->store,
                         &fixture->err));
}

static void close_store(struct fixture *fixture) {
  store_close(fixture->store);
  fixture->store = NULL;
}

/* For children, who cannot use cmocka's failures. */
static void child_fails(const struct fixture *fixture) {
  fprintf(stderr, "child: %s\n", fixture->err.text);
  _exit(1);
}

static void child_runs(struct fixture *fixture, int count) {
  for (int i = 0; i < count; i++) {
    char id[ID_UUID_SIZE], existing[37];
    struct run_record run = a_run("demo", "1", id);
    struct run_ending ending = {.record = &run};
    if (run_insert(fixture->store, &run, existing, &fixture->err) < 0 ||
        run_start(fixture->store, &run, &fixture->err) < 0)
      child_fails(fixture);
    run.status = RUN_OK;
    if (run_finish(fixture->store, &ending, &fixture->err) < 0)
      child_fails(fixture);
  }
}

static pid_t start_child(struct fixture *fixture,
                         void (*work)(struct fixture *, struct shared *, int),
                         struct shared *shared, int number) {
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (store_open(fixture->path, CONF_SYNC_BACKGROUND, &fixture->store,
                   &fixture->err) < 0)
      child_fails(fixture);
    work(fixture, shared, number);
    store_close(fixture->store);
    _exit(0);
  }
  return child;
}

static void expect_end(pid_t child, int expected) {
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, expected);
}

static void write_runs(struct fixture *fixture, struct shared *shared,
                       int number) {
  (void)shared;
  if (number == 0 && store_maintain(fixture->store, &fixture->err) < 0)
    child_fails(fixture);
  child_runs(fixture, 100);
}

static void processes_write_beside_each_other(void **state) {
  struct fixture *fixture = *state;
  close_store(fixture);
  pid_t children[5];
  for (int i = 0; i < 5; i++)
    children[i] = start_child(fixture, write_runs, NULL, i);
  for (int i = 0; i < 5; i++)
    expect_end(children[i], 0);
  reopen(fixture);
  fixture_expect(fixture,
                 "select count(*), max(number), count(distinct number),"
                 " max(end_number), count(distinct end_number) from runs",
                 "500|500|500|500|500");
  fixture_expect(fixture, "select count(*) from chain", "500");
  fixture_expect(fixture, "pragma integrity_check", "ok");
}

static void race_for_the_key(struct fixture *fixture, struct shared *shared,
                             int number) {
  __atomic_add_fetch(&shared->counters[0], 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&shared->counters[0], __ATOMIC_SEQ_CST) < 6)
    sched_yield();
  char id[ID_UUID_SIZE], existing[37] = "";
  struct run_record run = a_run("demo", "1", id);
  run.idempotency_key = (char *)"k";
  memset(run.body_sha256, 'a', 64);
  int seen = run_insert(fixture->store, &run, existing, &fixture->err);
  if (seen < 0)
    child_fails(fixture);
  shared->counters[1 + number] = seen;
  if (seen == 1) {
    struct run_record first;
    if (run_get(fixture->store, existing, &first, &fixture->err) < 0)
      child_fails(fixture);
    run_record_free(&first);
  }
}

static void one_wins_the_race_for_a_key(void **state) {
  struct fixture *fixture = *state;
  close_store(fixture);
  struct shared *shared = share();
  pid_t children[6];
  for (int i = 0; i < 6; i++)
    children[i] = start_child(fixture, race_for_the_key, shared, i);
  int seen = 0;
  for (int i = 0; i < 6; i++) {
    expect_end(children[i], 0);
    seen += shared->counters[1 + i];
  }
  assert_int_equal(seen, 5);
  reopen(fixture);
  fixture_expect(fixture, "select count(*) from runs", "1");
  munmap(shared, sizeof *shared);
}

/* Leaves a transaction open, with a row in it, until it is killed. */
static void stop_within(struct fixture *fixture, struct shared *shared,
                        int number) {
  (void)number;
  struct write write;
  if (write_begin(fixture->store, &write, &fixture->err) < 0)
    child_fails(fixture);
  struct statement *statement = db_statement(write.db, "event_append");
  statement_bind_integer(statement, "at", 1);
  statement_bind_text(statement, "kind", "never.committed");
  if (statement_run(statement, &fixture->err) != 1)
    child_fails(fixture);
  __atomic_store_n(&shared->counters[0], 1, __ATOMIC_SEQ_CST);
  for (;;)
    pause();
}

static void a_writer_killed_within_leaves_nothing(void **state) {
  struct fixture *fixture = *state;
  close_store(fixture);
  struct shared *shared = share();
  pid_t child = start_child(fixture, stop_within, shared, 0);
  while (__atomic_load_n(&shared->counters[0], __ATOMIC_SEQ_CST) == 0)
    sched_yield();
  kill(child, SIGKILL);
  expect_end(child, SIGKILL);
  reopen(fixture);
  struct event_record event = {.kind = (char *)"after.it"};
  OK(fixture, event_append(fixture->store, &event, 1, &fixture->err));
  fixture_expect(fixture,
                 "select group_concat(kind) from events"
                 " where kind in ('never.committed', 'after.it')",
                 "after.it");
  munmap(shared, sizeof *shared);
}

static void count_runs(struct fixture *fixture, struct shared *shared,
                       int number) {
  (void)number;
  for (;;) {
    child_runs(fixture, 1);
    __atomic_add_fetch(&shared->counters[0], 1, __ATOMIC_SEQ_CST);
  }
}

/* Killed wherever it happens to be, it has lost nothing that it had told. */
static void what_was_told_survives_a_kill(void **state) {
  struct fixture *fixture = *state;
  close_store(fixture);
  struct shared *shared = share();
  for (int round = 1; round <= 10; round++) {
    pid_t child = start_child(fixture, count_runs, shared, 0);
    int goal =
        __atomic_load_n(&shared->counters[0], __ATOMIC_SEQ_CST) + round * 3;
    while (__atomic_load_n(&shared->counters[0], __ATOMIC_SEQ_CST) < goal)
      sched_yield();
    kill(child, SIGKILL);
    expect_end(child, SIGKILL);
    CLEANUP(mem_free_pointer)
    char *sql =
        mem_format("select count(*) >= %d from runs where status = 'ok'",
                   shared->counters[0]);
    fixture_expect(fixture, sql, "1");
    fixture_expect(fixture, "pragma integrity_check", "ok");
  }
  reopen(fixture);
  munmap(shared, sizeof *shared);
}

/* One event of a mebibyte. */
static int append_large(struct fixture *fixture) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_ANSWER);
  memset(buf_reserve(&text, 1 << 20), 'x', 1 << 20);
  text.length = 1 << 20;
  CLEANUP(json_done) struct json *content = json_object();
  json_set(content, "text", json_string_n(text.data, text.length));
  struct event_record event = {.kind = (char *)"run.output",
                               .content = content};
  return event_append(fixture->store, &event, 1, &fixture->err);
}

static void fill_the_disk(struct fixture *fixture, struct shared *shared,
                          int number) {
  (void)shared;
  (void)number;
  signal(SIGXFSZ, SIG_IGN);
  struct rlimit before, small = {8 << 20, 8 << 20};
  getrlimit(RLIMIT_FSIZE, &before);
  small.rlim_max = before.rlim_max;
  setrlimit(RLIMIT_FSIZE, &small);
  int written = 0;
  while (written < 50 && append_large(fixture) == 0)
    written++;
  if (written == 50 || fixture->err.kind != ERR_NO_SPACE)
    child_fails(fixture);
  /* Reading goes on, and so does writing once there is room. */
  struct event_text *list;
  size_t count;
  if (event_list_texts(fixture->store, NULL, 0, INT64_MAX, 1000, &list, &count,
                       &fixture->err) < 0)
    child_fails(fixture);
  event_texts_free(list, count);
  setrlimit(RLIMIT_FSIZE, &before);
  if (append_large(fixture) < 0)
    child_fails(fixture);
}

static void a_full_disk_is_told_and_survived(void **state) {
  struct fixture *fixture = *state;
  close_store(fixture);
  expect_end(start_child(fixture, fill_the_disk, NULL, 0), 0);
  reopen(fixture);
  fixture_expect(fixture, "pragma integrity_check", "ok");
}

static off_t wal_size(const struct fixture *fixture) {
  CLEANUP(mem_free_pointer) char *name = mem_format("%s-wal", fixture->path);
  struct stat found;
  assert_int_equal(stat(name, &found), 0);
  return found.st_size;
}

static void a_long_reader_holds_nobody_up(void **state) {
  struct fixture *fixture = *state;
  struct read read;
  OK(fixture, read_begin(fixture->store, &read, &fixture->err));
  struct statement *statement = db_statement(read.db, "event_list");
  statement_bind_integer(statement, "after", 0);
  statement_bind_integer(statement, "last", INT64_MAX);
  statement_bind_integer(statement, "limit", 1000000);
  assert_int_equal(statement_step(statement, &fixture->err), 1);
  /* Eight times the log that would be copied and begun anew. */
  for (int i = 0; i < 32; i++)
    OK(fixture, append_large(fixture));
  assert_true(wal_size(fixture) > 32 << 20);
  /* It still sees the two events of its beginning. */
  assert_int_equal(statement_step(statement, &fixture->err), 1);
  assert_int_equal(statement_step(statement, &fixture->err), 0);
  read_end(&read);
  for (int i = 0; i < 16; i++)
    OK(fixture, append_large(fixture));
  assert_true(wal_size(fixture) <= 34 << 20);
  fixture_expect(fixture, "select count(*) from events", "50");
}

static void waits_for_the_other_process(void **state) {
  struct fixture *fixture = *state;
  close_store(fixture);
  struct shared *shared = share();
  pid_t child = start_child(fixture, stop_within, shared, 0);
  while (__atomic_load_n(&shared->counters[0], __ATOMIC_SEQ_CST) == 0)
    sched_yield();
  reopen(fixture);
  /* Reading needs no turn. */
  struct task_record task;
  OK(fixture, task_get(fixture->store, "demo", &task, &fixture->err));
  task_record_free(&task);
  pid_t killer = fork();
  if (killer == 0) {
    /* Nothing tells that the other one waits by now. */
    struct timespec while_it_waits = {.tv_nsec = 50000000};
    nanosleep(&while_it_waits, NULL);
    kill(child, SIGKILL);
    _exit(0);
  }
  OK(fixture, task_delete(fixture->store, "demo", &fixture->err));
  expect_end(killer, 0);
  expect_end(child, SIGKILL);
  munmap(shared, sizeof *shared);
}

#define THREADS 8
#define ROUNDS 40

static void *write_and_read(void *argument) {
  struct fixture *shared = argument;
  struct fixture fixture = {.store = shared->store};
  for (int i = 0; i < ROUNDS; i++) {
    char id[ID_UUID_SIZE], existing[37];
    struct run_record run = a_run("demo", "1", id), found;
    struct run_ending ending = {.record = &run};
    struct run_record *list;
    size_t count;
    if (run_insert(fixture.store, &run, existing, &fixture.err) < 0 ||
        run_start(fixture.store, &run, &fixture.err) < 0)
      return "start";
    run.status = RUN_OK;
    if (run_finish(fixture.store, &ending, &fixture.err) < 0)
      return "finish";
    if (run_get(fixture.store, id, &found, &fixture.err) < 0)
      return "get";
    bool ended = found.status == RUN_OK;
    run_record_free(&found);
    if (!ended)
      return "its own end is not seen";
    if (run_list(fixture.store, "demo", NULL, NULL, RUN_BRIEF, 5, &list, &count,
                 &fixture.err) < 0)
      return "list";
    run_list_free(list, count);
    if (store_probe(fixture.store, &fixture.err) < 0)
      return "probe";
  }
  return NULL;
}

static void threads_share_a_store(void **state) {
  struct fixture *fixture = *state;
  OK(fixture, store_maintain(fixture->store, &fixture->err));
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, write_and_read, fixture),
                     0);
  for (int i = 0; i < THREADS; i++) {
    void *fault;
    pthread_join(threads[i], &fault);
    if (fault != NULL)
      fail_msg("%s", (const char *)fault);
  }
  struct run_record *list;
  size_t count;
  OK(fixture, run_list(fixture->store, "demo", NULL, "ok", RUN_BRIEF, 10000,
                       &list, &count, &fixture->err));
  assert_int_equal(count, THREADS * ROUNDS);
  run_list_free(list, count);
}

static void maintenance_copies_a_long_log(void **state) {
  struct fixture *fixture = *state;
  OK(fixture, store_maintain(fixture->store, &fixture->err));
  for (int i = 0; i < 16; i++)
    OK(fixture, append_large(fixture));
  /* The thread was woken: the database grows though nobody asks it to. */
  struct stat found;
  int64_t limit = clock_monotonic_ns() + 20 * CLOCK_S;
  do {
    assert_int_equal(stat(fixture->path, &found), 0);
    assert_true(clock_monotonic_ns() < limit);
    sched_yield();
  } while (found.st_size < 4 << 20);
}

#define TEST(name_)                                                            \
  cmocka_unit_test_setup_teardown(name_, fixture_open, fixture_close)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(processes_write_beside_each_other),
      TEST(one_wins_the_race_for_a_key),
      TEST(a_writer_killed_within_leaves_nothing),
      TEST(what_was_told_survives_a_kill),
      TEST(a_full_disk_is_told_and_survived),
      TEST(a_long_reader_holds_nobody_up),
      TEST(waits_for_the_other_process),
      TEST(threads_share_a_store),
      TEST(maintenance_copies_a_long_log),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
