/* Turns: order, bound, cancel, and the lock between processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

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
  struct queues *turns = queues_new(directory, 2);
  struct queue_entry *turn[4] = {0};
  struct err err = {0};
  for (int i = 0; i < 3; i++) {
    assert_int_equal(queue_join(turns, "t", &turn[i], &err), 0);
    assert_int_equal(queue_position(turn[i]), i);
  }
  assert_int_equal(queue_join(turns, "t", &turn[3], &err), -1);
  assert_int_equal(err.kind, ERR_BUSY);
  assert_non_null(strstr(err.text, "2 runs"));
  assert_int_equal(queue_length(turns, "t"), 3);
  queue_leave(turn[0]);
  assert_int_equal(queue_position(turn[1]), 0);
  assert_int_equal(queue_join(turns, "t", &turn[3], &err), 0);
  for (int i = 1; i < 4; i++)
    queue_leave(turn[i]);
  assert_int_equal(queue_length(turns, "t"), 0);
  queues_free(turns);
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
  struct queues *turns = queues_new(directory, WAITERS);
  struct queue_entry *first;
  assert_int_equal(queue_join(turns, "t", &first, NULL), 0);
  assert_int_equal(queue_wait(first, NULL), 0);
  struct waiter waiters[WAITERS];
  pthread_t threads[WAITERS];
  atomic_store(&finished, 0);
  for (int i = 0; i < WAITERS; i++) {
    waiters[i] = (struct waiter){.place = i, .seen = -1};
    assert_int_equal(queue_join(turns, "t", &waiters[i].turn, NULL), 0);
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
  queues_free(turns);
}

static void another_process_is_waited_for(void **state) {
  (void)state;
  int ready[2], go[2];
  assert_int_equal(pipe(ready) | pipe(go), 0);
  pid_t child = fork();
  if (child == 0) {
    struct queues *turns = queues_new(directory, 2);
    struct queue_entry *turn;
    char byte = 0;
    if (queue_join(turns, "t", &turn, NULL) < 0 || queue_wait(turn, NULL) < 0 ||
        write(ready[1], "x", 1) != 1 || read(go[0], &byte, 1) != 1)
      _exit(1);
    _exit(0); /* dies with its turn: the kernel frees the lock */
  }
  char byte;
  assert_int_equal(read(ready[0], &byte, 1), 1);
  struct queues *turns = queues_new(directory, 2);
  struct queue_entry *turn = queue_try(turns, "t");
  assert_non_null(turn);
  assert_false(queue_lock(turn));
  assert_int_equal(write(go[1], "x", 1), 1);
  assert_int_equal(queue_wait(turn, NULL), 0);
  assert_null(queue_try(turns, "t"));
  queue_forget(turn);
  queue_leave(turn);
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  assert_int_equal(faccessat(directory, "t.lock", F_OK, 0), -1);
  queues_free(turns);
  close(ready[0]);
  close(ready[1]);
  close(go[0]);
  close(go[1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_queue_is_bounded),
      cmocka_unit_test(turns_come_in_order_of_arrival),
      cmocka_unit_test(another_process_is_waited_for),
  };
  return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
