/* Kernelspecs: where they are looked for and what they may say. Every test has
 * a home of its own in a temporary directory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/jupyter/kernelspec.h"

static char home[] = "/tmp/test-kernelspec-XXXXXX";
static int home_directory;

static int make_home(void **state) {
  (void)state;
  strcpy(home + strlen(home) - 6, "XXXXXX");
  if (mkdtemp(home) == NULL)
    return -1;
  home_directory = fs_open_directory(home, NULL);
  setenv("HOME", home, 1);
  unsetenv("JUPYTER_PATH");
  unsetenv("JUPYTER_DATA_DIR");
  return 0;
}

static int remove_home(void **state) {
  (void)state;
  close(home_directory);
  int root = fs_open_directory("/tmp", NULL);
  int result = fs_remove_tree(root, strrchr(home, '/') + 1, NULL);
  close(root);
  return result;
}

/* home/beneath/kernel.json with that text. */
static void install(const char *beneath, const char *text) {
  CLEANUP(mem_free_pointer) char *path = mem_format("%s/%s", home, beneath);
  assert_int_equal(fs_make_directories(path, 0755, NULL), 0);
  CLEANUP(mem_close_descriptor) int directory = fs_open_directory(path, NULL);
  struct iovec part = {(void *)(uintptr_t)text, strlen(text)};
  assert_int_equal(fs_write_atomic(directory, "kernel.json", 0644, &part, 1,
                                   FS_SYNC_NONE, NULL),
                   0);
}

static void install_named(const char *beneath, const char *display_name) {
  CLEANUP(mem_free_pointer)
  char *text = mem_format("{\"argv\":[\"/bin/x\"],\"display_name\":\"%s\","
                          "\"language\":\"l\"}",
                          display_name);
  install(beneath, text);
}

static void expect_found(const char *extra, const char *name,
                         const char *display_name) {
  CLEANUP(kernelspec_done) struct kernelspec *spec = NULL;
  struct err err = {0};
  if (kernelspec_find(extra, name, &spec, &err) < 0)
    fail_msg("%s", err.text);
  assert_string_equal(spec->display_name, display_name);
}

static void places_are_searched_in_order(void **state) {
  (void)state;
  CLEANUP(mem_free_pointer) char *extra = mem_format("%s/e1:%s/e2", home, home);
  CLEANUP(mem_free_pointer)
  char *path = mem_format("%s/none:%s/p1:%s/p2", home, home, home);
  CLEANUP(mem_free_pointer) char *data = mem_format("%s/data", home);
  install_named(".ipython/kernels/k", "ipython");
  expect_found(NULL, "k", "ipython");
  install_named(".local/share/jupyter/kernels/k", "user");
  expect_found(NULL, "k", "user");
  setenv("JUPYTER_DATA_DIR", data, 1);
  expect_found(NULL, "k", "ipython"); /* it replaces the user's place */
  install_named("data/kernels/k", "data");
  expect_found(NULL, "k", "data");
  setenv("JUPYTER_PATH", path, 1);
  install_named("p2/kernels/k", "second path");
  expect_found(NULL, "k", "second path");
  install_named("p1/kernels/k", "first path");
  expect_found(NULL, "k", "first path");
  install_named("e2/k", "second extra");
  expect_found(extra, "k", "second extra");
  install_named("e1/k", "first extra");
  expect_found(extra, "k", "first extra");
}

static void names_are_compared_in_lower_case(void **state) {
  (void)state;
  install_named(".ipython/kernels/MyKernel", "mine");
  expect_found(NULL, "mykernel", "mine");
  expect_found(NULL, "MYKERNEL", "mine");
  CLEANUP(kernelspec_done) struct kernelspec *spec = NULL;
  assert_int_equal(kernelspec_find(NULL, "MyKernel", &spec, NULL), 0);
  assert_string_equal(spec->name, "mykernel");
  CLEANUP(mem_free_pointer)
  char *directory = mem_format("%s/.ipython/kernels/MyKernel", home);
  assert_string_equal(spec->directory, directory);
}

static void an_unknown_name_is_told_what_exists(void **state) {
  (void)state;
  install_named(".ipython/kernels/one-kernel", "1");
  static const char *const names[] = {"nope",          "",           "..",
                                      "../one-kernel", "one/kernel", "a\nb"};
  for (size_t i = 0; i < COUNT_OF(names); i++) {
    struct kernelspec *spec = NULL;
    struct err err = {0};
    assert_int_equal(kernelspec_find(NULL, names[i], &spec, &err), -1);
    assert_int_equal(err.kind, ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, "one-kernel"));
    assert_null(strchr(err.text, '\n'));
    assert_null(spec);
  }
}

static const struct kernelspec *find_in(struct kernelspec **list, size_t count,
                                        const char *name) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(list[i]->name, name) == 0)
      return list[i];
  return NULL;
}

