/* What a kernel is started with: its environment and its arguments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/keeper/kernels/environment.h"
#include "core/keeper/kernels/profile.h"

static struct json *parse(const char *text) {
  struct json *value = NULL;
  struct err err = {0};
  if (json_parse(text, strlen(text), &JSON_RULES_STORE, &value, &err) != 0)
    fail_msg("%s", err.text);
  return value;
}

/* The value of a variable, or NULL; fails when it is there twice. */
static const char *value_of(char **environment, const char *name) {
  const char *found = NULL;
  size_t length = strlen(name);
  for (char **text = environment; *text != NULL; text++) {
    if (strncmp(*text, name, length) != 0 || (*text)[length] != '=')
      continue;
    assert_null(found);
    found = *text + length + 1;
  }
  return found;
}

static char **build(const char *kernelspec, const char *configured,
                    const char *task) {
  struct json *spec = parse(kernelspec), *settings = parse(task);
  struct environment_order order = {.home = "/files",
                                    .user = "somebody",
                                    .private_directory = "/private",
                                    .temporary_directory = "/passing",
                                    .threads = 3,
                                    .kernelspec = spec,
                                    .configured = configured,
                                    .task = settings};
  char **environment = environment_build(&order);
  json_free(spec);
  json_free(settings);
  return environment;
}

static void nothing_of_ours_is_inherited(void **state) {
  (void)state;
  setenv("KEEPERS_OWN_SECRET", "hush", 1);
  CLEANUP(environment_done) char **environment = build("null", NULL, "null");
  assert_null(value_of(environment, "KEEPERS_OWN_SECRET"));
  assert_string_equal(value_of(environment, "HOME"), "/files");
  assert_string_equal(value_of(environment, "USER"), "somebody");
  assert_string_equal(value_of(environment, "PATH"), ENVIRONMENT_PATH);
  assert_string_equal(value_of(environment, "OMP_NUM_THREADS"), "3");
  assert_string_equal(value_of(environment, "IPYTHONDIR"), "/private/ipython");
  assert_string_equal(value_of(environment, "TMPDIR"), "/passing");
  assert_null(value_of(environment, "PYTHONUNBUFFERED"));
}

static void later_ones_win(void **state) {
  (void)state;
  CLEANUP(environment_done)
  char **environment =
      build("{\"A\":\"spec\",\"B\":\"spec\",\"C\":\"spec\",\"HOME\":\"/s\"}",
            "  B=conf\tC=conf EMPTY= EQUALS=a=b ", "{\"C\":\"task\"}");
  assert_string_equal(value_of(environment, "A"), "spec");
  assert_string_equal(value_of(environment, "B"), "conf");
  assert_string_equal(value_of(environment, "C"), "task");
  assert_string_equal(value_of(environment, "HOME"), "/s");
  assert_string_equal(value_of(environment, "EMPTY"), "");
  assert_string_equal(value_of(environment, "EQUALS"), "a=b");
}

static void variables_are_substituted_in_the_kernelspec_only(void **state) {
  (void)state;
  CLEANUP(environment_done)
  char **environment =
      build("{\"PATH\":\"/x:${PATH}:${PATH}\",\"A\":\"${NONE} $ ${ ${} $HOME "
            "${HOME\",\"B\":\"${A1}${HOME}\"}",
            "D=${HOME}", "{\"C\":\"${HOME}\"}");
  assert_string_equal(value_of(environment, "PATH"),
                      "/x:" ENVIRONMENT_PATH ":" ENVIRONMENT_PATH);
  assert_string_equal(value_of(environment, "A"),
                      "${NONE} $ ${ ${} $HOME ${HOME");
  assert_string_equal(value_of(environment, "B"), "${A1}/files");
  assert_string_equal(value_of(environment, "C"), "${HOME}");
  assert_string_equal(value_of(environment, "D"), "${HOME}");
}

static void what_is_no_variable_is_left_out(void **state) {
  (void)state;
  CLEANUP(environment_done)
  char **environment = build("[1]", "",
                             "{\"\":\"x\",\"1A\":\"x\",\"A B\":\"x\","
                             "\"A=B\":\"x\",\"N\":5,\"Z\":\"a\\u0000b\","
                             "\"_ok1\":\"yes\"}");
  assert_string_equal(value_of(environment, "_ok1"), "yes");
  static const char *const wrong[] = {"", "1A", "A B", "A", "N", "Z"};
  for (size_t i = 0; i < COUNT_OF(wrong); i++)
    assert_null(value_of(environment, wrong[i]));
}

static char *last_argument(const char *kernel_json) {
  struct kernelspec *spec = NULL;
  struct err err = {0};
  if (kernelspec_parse(kernel_json, strlen(kernel_json), "x", "/x", &spec,
                       &err) != 0)
    fail_msg("%s", err.text);
  char **argv = profile_arguments(spec, "/c.json");
  size_t count = 0;
  while (argv[count] != NULL)
    count++;
  char *last = mem_copy_text(argv[count - 1]);
  kernelspec_free_argv(argv);
  kernelspec_free(spec);
  return last;
}

static void only_ipykernel_gets_its_history_switched_off(void **state) {
  (void)state;
  static const struct {
    const char *argv, *last;
  } cases[] = {
      {"\"python3\",\"-m\",\"ipykernel_launcher\",\"-f\",\"{connection_file}\"",
       "--HistoryManager.enabled=False"},
      {"\"/opt/p/bin/python\",\"-X\",\"dev\",\"-m\",\"ipykernel\",\"-f\","
       "\"{connection_file}\"",
       "--HistoryManager.enabled=False"},
      {"\"python3\",\"-m\",\"bash_kernel\",\"-f\",\"{connection_file}\"",
       "/c.json"},
      {"\"ipykernel\",\"{connection_file}\"", "/c.json"},
      {"\"R\",\"-e\",\"IRkernel::main()\",\"--args\",\"{connection_file}\"",
       "/c.json"},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    CLEANUP(mem_free_pointer)
    char *json = mem_format("{\"argv\":[%s],\"display_name\":\"x\","
                            "\"language\":\"x\"}",
                            cases[i].argv);
    CLEANUP(mem_free_pointer) char *last = last_argument(json);
    assert_string_equal(last, cases[i].last);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_of_ours_is_inherited),
      cmocka_unit_test(later_ones_win),
      cmocka_unit_test(variables_are_substituted_in_the_kernelspec_only),
      cmocka_unit_test(what_is_no_variable_is_left_out),
      cmocka_unit_test(only_ipykernel_gets_its_history_switched_off),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
