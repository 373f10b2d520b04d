/* Turns: order, bound, cancel, and the lock between processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/control/task_lock.h"
#include "core/run/engine/queue.h"

static char path[] = "/tmp/cellpost-turn-XXXXXX";
static int directory;

static int make_directory(void **state) {
  (void)state;
  assert_non_null(mkdtemp(path));
  directory = open(path, O_RDONLY | O_DIRECTORY);
  return directory < 0;
}

static int remove_directory(void **state) {
  (void)state;
  char name[64];
  snprintf(name, sizeof name, "%s/t.lock", path);
  unlink(name);
  close(directory);
  return rmdir(path);
}

static void the_queue_is_bounded(void **state) {
  (void)state;
  struct queues *queues = queues_new(directory, 2);
  struct queue_entry *turn[4] = {0};
  struct err err = {0};
  for (int i = 0; i < 3; i++) {
    assert_int_equal(queue_join(queues, "t", &turn[i], &err), 0);
    assert_int_equal(queue_position(turn[i]), i);
  }
  assert_int_equal(queue_join(queues, "t", &turn[3], &err), -1);
  assert_int_equal(err.kind, ERR_BUSY);
  assert_non_null(strstr(err.text, "2 runs"));
  assert_int_equal(queue_length(queues, "t"), 3);
  queue_leave(turn[0]);
  assert_int_equal(queue_position(turn[1]), 0);
  assert_int_equal(queue_join(queues, "t", &turn[3], &err), 0);
  for (int i = 1; i < 4; i++)
    queue_leave(turn[i]);
  assert_int_equal(queue_length(queues, "t"), 0);
  queues_free(queues);
}

enum { WAITERS = 20 };
static atomic_int finished;

struct waiter {
  struct queue_entry *turn;
  int place;
  int seen;
};

static void *wait_and_leave(void *argument) {
  struct waiter *waiter = argument;
  if (queue_wait(waiter->turn, NULL) == 0)
    waiter->seen = atomic_fetch_add(&finished, 1);
  queue_leave(waiter->turn);
  return NULL;
}

static void turns_come_in_order_of_arrival(void **state) {
  (void)state;
  struct queues *queues = queues_new(directory, WAITERS);
  struct queue_entry *first;
  assert_int_equal(queue_join(queues, "t", &first, NULL), 0);
  assert_int_equal(queue_wait(first, NULL), 0);
  struct waiter waiters[WAITERS];
  pthread_t threads[WAITERS];
  atomic_store(&finished, 0);
  for (int i = 0; i < WAITERS; i++) {
    waiters[i] = (struct waiter){.place = i, .seen = -1};
    assert_int_equal(queue_join(queues, "t", &waiters[i].turn, NULL), 0);
  }
  for (int i = WAITERS; i-- > 0;)
    pthread_create(&threads[i], NULL, wait_and_leave, &waiters[i]);
  queue_cancel(waiters[3].turn);
  pthread_join(threads[3], NULL);
  assert_int_equal(waiters[3].seen, -1);
  assert_int_equal(atomic_load(&finished), 0);
  queue_leave(first);
  for (int i = 0; i < WAITERS; i++)
    if (i != 3)
      pthread_join(threads[i], NULL);
  for (int i = 0; i < WAITERS; i++)
    if (i != 3)
      assert_int_equal(waiters[i].seen, i < 3 ? i : i - 1);
  queues_free(queues);
}

static void another_process_is_waited_for(void **state) {
  (void)state;
  int ready[2], go[2];
  assert_int_equal(pipe(ready) | pipe(go), 0);
  pid_t child = fork();
  if (child == 0) {
    struct queues *queues = queues_new(directory, 2);
    struct queue_entry *turn;
    char byte = 0;
    if (queue_join(queues, "t", &turn, NULL) < 0 ||
        queue_wait(turn, NULL) < 0 || write(ready[1], "x", 1) != 1 ||
        read(go[0], &byte, 1) != 1)
      _exit(1);
    _exit(0); /* dies with its turn: the kernel frees the lock */
  }
  char byte;
  assert_int_equal(read(ready[0], &byte, 1), 1);
  struct queues *queues = queues_new(directory, 2);
  struct queue_entry *turn, *next;
  assert_int_equal(queue_join_aside(queues, "t", &turn, NULL), 0);
  assert_int_equal(queue_length(queues, "t"), 0);
  assert_false(queue_is_next(turn));
  assert_int_equal(write(go[1], "x", 1), 1);
  assert_int_equal(queue_wait(turn, NULL), 0);
  assert_int_equal(queue_join(queues, "t", &next, NULL), 0);
  assert_false(queue_is_next(next));
  queue_leave(next);
  queue_forget(turn);
  queue_leave(turn);
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  assert_int_equal(faccessat(directory, "t.lock", F_OK, 0), -1);
  queues_free(queues);
  close(ready[0]);
  close(ready[1]);
  close(go[0]);
  close(go[1]);
}

