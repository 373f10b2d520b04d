/* What the history costs, and whether that depends on its length: the same
 * measurements with a short and with a long one, as one JSON object.
 *
 *   store_bench DIRECTORY [SHORT LONG]      (default: 1000 1000000 runs) */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/crypto.h"
#include "core/base/id.h"
#include "core/base/mem.h"
#include "core/json/json.h"
#include "core/store/database/pool.h"
#include "core/store/kernel.h"
#include "core/store/run.h"
#include "core/store/task.h"

#define TASKS 100
#define ROUNDS 1000
#define TASK "t007"
#define CODE                                                                   \
  "import pandas as pd\ndf = pd.DataFrame({'x': range(5)})\ndf.describe()"

/* Runs as they come, one in seven an error, spread over the tasks, each with an
 * output, a link and three events; in one transaction, and past the triggers'
 * and the interface's checks only in that nothing is hashed. */
static const char fill_script[] =
    "INSERT INTO instances SELECT 'fill', 'cellpost', 1, 1, 1, 2;"
    "INSERT INTO tasks WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL"
    "  SELECT i + 1 FROM n WHERE i < %d - 1)"
    "  SELECT printf('t%%03d', i), 'python3', '{}', 'bench', 1, NULL FROM n;"
    "INSERT INTO kernels (id, task, generation, kernelspec, started_at)"
    "  SELECT printf('%%-32s', id) || 'life', id, 1, 'python3', 1 FROM tasks;"
    "CREATE TEMP TABLE n AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL"
    "  SELECT i + 1 FROM n WHERE i < %d - 1) SELECT i,"
    "  printf('%%08x-%%04x-7000-8000-%%012x', i / 65536, i %% 65536, i) AS id,"
    "  printf('t%%03d', i %% %d) AS task, 1 + i / %d AS number FROM n;"
    "INSERT INTO runs (id, task, number, code, code_sha256, silent, caller,"
    "  address, request_id, instance, timeout_ms, options, queued_at, status,"
    "  started_at, kernel, generation, kernel_state, cell, ended_at, "
    "end_number,"
    "  execution_count, text, error, cpu_ms, memory_peak_bytes, output_bytes)"
    "  SELECT id, task, number, '%s', hex(zeroblob(32)), 0, 'anna',"
    "  '127.0.0.1', id, 'fill', 30000, '{\"images\":\"inline\"}', i * 1000,"
    "  iif(i %% 7 = 0, 'error', 'ok'), i * 1000 + 100,"
    "  printf('%%-32s', task) || 'life', 1, 'kept', substr(id, 1, 8),"
    "  i * 1000 + 900, number, number, 'count 5',"
    "  iif(i %% 7 = 0, '{\"ename\":\"NameError\",\"evalue\":\"y\"}', NULL), 5,"
    "  50000000, 200 FROM n;"
    "INSERT INTO outputs SELECT sequence, 0, 'stream', '{\"output_type\":"
    "\"stream\",\"name\":\"stdout\",\"text\":\"count 5\\n\"}',"
    "  code_sha256, 0, ended_at, NULL, NULL FROM runs;"
    "INSERT INTO chain (task, end_number, run, hash)"
    "  SELECT task, end_number, id, code_sha256 FROM runs;"
    "INSERT INTO events (at, task, run, kind, content)"
    "  SELECT queued_at, task, id, kind, '{\"status\":\"ok\",\"cell\":\"abc\"}'"
    "  FROM runs, (SELECT 'run.queued' AS kind UNION ALL SELECT 'run.started'"
    "  UNION ALL SELECT 'run.finished') ORDER BY sequence;"
    "DROP TABLE n;";

struct bench {
  char *path;
  struct store *store;
  struct err err;
  int64_t samples[ROUNDS];
};

static void check(const struct bench *bench, int status) {
  if (status >= 0)
    return;
  fprintf(stderr, "store_bench: %s\n", bench->err.text);
  exit(1);
}

