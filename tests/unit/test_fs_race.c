/* fs_remove_tree while another process changes the tree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "scratch.h"

static struct err err;

/* Called before each removal with the name that is about to go: a process that
 * changes the tree at the worst moment. */
static void (*meanwhile)(const struct scratch *scratch, const char *name);
static const struct scratch *attacked;

/* Stands in front of the C library's, for fs_tree.c too. */
int unlinkat(int directory, const char *name, int flags) {
  if (meanwhile != NULL)
    meanwhile(attacked, name);
  return (int)syscall(SYS_unlinkat, directory, name, flags);
}

static int remove_while(const struct scratch *scratch,
                        void (*attack)(const struct scratch *, const char *)) {
  attacked = scratch;
  meanwhile = attack;
  err_clear(&err);
  int result = fs_remove_tree(scratch->directory, "tree", &err);
  meanwhile = NULL;
  return result;
}

/* Two directories in tree/ and their namesakes in outside/. The walk enters the
 * twins in an order that the file system chooses; "in-a" or "in-b" tells which
 * came first, and then the other one still waits. */
static void make_twins(int top) {
  static const char *const directories[] = {"outside", "outside/a", "outside/b",
                                            "tree",    "tree/a",    "tree/b"};
  for (size_t i = 0; i < sizeof directories / sizeof directories[0]; i++)
    scratch_mkdir(top, directories[i]);
  scratch_file(top, "tree/a/in-a", "x");
  scratch_file(top, "tree/b/in-b", "x");
  scratch_file(top, "outside/a/file", "x");
  scratch_file(top, "outside/b/file", "x");
}

static void assert_outside_is_whole(int top) {
  assert_true(scratch_has(top, "outside/a/file"));
  assert_true(scratch_has(top, "outside/b/file"));
}

/* The path of the twin that waits (or of the one in work); NULL at any other
 * moment. */
static const char *twin(const char *name, bool waiting) {
  if (strncmp(name, "in-", 3) != 0)
    return NULL;
  return (name[3] == 'a') == waiting ? "tree/b" : "tree/a";
}

static void swap_with_a_symlink(const struct scratch *scratch,
                                const char *name) {
  const char *waiting = twin(name, true);
  if (waiting != NULL && scratch_has(scratch->directory, "link"))
    assert_int_equal(
        renameat(scratch->directory, waiting, scratch->directory, "aside") |
            renameat(scratch->directory, "link", scratch->directory, waiting),
        0);
}

static void a_symlink_that_appears_is_not_followed(void **state) {
  const struct scratch *scratch = *state;
  int top = scratch->directory;
  make_twins(top);
  char outside[128];
  snprintf(outside, sizeof outside, "%s/outside/a", scratch->path);
  assert_int_equal(symlinkat(outside, top, "link"), 0);
  assert_int_equal(remove_while(scratch, swap_with_a_symlink), 0);
  assert_outside_is_whole(top);
  assert_true(scratch_has(top, "aside"));
  assert_false(scratch_has(top, "tree"));
}

static void move_outside(const struct scratch *scratch, const char *name) {
  const char *entered = twin(name, false);
  if (entered != NULL)
    renameat(scratch->directory, entered, scratch->directory, "outside/moved");
}

static void a_directory_that_is_moved_ends_the_walk(void **state) {
  const struct scratch *scratch = *state;
  make_twins(scratch->directory);
  assert_int_equal(remove_while(scratch, move_outside), -1);
  assert_int_equal(err.kind, ERR_CONFLICT);
  assert_outside_is_whole(scratch->directory);
  assert_int_equal(fs_remove_tree(scratch->directory, "tree", &err), 0);
}

static int refills;

static void refill(const struct scratch *scratch, const char *name) {
  if (strcmp(name, "tree") == 0 && refills-- > 0)
    close(openat(scratch->directory, "tree/new", O_WRONLY | O_CREAT, 0600));
}

static void what_is_added_meanwhile_goes_too(void **state) {
  const struct scratch *scratch = *state;
  make_twins(scratch->directory);
  refills = 4;
  assert_int_equal(remove_while(scratch, refill), 0);
  assert_false(scratch_has(scratch->directory, "tree"));
  scratch_mkdir(scratch->directory, "tree");
  refills = 1000000;
  assert_int_equal(remove_while(scratch, refill), -1);
  assert_string_equal(err.text, "cannot remove \"tree\": Directory not empty");
}

/* Runs `action` in a process and a mount namespace of its own, where mounts end
 * with it. It returns 0 when all is right and 77 when mounts are impossible. */
static void with_mounts(const struct scratch *scratch,
                        int (*action)(const struct scratch *scratch)) {
  pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWNS) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
      _exit(77);
    /* The descriptor of the setup belongs to the old namespace. */
    struct scratch inner = *scratch;
    inner.directory = open(scratch->path, O_RDONLY | O_DIRECTORY);
    _exit(action(&inner));
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) {
    print_message("skipped: this host lets nobody mount\n");
    skip();
  }
  assert_int_equal(WEXITSTATUS(status), 0);
}

static int mount_outside_on(const struct scratch *scratch, const char *path) {
  char from[128], to[128];
  snprintf(from, sizeof from, "%s/outside", scratch->path);
  snprintf(to, sizeof to, "%s/%s", scratch->path, path);
  return mount(from, to, NULL, MS_BIND, NULL);
}

