/* fs_remove_tree against trees that were made to resist it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <limits.h>
#include <sys/resource.h>

#include "scratch.h"

static struct err err;

static void a_tree_goes_and_its_neighbours_stay(void **state) {
  const struct scratch *scratch = *state;
  int top = scratch->directory;
  scratch_mkdir(top, "tree");
  scratch_mkdir(top, "tree/a");
  scratch_mkdir(top, "tree/a/b");
  scratch_mkdir(top, "tree/empty");
  scratch_mkdir(top, "outside");
  scratch_file(top, "tree/a/b/file", "x");
  scratch_file(top, "outside/file", "x");
  assert_int_equal(symlinkat("../outside", top, "tree/to-directory"), 0);
  assert_int_equal(symlinkat("../outside/file", top, "tree/a/to-file"), 0);
  assert_int_equal(symlinkat("nowhere", top, "tree/dangling"), 0);
  assert_int_equal(mkfifoat(top, "tree/fifo", 0600), 0);
  assert_int_equal(fs_remove_tree(top, "tree", &err), 0);
  assert_false(scratch_has(top, "tree"));
  assert_true(scratch_has(top, "outside/file"));
}

static void files_links_and_nothing_go_too(void **state) {
  const struct scratch *scratch = *state;
  int top = scratch->directory;
  scratch_file(top, "file", "x");
  scratch_mkdir(top, "kept");
  scratch_file(top, "kept/file", "x");
  assert_int_equal(symlinkat("kept", top, "link"), 0);
  assert_int_equal(fs_remove_tree(top, "file", &err), 0);
  assert_int_equal(fs_remove_tree(top, "link", &err), 0);
  assert_int_equal(fs_remove_tree(top, "file", &err), 0);
  assert_int_equal(fs_remove_tree(top, "no/such/path", &err), 0);
  assert_false(scratch_has(top, "file"));
  assert_false(scratch_has(top, "link"));
  assert_int_equal(fs_remove_tree(top, "kept/file", &err), 0);
  assert_true(scratch_has(top, "kept"));
  assert_false(scratch_has(top, "kept/file"));
}

static void what_leads_outside_is_refused(void **state) {
  const struct scratch *scratch = *state;
  int top = scratch->directory;
  scratch_mkdir(top, "in");
  scratch_file(top, "file", "x");
  assert_int_equal(symlinkat(".", top, "in/up"), 0);
  int in = fs_open_beneath(top, "in", O_RDONLY | O_DIRECTORY, 0, &err);
  assert_int_equal(symlinkat("..", in, "out"), 0);
  static const char *const paths[] = {".",       "..",     "",        "a/",
                                      "../file", "/x/tmp", "out/file"};
  for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
    assert_int_equal(fs_remove_tree(in, paths[i], &err), -1);
    assert_true(err.kind == ERR_INVALID || err.kind == ERR_DENIED);
  }
  close(in);
  assert_true(scratch_has(top, "file"));
}

static void hostile_names_go(void **state) {
  const struct scratch *scratch = *state;
  int top = scratch->directory;
  char longest[NAME_MAX + 1];
  memset(longest, '\xff', sizeof longest);
  longest[NAME_MAX] = '\0';
  const char *const names[] = {"-rf",  "*",     "...",  " ",     "a\nb",
                               "\x1b", "%s%n",  "~",    "\\",    "\"'`$(x)",
                               "\xc0", "\x01x", "..\n", longest, ". "};
  scratch_mkdir(top, "tree");
  int tree = openat(top, "tree", O_RDONLY | O_DIRECTORY);
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    scratch_mkdir(tree, names[i]);
    int inner = openat(tree, names[i], O_RDONLY | O_DIRECTORY);
    for (size_t j = 0; j < sizeof names / sizeof names[0]; j++)
      scratch_file(inner, names[j], "x");
    close(inner);
  }
  close(tree);
  assert_int_equal(fs_remove_tree(top, "tree", &err), 0);
  assert_int_equal(scratch_count(scratch), 0);
}

/* Each level also holds a file on either side of the next level's name. */
static void make_deep(int top, int depth) {
  int current = dup(top);
  for (int i = 0; i < depth; i++) {
    assert_int_equal(mkdirat(current, "level", 0755), 0);
    scratch_file(current, "a", "");
    scratch_file(current, "z", "");
    int next = openat(current, "level", O_RDONLY | O_DIRECTORY);
    assert_true(next >= 0);
    close(current);
    current = next;
  }
  close(current);
}