static void fill(struct bench *bench, int runs) {
  CLEANUP(write_end) struct write write;
  CLEANUP(mem_free_pointer)
  char *code = mem_copy_text(CODE);
  for (char *quote = code; (quote = strchr(quote, '\'')) != NULL;)
    *quote = '"';
  CLEANUP(mem_free_pointer)
  char *script = mem_format(fill_script, TASKS, runs, TASKS, TASKS, code);
  check(bench, write_begin(bench->store, &write, &bench->err));
  check(bench, db_execute(write.db, script, &bench->err));
  check(bench, write_commit(&write, &bench->err));
}

static int compare(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static struct json *microseconds(int64_t nanoseconds) {
  char digits[32];
  int length =
      snprintf(digits, sizeof digits, "%.1f", (double)nanoseconds / 1000.0);
  return json_number_text(digits, (size_t)length);
}

/* {"median_us", "p99_us", "mean_us"} of `count` samples. */
static struct json *summary(struct bench *bench, size_t count) {
  int64_t sum = 0;
  for (size_t i = 0; i < count; i++)
    sum += bench->samples[i];
  qsort(bench->samples, count, sizeof bench->samples[0], compare);
  struct json *object = json_object();
  json_set(object, "median_us", microseconds(bench->samples[count / 2]));
  json_set(object, "p99_us", microseconds(bench->samples[count * 99 / 100]));
  json_set(object, "mean_us", microseconds(sum / (int64_t)count));
  return object;
}

static void one_run(struct bench *bench, const struct json *outputs) {
  char id[ID_UUID_SIZE], existing[37];
  id_new(id);
  struct run_record run = {.id = id,
                           .task = (char *)TASK,
                           .code = (char *)CODE,
                           .code_length = strlen(CODE),
                           .caller = (char *)"anna",
                           .address = (char *)"127.0.0.1",
                           .request_id = id,
                           .instance = (char *)"bench",
                           .timeout_ms = 30000,
                           .kernel =
                               (char *)TASK "                            life",
                           .generation = 1,
                           .kernel_state = (char *)"kept",
                           .cell = (char *)"a1b2c3d4",
                           .execution_count = 1,
                           .text = (char *)"count 5",
                           .cpu_ms = 5,
                           .memory_peak_bytes = 50000000,
                           .output_bytes = 200};
  crypto_sha256(run.code, run.code_length, run.code_sha256);
  struct run_ending ending = {.record = &run, .outputs = outputs};
  check(bench, run_insert(bench->store, &run, existing, &bench->err));
  check(bench, run_start(bench->store, &run, &bench->err));
  run.status = RUN_OK;
  check(bench, run_finish(bench->store, &ending, &bench->err));
}

static struct json *measure_runs(struct bench *bench) {
  static const char text[] = "[{\"output_type\":\"stream\",\"name\":\"stdout\","
                             "\"text\":\"count 5\\n\"}]";
  CLEANUP(json_done) struct json *outputs = NULL;
  check(bench, json_parse(text, sizeof text - 1, &JSON_RULES_STORE, &outputs,
                          &bench->err));
  for (int i = 0; i < ROUNDS; i++) {
    int64_t start = clock_monotonic_ns();
    one_run(bench, outputs);
    bench->samples[i] = clock_monotonic_ns() - start;
  }
  return summary(bench, ROUNDS);
}

static void ask_audit(struct bench *bench) {
  CLEANUP(read_end) struct read read;
  check(bench, read_begin(bench->store, &read, &bench->err));
  check(bench,
        db_execute(read.db, "SELECT * FROM audit LIMIT 100", &bench->err));
}

static void ask_audit_of_task(struct bench *bench) {
  CLEANUP(read_end) struct read read;
  check(bench, read_begin(bench->store, &read, &bench->err));
  check(bench,
        db_execute(read.db,
                   "SELECT * FROM audit WHERE task = '" TASK "' LIMIT 100",
                   &bench->err));
}

static void list(struct bench *bench, const char *task, const char *status) {
  struct run_record *runs;
  size_t count;
  check(bench, run_list(bench->store, task, NULL, status, RUN_BRIEF, 100, &runs,
                        &count, &bench->err));
  run_list_free(runs, count);
}

static void list_task(struct bench *bench) { list(bench, TASK, NULL); }
static void list_all(struct bench *bench) { list(bench, NULL, NULL); }
static void list_failed(struct bench *bench) { list(bench, TASK, "error"); }

static void list_tasks(struct bench *bench) {
  struct task_record *tasks;
  size_t count;
  check(bench, task_list(bench->store, NULL, NULL, TASKS, &tasks, &count,
                         &bench->err));
  task_list_free(tasks, count);
}

static void ask_activity(struct bench *bench) {
  int64_t last_at;
  bool busy;
  check(bench,
        kernel_activity(bench->store, TASK, &last_at, &busy, &bench->err));
}

static const struct {
  const char *name;
  void (*ask)(struct bench *bench);
} questions[] = {
    {"audit_last_100", ask_audit},
    {"audit_last_100_of_task", ask_audit_of_task},
    {"run_list_100_of_task", list_task},
    {"run_list_100_of_all", list_all},
    {"run_list_failed_of_task", list_failed},
    {"task_list_100", list_tasks},
    {"kernel_activity", ask_activity},
};

static struct json *measure_question(struct bench *bench,
                                     void (*ask)(struct bench *bench)) {
  const int rounds = ROUNDS / 5;
  for (int i = 0; i < rounds; i++) {
    int64_t start = clock_monotonic_ns();
    ask(bench);
    bench->samples[i] = clock_monotonic_ns() - start;
  }
  return summary(bench, (size_t)rounds);
}

static void open_bench(struct bench *bench, const char *directory, int runs) {
  bench->path = mem_format("%s/bench-%d.db", directory, runs);
  if (access(bench->path, F_OK) == 0) {
    fprintf(stderr, "store_bench: %s exists\n", bench->path);
    exit(1);
  }
  check(bench, store_open(bench->path, CONF_SYNC_BACKGROUND, &bench->store,
                          &bench->err));
  check(bench, store_instance_start(bench->store, "bench", "bench", 2, 2,
                                    &bench->err));
  fill(bench, runs);
  check(bench, store_maintain(bench->store, &bench->err));
}

static void close_bench(struct bench *bench) {
  static const char *const endings[] = {"", "-wal", "-shm"};
  store_close(bench->store);
  for (size_t i = 0; i < COUNT_OF(endings); i++) {
    CLEANUP(mem_free_pointer)
    char *name = mem_format("%s%s", bench->path, endings[i]);
    unlink(name);
  }
  free(bench->path);
}

static struct json *measure(const char *directory, int runs) {
  struct bench bench = {.store = NULL};
  open_bench(&bench, directory, runs);
  struct stat file;
  struct json *result = json_object();
  json_set_integer(result, "runs", runs);
  json_set(result, "insert_start_finish", measure_runs(&bench));
  for (size_t i = 0; i < COUNT_OF(questions); i++)
    json_set(result, questions[i].name,
             measure_question(&bench, questions[i].ask));
  if (stat(bench.path, &file) == 0)
    json_set_integer(result, "database_bytes_per_run",
                     (int64_t)file.st_size / (runs + ROUNDS));
  close_bench(&bench);
  return result;
}

int main(int count, char **arguments) {
  if (count != 2 && count != 4) {
    fprintf(stderr, "usage: store_bench DIRECTORY [SHORT LONG]\n");
    return 2;
  }
  CLEANUP(json_done) struct json *results = json_object();
  json_set(results, "short",
           measure(arguments[1], count == 4 ? atoi(arguments[2]) : 1000));
  json_set(results, "long",
           measure(arguments[1], count == 4 ? atoi(arguments[3]) : 1000000));
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_SMALL);
  json_write_indented(results, false, 0, &text);
  puts(buf_string(&text));
  return 0;
}
