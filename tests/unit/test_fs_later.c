/* Files that are synced later: all of them, the newest of each, soon, and by
 * descriptors that no lease minds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fs_later.h"
#include "core/base/mem.h"

/* What the library calls instead of libc's: counts, and fails on demand. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t called = PTHREAD_COND_INITIALIZER;
static int files, directories, fault;
static ino_t last_file;
static bool held; /* fdatasync waits while this is set */

int fdatasync(int file) {
  struct stat status;
  fstat(file, &status);
  pthread_mutex_lock(&mutex);
  files++;
  last_file = status.st_ino;
  pthread_cond_broadcast(&called);
  while (held)
    pthread_cond_wait(&called, &mutex);
  int number = fault;
  pthread_mutex_unlock(&mutex);
  if (number == 0)
    return (int)syscall(SYS_fdatasync, file);
  errno = number;
  return -1;
}

int fsync(int directory) {
  pthread_mutex_lock(&mutex);
  directories++;
  pthread_cond_broadcast(&called);
  pthread_mutex_unlock(&mutex);
  return (int)syscall(SYS_fsync, directory);
}

/* Waits until `*counter` has reached `count`. */
static void wait_for(const int *counter, int count) {
  pthread_mutex_lock(&mutex);
  while (*counter < count)
    pthread_cond_wait(&called, &mutex);
  pthread_mutex_unlock(&mutex);
}

struct scene {
  char path[40];
  int directory;
  int one, two; /* files */
  struct stat key;
  struct fs_later *later;
  char told[512]; /* the last failure */
};

static void note_failure(void *context, const struct err *err) {
  struct scene *scene = context;
  snprintf(scene->told, sizeof scene->told, "%s", err->text);
}

static int set_up(void **state) {
  struct scene *scene = mem_new(sizeof *scene);
  strcpy(scene->path, "/tmp/cellpost-later-XXXXXX");
  assert_non_null(mkdtemp(scene->path));
  scene->directory = open(scene->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  scene->one =
      openat(scene->directory, "1", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  scene->two =
      openat(scene->directory, "2", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  assert_int_equal(fstat(scene->directory, &scene->key), 0);
  files = directories = fault = 0;
  held = false;
  assert_int_equal(fs_later_start(note_failure, scene, &scene->later, NULL), 0);
  *state = scene;
  return 0;
}

static int tear_down(void **state) {
  struct scene *scene = *state;
  fs_later_stop(scene->later);
  unlinkat(scene->directory, "1", 0);
  unlinkat(scene->directory, "2", 0);
  rmdir(scene->path);
  close(scene->one);
  close(scene->two);
  close(scene->directory);
  free(scene);
  return 0;
}

static ino_t inode_of(int file) {
  struct stat status;
  assert_int_equal(fstat(file, &status), 0);
  return status.st_ino;
}

static void synced_within_a_second(void **state) {
  struct scene *scene = *state;
  int64_t start = clock_monotonic_ns();
  fs_later_add(scene->later, &scene->key, scene->one, scene->directory);
  wait_for(&directories, 1);
  assert_int_equal(files, 1);
  assert_true(clock_monotonic_ns() - start < CLOCK_S);
}

static void the_newest_of_each_key_is_enough(void **state) {
  struct scene *scene = *state;
  for (int i = 0; i < 100; i++)
    fs_later_add(scene->later, &scene->key, scene->one, scene->directory);
  fs_later_add(scene->later, &scene->key, scene->two, scene->directory);
  wait_for(&directories, 1);
  assert_int_equal(files, 1);
  assert_int_equal(last_file, inode_of(scene->two));
}

static void other_keys_are_synced_too(void **state) {
  struct scene *scene = *state;
  struct stat key;
  assert_int_equal(fstat(scene->one, &key), 0);
  fs_later_add(scene->later, &scene->key, scene->two, -1);
  fs_later_add(scene->later, &key, scene->one, -1);
  wait_for(&files, 2);
  assert_int_equal(directories, 0);
}

static void stopping_syncs_what_waits(void **state) {
  struct scene *scene = *state;
  fs_later_add(scene->later, &scene->key, scene->one, scene->directory);
  fs_later_stop(MEM_STEAL(scene->later));
  assert_int_equal(files, 1);
  assert_int_equal(directories, 1);
}

static void the_caller_may_close_its_file(void **state) {
  struct scene *scene = *state;
  ino_t inode = inode_of(scene->one);
  fs_later_add(scene->later, &scene->key, scene->one, scene->directory);
  mem_close_descriptor(&scene->one);
  wait_for(&directories, 1);
  assert_int_equal(last_file, inode);
}

/* While the sync goes on, too. */
static void a_lease_is_granted_meanwhile(void **state) {
  struct scene *scene = *state;
  held = true;
  fs_later_add(scene->later, &scene->key, scene->one, scene->directory);
  wait_for(&files, 1);
  assert_int_equal(fcntl(scene->one, F_SETLEASE, F_WRLCK), 0);
  assert_int_equal(fcntl(scene->one, F_SETLEASE, F_UNLCK), 0);
  int other = openat(scene->directory, "1", O_RDONLY | O_CLOEXEC);
  assert_int_equal(fcntl(scene->one, F_SETLEASE, F_WRLCK), -1);
  close(other);
  pthread_mutex_lock(&mutex);
  held = false;
  pthread_cond_broadcast(&called);
  pthread_mutex_unlock(&mutex);
}

static void a_failure_is_told(void **state) {
  struct scene *scene = *state;
  fault = EIO;
  fs_later_add(scene->later, &scene->key, scene->one, scene->directory);
  fs_later_stop(MEM_STEAL(scene->later));
  assert_non_null(strstr(scene->told, "Input/output error"));
}

#define TEST(name_) cmocka_unit_test_setup_teardown(name_, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(synced_within_a_second),
      TEST(the_newest_of_each_key_is_enough),
      TEST(other_keys_are_synced_too),
      TEST(stopping_syncs_what_waits),
      TEST(the_caller_may_close_its_file),
      TEST(a_lease_is_granted_meanwhile),
      TEST(a_failure_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