static int remove_around_a_mount(const struct scratch *scratch) {
  int top = scratch->directory;
  if (mount_outside_on(scratch, "tree/mount") != 0)
    return 77;
  if (fs_remove_tree(top, "tree", &err) != -1)
    return 1;
  bool whole =
      scratch_has(top, "tree/mount/a/file") && scratch_has(top, "tree/mount/b");
  return whole && !scratch_has(top, "tree/a") && !scratch_has(top, "tree/b")
             ? 0
             : 2;
}

static void a_mount_stays_and_the_rest_goes(void **state) {
  const struct scratch *scratch = *state;
  make_twins(scratch->directory);
  scratch_mkdir(scratch->directory, "tree/mount");
  with_mounts(scratch, remove_around_a_mount);
  assert_outside_is_whole(scratch->directory);
}

static void mount_on_the_waiting(const struct scratch *scratch,
                                 const char *name) {
  const char *waiting = twin(name, true);
  if (waiting != NULL && mount_outside_on(scratch, waiting) != 0)
    _exit(77);
}

static int remove_while_mounting(const struct scratch *scratch) {
  return remove_while(scratch, mount_on_the_waiting) == -1 ? 0 : 1;
}

static void a_mount_that_appears_is_not_crossed(void **state) {
  const struct scratch *scratch = *state;
  make_twins(scratch->directory);
  with_mounts(scratch, remove_while_mounting);
  assert_outside_is_whole(scratch->directory);
}

struct adversary {
  int top;
  atomic_bool stop;
  atomic_long moves;
};

/* Swaps tree/d with a symlink to "outside", and moves tree/e/f to "outside",
 * as fast as it can. */
static void *swap_without_pause(void *argument) {
  struct adversary *adversary = argument;
  int top = adversary->top;
  while (!adversary->stop) {
    int swapped = renameat2(top, "tree/d", top, "link", RENAME_EXCHANGE);
    int moved = renameat2(top, "tree/e/f", top, "outside/f", 0);
    if (swapped == 0)
      renameat2(top, "tree/d", top, "link", RENAME_EXCHANGE);
    if (moved == 0)
      renameat2(top, "outside/f", top, "tree/e/f", 0);
    adversary->moves += swapped == 0 || moved == 0;
  }
  return NULL;
}

/* A walk that follows the symlink, or that comes back up in "outside", finds
 * there a name that it is about to remove: "kept". tmpfs lists the newest first
 * and the walk enters the last listed first: so "d" waits while "e" is emptied,
 * and "e/kept" while "e/f" is. */
static void fill_tree(int top) {
  static const char *const directories[] = {
      "tree", "tree/e", "tree/e/f", "tree/e/kept", "tree/d", "tree/d/kept"};
  for (size_t i = 0; i < sizeof directories / sizeof directories[0]; i++)
    mkdirat(top, directories[i], 0755);
  close(openat(top, "tree/d/kept/file", O_WRONLY | O_CREAT, 0644));
  close(openat(top, "tree/e/kept/file", O_WRONLY | O_CREAT, 0644));
  for (int i = 0; i < 20; i++) {
    char path[64];
    snprintf(path, sizeof path, "tree/e/f/%d", i);
    close(openat(top, path, O_WRONLY | O_CREAT, 0644));
  }
}

static void an_adversary_cannot_lead_the_walk_outside(void **state) {
  const struct scratch *scratch = *state;
  struct adversary adversary = {.top = scratch->directory};
  char outside[128];
  snprintf(outside, sizeof outside, "%s/outside", scratch->path);
  scratch_mkdir(adversary.top, "outside");
  scratch_mkdir(adversary.top, "outside/kept");
  scratch_file(adversary.top, "outside/kept/file", "x");
  assert_int_equal(symlinkat(outside, adversary.top, "link"), 0);
  pthread_t thread;
  pthread_create(&thread, NULL, swap_without_pause, &adversary);
  bool kept = true;
  for (int i = 0; kept && (i < 500 || adversary.moves < 100); i++) {
    fill_tree(adversary.top);
    fs_remove_tree(adversary.top, "tree", &err);
    kept = scratch_has(adversary.top, "outside/kept/file");
  }
  adversary.stop = true;
  pthread_join(thread, NULL);
  assert_true(kept);
  assert_int_equal(fs_remove_tree(adversary.top, "tree", &err), 0);
}

int main(void) {
#define IN_SCRATCH(test)                                                       \
  cmocka_unit_test_setup_teardown(test, scratch_make, scratch_remove)
  const struct CMUnitTest tests[] = {
      IN_SCRATCH(a_symlink_that_appears_is_not_followed),
      IN_SCRATCH(a_directory_that_is_moved_ends_the_walk),
      IN_SCRATCH(what_is_added_meanwhile_goes_too),
      IN_SCRATCH(a_mount_stays_and_the_rest_goes),
      IN_SCRATCH(a_mount_that_appears_is_not_crossed),
      cmocka_unit_test_setup_teardown(an_adversary_cannot_lead_the_walk_outside,
                                      scratch_make_fast, scratch_remove),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
