/* The channel cache: who owns a channel, and which one goes when it is full.
 * The attachment's free function tells which channels were closed. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/mem.h"
#include "core/jupyter/channel_cache.h"

static size_t count_of(struct channel_cache *cache) {
  size_t count;
  free(channel_cache_names(cache, &count));
  return count;
}

static char closed[256]; /* the names of closed channels, in order */

static void note_closed(void *attachment) {
  strcat(closed, attachment);
  free(attachment);
}

static struct cached_channel *named(const char *kernel_id) {
  struct cached_channel *cached = mem_new(sizeof *cached);
  snprintf(cached->kernel_id, sizeof cached->kernel_id, "%s", kernel_id);
  cached->attachment = mem_copy_text(kernel_id);
  cached->free_attachment = note_closed;
  return cached;
}

static int forget_closed(void **state) {
  (void)state;
  closed[0] = '\0';
  return 0;
}

static void what_is_given_can_be_taken_once(void **state) {
  (void)state;
  struct channel_cache *cache = channel_cache_new(4);
  assert_null(channel_cache_take(cache, "a"));
  struct cached_channel *a = named("a");
  channel_cache_give(cache, a);
  assert_int_equal(count_of(cache), 1);
  assert_null(channel_cache_take(cache, "b"));
  assert_ptr_equal(channel_cache_take(cache, "a"), a);
  assert_null(channel_cache_take(cache, "a"));
  assert_int_equal(count_of(cache), 0);
  channel_cache_give(cache, a);
  assert_string_equal(closed, "");
  channel_cache_free(cache);
  assert_string_equal(closed, "a");
  cached_channel_free(NULL);
}

static void the_one_given_back_longest_ago_is_closed(void **state) {
  (void)state;
  struct channel_cache *cache = channel_cache_new(2);
  channel_cache_give(cache, named("a"));
  channel_cache_give(cache, named("b"));
  channel_cache_give(cache, channel_cache_take(cache, "a"));
  channel_cache_give(cache, named("c"));
  assert_string_equal(closed, "b");
  assert_int_equal(count_of(cache), 2);
  channel_cache_free(cache);
  assert_string_equal(closed, "bac");
}

static void a_limit_of_none_keeps_none(void **state) {
  (void)state;
  struct channel_cache *cache = channel_cache_new(0);
  channel_cache_give(cache, named("a"));
  assert_string_equal(closed, "a");
  assert_int_equal(count_of(cache), 0);
  channel_cache_free(cache);
}

static void of_two_for_one_kernel_the_newer_stays(void **state) {
  (void)state;
  struct channel_cache *cache = channel_cache_new(4);
  struct cached_channel *newer = named("a");
  newer->attachment = (free(newer->attachment), mem_copy_text("newer"));
  channel_cache_give(cache, named("a"));
  channel_cache_give(cache, newer);
  assert_string_equal(closed, "a");
  assert_ptr_equal(channel_cache_take(cache, "a"), newer);
  cached_channel_free(newer);
  channel_cache_free(cache);
}

static void a_task_s_newest_is_taken(void **state) {
  (void)state;
  struct channel_cache *cache = channel_cache_new(10);
  const char *const tasks[] = {"one", "two", "one"};
  for (size_t i = 0; i < COUNT_OF(tasks); i++) {
    struct cached_channel *cached = named((const char *[]){"a", "b", "c"}[i]);
    strcpy(cached->task, tasks[i]);
    channel_cache_give(cache, cached);
  }
  size_t count;
  struct channel_cache_name *names = channel_cache_names(cache, &count);
  assert_int_equal(count, 3);
  assert_string_equal(names[1].kernel_id, "b");
  assert_string_equal(names[1].task, "two");
  free(names);
  struct cached_channel *newest = channel_cache_take_task(cache, "one");
  assert_string_equal(newest->kernel_id, "c");
  assert_null(channel_cache_take_task(cache, "three"));
  cached_channel_free(newest);
  channel_cache_free(cache);
}

enum { THREADS = 4, TURNS = 20000 };
static bool shared; /* two threads had the same channel */

static void *take_and_give(void *argument) {
  struct channel_cache *cache = argument;
  for (int i = 0; i < TURNS; i++) {
    const char *name = i % 2 == 0 ? "a" : "b";
    struct cached_channel *cached = channel_cache_take(cache, name);
    if (cached == NULL)
      cached = channel_cache_take(cache, i % 2 == 0 ? "b" : "a");
    if (cached == NULL)
      continue;
    if (__atomic_exchange_n(&cached->task[0], 1, __ATOMIC_RELAXED) != 0)
      __atomic_store_n(&shared, true, __ATOMIC_RELAXED);
    __atomic_store_n(&cached->task[0], 0, __ATOMIC_RELAXED);
    channel_cache_give(cache, cached);
  }
  return NULL;
}

static void a_channel_has_one_owner_at_a_time(void **state) {
  (void)state;
  struct channel_cache *cache = channel_cache_new(2);
  channel_cache_give(cache, named("a"));
  channel_cache_give(cache, named("b"));
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, take_and_give, cache),
                     0);
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  assert_false(shared);
  assert_int_equal(count_of(cache), 2);
  assert_string_equal(closed, "");
  channel_cache_free(cache);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(what_is_given_can_be_taken_once, forget_closed),
      cmocka_unit_test_setup(the_one_given_back_longest_ago_is_closed,
                             forget_closed),
      cmocka_unit_test_setup(a_limit_of_none_keeps_none, forget_closed),
      cmocka_unit_test_setup(of_two_for_one_kernel_the_newer_stays,
                             forget_closed),
      cmocka_unit_test_setup(a_task_s_newest_is_taken, forget_closed),
      cmocka_unit_test_setup(a_channel_has_one_owner_at_a_time, forget_closed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