static void the_list_is_sorted_and_leaves_out_what_is_broken(void **state) {
  (void)state;
  install_named(".ipython/kernels/zz", "z");
  install_named(".ipython/kernels/aa", "a");
  install_named(".ipython/kernels/with space", "no name");
  install(".ipython/kernels/broken", "{");
  install(".ipython/kernels/empty", "");
  CLEANUP(mem_free_pointer)
  char *without = mem_format("%s/.ipython/kernels/without", home);
  assert_int_equal(mkdir(without, 0755), 0);
  struct kernelspec **list = NULL;
  size_t count = 0;
  assert_int_equal(kernelspec_list(NULL, &list, &count, NULL), 0);
  for (size_t i = 1; i < count; i++)
    assert_true(strcmp(list[i - 1]->name, list[i]->name) < 0);
  assert_non_null(find_in(list, count, "zz"));
  assert_non_null(find_in(list, count, "aa"));
  static const char *const absent[] = {"with space", "broken", "empty",
                                       "without"};
  for (size_t i = 0; i < COUNT_OF(absent); i++)
    assert_null(find_in(list, count, absent[i]));
  kernelspec_free_list(list, count);
  struct kernelspec *spec = NULL;
  struct err err = {0};
  assert_int_equal(kernelspec_find(NULL, "broken", &spec, &err), -1);
  assert_int_equal(err.kind, ERR_INVALID);
  assert_non_null(strstr(err.text, "broken/kernel.json"));
}

static void symbolic_links_are_followed(void **state) {
  (void)state;
  install_named("elsewhere/k", "linked");
  install_named(".ipython/kernels/other", "other");
  CLEANUP(mem_free_pointer) char *target = mem_format("%s/elsewhere/k", home);
  CLEANUP(mem_free_pointer)
  char *link = mem_format("%s/.ipython/kernels/k", home);
  assert_int_equal(symlink(target, link), 0);
  expect_found(NULL, "k", "linked");
}

static struct kernelspec *parse(const char *text, struct err *err) {
  struct kernelspec *spec = NULL;
  int result = kernelspec_parse(text, strlen(text), "name", "/dir", &spec, err);
  assert_int_equal(result, spec == NULL ? -1 : 0);
  return spec;
}

static void defaults_fill_what_is_missing(void **state) {
  (void)state;
  CLEANUP(kernelspec_done)
  struct kernelspec *spec =
      parse("{\"argv\":[\"r\"],\"env\":null,\"unknown\":1}", NULL);
  assert_non_null(spec);
  assert_string_equal(spec->display_name, "name");
  assert_string_equal(spec->language, "");
  assert_int_equal(json_kind(spec->env), JSON_OBJECT);
  assert_int_equal(json_kind(spec->metadata), JSON_OBJECT);
  assert_false(spec->interrupt_by_message);
  assert_null(spec->argv[1]);
}

static void everything_is_read(void **state) {
  (void)state;
  CLEANUP(kernelspec_done)
  struct kernelspec *spec =
      parse("{\"argv\":[\"r\",\"-f\"],\"env\":{\"A\":\"b\"},\"language\":\"R\","
            "\"metadata\":{\"x\":1},\"interrupt_mode\":\"message\"}",
            NULL);
  assert_non_null(spec);
  assert_string_equal(spec->argv[1], "-f");
  assert_string_equal(spec->language, "R");
  assert_string_equal(json_get_text(spec->env, "A"), "b");
  assert_int_equal(json_get_integer(spec->metadata, "x", 0), 1);
  assert_true(spec->interrupt_by_message);
}

static void faults_are_named(void **state) {
  (void)state;
  static const struct {
    const char *text, *named;
  } faults[] = {
      {"[]", "object"},
      {"{", "kernel.json"},
      {"{}", "argv"},
      {"{\"argv\":[]}", "argv"},
      {"{\"argv\":\"x\"}", "argv"},
      {"{\"argv\":[\"\"]}", "argv"},
      {"{\"argv\":[\"x\",1]}", "argv"},
      {"{\"argv\":[\"x\\u0000y\"]}", "argv"},
      {"{\"argv\":[\"x\"],\"env\":[]}", "env"},
      {"{\"argv\":[\"x\"],\"env\":{\"A\":1}}", "env"},
      {"{\"argv\":[\"x\"],\"env\":{\"A=B\":\"1\"}}", "env"},
      {"{\"argv\":[\"x\"],\"metadata\":3}", "metadata"},
      {"{\"argv\":[\"x\"],\"language\":3}", "language"},
      {"{\"argv\":[\"x\"],\"display_name\":[]}", "display_name"},
      {"{\"argv\":[\"x\"],\"interrupt_mode\":\"shout\"}", "interrupt_mode"},
  };
  for (size_t i = 0; i < COUNT_OF(faults); i++) {
    struct err err = {0};
    assert_null(parse(faults[i].text, &err));
    assert_int_equal(err.kind, ERR_INVALID);
    if (strstr(err.text, faults[i].named) == NULL)
      fail_msg("%s: \"%s\"", faults[i].text, err.text);
  }
}