/* Two processes that ask in turn are served in turn. */
static void order_holds_between_processes(void **state) {
  (void)state;
  enum { EACH = 40 };
  struct shared {
    atomic_int ready, joined, served;
    int order[2 * EACH];
  } *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pid_t children[2];
  for (int child = 0; child < 2; child++) {
    children[child] = fork();
    if (children[child] != 0)
      continue;
    struct queues *own = queues_new(directory, EACH);
    struct queue_entry *entries[EACH];
    for (int i = 0; i < EACH; i++) {
      while (atomic_load(&shared->ready) == 0 ||
             atomic_load(&shared->joined) % 2 != child)
        sched_yield();
      if (queue_join(own, "t", &entries[i], NULL) < 0)
        _exit(1);
      atomic_fetch_add(&shared->joined, 1);
    }
    for (int i = 0; i < EACH; i++) {
      if (queue_wait(entries[i], NULL) < 0)
        _exit(2);
      shared->order[atomic_fetch_add(&shared->served, 1)] = child;
      queue_leave(entries[i]);
    }
    _exit(0);
  }
  /* Only now: a child would share the open file, and hold the number on. */
  struct queues *queues = queues_new(directory, 2 * EACH);
  struct queue_entry *first;
  assert_int_equal(queue_join(queues, "t", &first, NULL), 0);
  assert_int_equal(queue_wait(first, NULL), 0);
  atomic_store(&shared->ready, 1);
  while (atomic_load(&shared->joined) < 2 * EACH)
    sched_yield();
  assert_int_equal(atomic_load(&shared->served), 0);
  queue_leave(first);
  for (int child = 0; child < 2; child++) {
    int status;
    assert_int_equal(waitpid(children[child], &status, 0), children[child]);
    assert_int_equal(status, 0);
  }
  for (int i = 0; i < 2 * EACH; i++)
    assert_int_equal(shared->order[i], i % 2);
  queues_free(queues);
  munmap(shared, sizeof *shared);
}

static void *wait_for_turn(void *argument) {
  return (void *)(intptr_t)queue_wait(argument, NULL);
}

static void a_wait_for_another_process_is_called_off(void **state) {
  (void)state;
  struct task_lock foreign;
  assert_int_equal(task_lock_join(directory, "t", &foreign, NULL), 0);
  struct queues *queues = queues_new(directory, 2);
  struct queue_entry *entry;
  assert_int_equal(queue_join(queues, "t", &entry, NULL), 0);
  pthread_t thread;
  pthread_create(&thread, NULL, wait_for_turn, entry);
  queue_cancel(entry);
  void *result;
  pthread_join(thread, &result);
  assert_int_equal((intptr_t)result, -1);
  queue_leave(entry);
  task_lock_leave(&foreign);
  queues_free(queues);
}

static void a_removed_file_is_worth_nothing(void **state) {
  (void)state;
  struct queues *queues = queues_new(directory, 2);
  struct queue_entry *old, *after;
  assert_int_equal(queue_join(queues, "t", &old, NULL), 0);
  assert_int_equal(queue_join(queues, "t", &after, NULL), 0);
  assert_int_equal(queue_wait(old, NULL), 0);
  queue_forget(old);
  struct task_lock foreign;
  assert_int_equal(task_lock_try(directory, "t", &foreign, NULL), 1);
  queue_leave(old);
  assert_false(queue_is_next(after));
  task_lock_leave(&foreign);
  assert_int_equal(queue_wait(after, NULL), 0);
  assert_int_equal(task_lock_try(directory, "t", &foreign, NULL), 0);
  queue_leave(after);
  queues_free(queues);
}

static void a_run_that_began_is_told_from_one_that_did_not(void **state) {
  (void)state;
  static const char *const runs[] = {"01a22cae-787d-72e0-b1f9-b46d77ab74be",
                                     "01a22cae-787d-72e0-b1f9-b46d77ab74bf"};
  struct queues *queues = queues_new(directory, 2);
  struct queue_entry *entry;
  assert_true(task_lock_has_begun(directory, "nobody", runs[0]));
  assert_int_equal(queue_join(queues, "t", &entry, NULL), 0);
  assert_int_equal(queue_wait(entry, NULL), 0);
  assert_false(task_lock_has_begun(directory, "t", runs[0]));
  for (int i = 0; i < 2; i++)
    queue_note_begun(entry, runs[i], true);
  for (int i = 0; i < 2; i++)
    assert_true(task_lock_has_begun(directory, "t", runs[i]));
  /* Many more: those are kept whose end may not be recorded. */
  static const char *const other = "01a22cae-787d-72e0-b1f9-b46d77ab74b0";
  for (int i = 0; i < 200; i++)
    queue_note_begun(entry, other, false);
  assert_true(task_lock_has_begun(directory, "t", runs[0]));
  queue_note_begun(entry, other, true);
  assert_true(task_lock_has_begun(directory, "t", other));
  assert_false(task_lock_has_begun(directory, "t", runs[0]));
  queue_leave(entry);
  assert_int_equal(queue_join(queues, "t", &entry, NULL), 0);
  assert_true(queue_is_next(entry));
  queue_leave(entry);
  queues_free(queues);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_queue_is_bounded),
      cmocka_unit_test(turns_come_in_order_of_arrival),
      cmocka_unit_test(another_process_is_waited_for),
      cmocka_unit_test(order_holds_between_processes),
      cmocka_unit_test(a_wait_for_another_process_is_called_off),
      cmocka_unit_test(a_removed_file_is_worth_nothing),
      cmocka_unit_test(a_run_that_began_is_told_from_one_that_did_not),
  };
  return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