static void ten_thousand_levels_take_few_descriptors(void **state) {
  const struct scratch *scratch = *state;
  scratch_mkdir(scratch->directory, "tree");
  int tree = openat(scratch->directory, "tree", O_RDONLY | O_DIRECTORY);
  make_deep(tree, 10000);
  close(tree);
  struct rlimit before, few;
  getrlimit(RLIMIT_NOFILE, &before);
  int free_descriptor = dup(0);
  close(free_descriptor);
  few = before;
  few.rlim_cur = (rlim_t)free_descriptor + 4;
  setrlimit(RLIMIT_NOFILE, &few);
  int result = fs_remove_tree(scratch->directory, "tree", &err);
  setrlimit(RLIMIT_NOFILE, &before);
  assert_int_equal(result, 0);
  assert_int_equal(scratch_count(scratch), 0);
  int after = dup(0);
  assert_int_equal(after, free_descriptor);
  close(after);
}

static void a_wide_tree_goes(void **state) {
  const struct scratch *scratch = *state;
  scratch_mkdir(scratch->directory, "tree");
  int tree = openat(scratch->directory, "tree", O_RDONLY | O_DIRECTORY);
  for (int i = 0; i < 3000; i++) {
    char name[32];
    snprintf(name, sizeof name, "%d", i);
    scratch_mkdir(tree, name);
    snprintf(name, sizeof name, "%d/file", i);
    scratch_file(tree, name, "");
  }
  close(tree);
  assert_int_equal(fs_remove_tree(scratch->directory, "tree", &err), 0);
  assert_int_equal(scratch_count(scratch), 0);
}

/* As an ordinary user: to root no mode forbids anything. */
static void forbidding_modes_are_overcome(void **state) {
  const struct scratch *scratch = *state;
  const uid_t nobody = 65534;
  bool root = geteuid() == 0;
  if (root) {
    assert_int_equal(chown(scratch->path, nobody, (gid_t)-1), 0);
    assert_int_equal(seteuid(nobody), 0);
  }
  int top = scratch->directory;
  static const mode_t modes[] = {0, 0100, 0200, 0400, 0500, 0600};
  scratch_mkdir(top, "tree");
  for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
    char path[64];
    snprintf(path, sizeof path, "tree/%zu", i);
    scratch_mkdir(top, path);
    snprintf(path, sizeof path, "tree/%zu/inner", i);
    scratch_mkdir(top, path);
    snprintf(path, sizeof path, "tree/%zu/inner/file", i);
    scratch_file(top, path, "x");
    snprintf(path, sizeof path, "tree/%zu/inner", i);
    assert_int_equal(fchmodat(top, path, modes[i], 0), 0);
    snprintf(path, sizeof path, "tree/%zu", i);
    assert_int_equal(fchmodat(top, path, modes[i], 0), 0);
  }
  assert_int_equal(fchmodat(top, "tree", 0, 0), 0);
  err_clear(&err);
  int result = fs_remove_tree(top, "tree", &err);
  if (root)
    assert_int_equal(seteuid(0), 0);
  assert_string_equal(err.text, "");
  assert_int_equal(result, 0);
  assert_int_equal(scratch_count(scratch), 0);
}

static void what_belongs_to_others_is_reported(void **state) {
  const struct scratch *scratch = *state;
  if (geteuid() != 0) {
    print_message("skipped: making another user's files needs root\n");
    skip();
  }
  int top = scratch->directory;
  scratch_mkdir(top, "tree");
  scratch_mkdir(top, "tree/theirs");
  scratch_file(top, "tree/theirs/file", "x");
  scratch_mkdir(top, "tree/ours");
  scratch_file(top, "tree/ours/file", "x");
  const uid_t nobody = 65534;
  assert_int_equal(fchownat(top, "tree", nobody, (gid_t)-1, 0), 0);
  assert_int_equal(fchownat(top, "tree/ours", nobody, (gid_t)-1, 0), 0);
  assert_int_equal(chown(scratch->path, nobody, (gid_t)-1), 0);
  assert_int_equal(seteuid(nobody), 0);
  int result = fs_remove_tree(top, "tree", &err);
  assert_int_equal(seteuid(0), 0);
  assert_int_equal(result, -1);
  assert_int_equal(err.kind, ERR_DENIED);
  assert_string_equal(err.text, "cannot remove \"file\": Permission denied");
  assert_true(scratch_has(top, "tree/theirs/file"));
  assert_false(scratch_has(top, "tree/ours"));
}

int main(void) {
#define IN_SCRATCH(test)                                                       \
  cmocka_unit_test_setup_teardown(test, scratch_make, scratch_remove)
#define IN_FAST_SCRATCH(test)                                                  \
  cmocka_unit_test_setup_teardown(test, scratch_make_fast, scratch_remove)
  const struct CMUnitTest tests[] = {
      IN_SCRATCH(a_tree_goes_and_its_neighbours_stay),
      IN_SCRATCH(files_links_and_nothing_go_too),
      IN_SCRATCH(what_leads_outside_is_refused),
      IN_SCRATCH(hostile_names_go),
      IN_FAST_SCRATCH(ten_thousand_levels_take_few_descriptors),
      IN_FAST_SCRATCH(a_wide_tree_goes),
      IN_SCRATCH(forbidding_modes_are_overcome),
      IN_SCRATCH(what_belongs_to_others_is_reported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