static void templates_are_filled_in(void **state) {
  (void)state;
  static const char text[] =
      "{\"argv\":[\"{prefix}/bin/x\",\"-f={connection_file}!\",\"{resource_dir}"
      "/k.py\",\"{other} {\",\"~/x\",\"~\",\"a~/b\",\"~x\","
      "\"{connection_file}{connection_file}\"]}";
  CLEANUP(kernelspec_done) struct kernelspec *spec = NULL;
  assert_int_equal(kernelspec_parse(text, sizeof text - 1, "k",
                                    "/opt/v/share/jupyter/kernels/k", &spec,
                                    NULL),
                   0);
  char **argv = kernelspec_expand_argv(spec, "/run/c.json");
  assert_string_equal(argv[0], "/opt/v/bin/x");
  assert_string_equal(argv[1], "-f=/run/c.json!");
  assert_string_equal(argv[2], "/opt/v/share/jupyter/kernels/k/k.py");
  assert_string_equal(argv[3], "{other} {");
  CLEANUP(mem_free_pointer) char *in_home = mem_format("%s/x", home);
  assert_string_equal(argv[4], in_home);
  assert_string_equal(argv[5], home);
  assert_string_equal(argv[6], "a~/b");
  assert_string_equal(argv[7], "~x");
  assert_string_equal(argv[8], "/run/c.json/run/c.json");
  assert_null(argv[9]);
  kernelspec_free_argv(argv);
}

static void the_prefix_is_usr_elsewhere(void **state) {
  (void)state;
  CLEANUP(kernelspec_done)
  struct kernelspec *spec = parse("{\"argv\":[\"{prefix}\"]}", NULL);
  assert_non_null(spec);
  char **argv = kernelspec_expand_argv(spec, "c");
  assert_string_equal(argv[0], "/usr");
  kernelspec_free_argv(argv);
}

static char *program_of(const char *directory, const char *program,
                        const char *more) {
  CLEANUP(mem_free_pointer)
  char *text = mem_format("{\"argv\":[\"%s\",\"-m\",\"k\"]%s}", program, more);
  CLEANUP(kernelspec_done) struct kernelspec *spec = NULL;
  assert_int_equal(
      kernelspec_parse(text, strlen(text), "k", directory, &spec, NULL), 0);
  char **argv = kernelspec_expand_argv(spec, "c");
  char *program_found = mem_copy_text(argv[0]);
  kernelspec_free_argv(argv);
  return program_found;
}

/* What pip writes is the interpreter beside the kernelspec. */
static void a_bare_python_is_the_one_beside_the_kernelspec(void **state) {
  (void)state;
  install("v/bin", "");
  CLEANUP(mem_free_pointer) char *python = mem_format("%s/v/bin/python3", home);
  assert_int_equal(symlink("/bin/sh", python), 0);
  CLEANUP(mem_free_pointer)
  char *beside = mem_format("%s/v/share/jupyter/kernels/k", home);
  CLEANUP(mem_free_pointer)
  char *bare = mem_format("%s/w/share/jupyter/kernels/k", home);
  CLEANUP(mem_free_pointer)
  char *user = mem_format("%s/.local/share/jupyter/kernels/k", home);
  CLEANUP(mem_free_pointer) char *missing = mem_format("%s/w/bin/python", home);
  const struct {
    const char *directory, *program, *more, *expected;
  } cases[] = {
      {beside, "python", "", python},
      {beside, "python3", "", python},
      {beside, "python3.11", "", python},
      {beside, "python", ",\"env\":{\"PATH\":\"/x\"}", "python"},
      {beside, "/opt/python", "", "/opt/python"},
      {beside, "pythonic", "", "pythonic"},
      {beside, "bash", "", "bash"},
      {bare, "python", "", missing}, /* and not one of somebody else's */
      {user, "python3", "", "/usr/bin/python3"},
      {"/usr/share/jupyter/kernels/k", "python3", "", "/usr/bin/python3"},
      {"/somewhere/k", "python3", "", "/usr/bin/python3"},
  };
  setenv("PATH", "/nonexistent", 1);
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    CLEANUP(mem_free_pointer)
    char *found =
        program_of(cases[i].directory, cases[i].program, cases[i].more);
    assert_string_equal(found, cases[i].expected);
  }
}

#define IN_HOME(test)                                                          \
  cmocka_unit_test_setup_teardown(test, make_home, remove_home)

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_HOME(places_are_searched_in_order),
      IN_HOME(names_are_compared_in_lower_case),
      IN_HOME(an_unknown_name_is_told_what_exists),
      IN_HOME(the_list_is_sorted_and_leaves_out_what_is_broken),
      IN_HOME(symbolic_links_are_followed),
      cmocka_unit_test(defaults_fill_what_is_missing),
      cmocka_unit_test(everything_is_read),
      cmocka_unit_test(faults_are_named),
      IN_HOME(templates_are_filled_in),
      cmocka_unit_test(the_prefix_is_usr_elsewhere),
      IN_HOME(a_bare_python_is_the_one_beside_the_kernelspec),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
