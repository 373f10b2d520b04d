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

static void a_python_program_starts_through_the_script(void **state) {
  (void)state;
  static const struct {
    const char *argv[7], *expected;
  } cases[] = {
      {{"/usr/bin/python3", "-m", "ipykernel_launcher", "-f", "c"},
       "/usr/bin/python3 /s.py ipykernel_launcher -f c "},
      {{"python", "-X", "dev", "-B", "-m", "bash_kernel"},
       "python -X dev -B /s.py bash_kernel "},
      {{"python3", "kernel.py", "-m", "x"}, NULL},
      {{"python3", "-c", "-m", "x"}, NULL},
      {{"python3", "-m"}, NULL},
      {{"python3", "-X"}, NULL},
      {{"R", "-m", "x"}, NULL},
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    CLEANUP(environment_done) char **environment = build("null", NULL, "null");
    char *argv[8] = {0};
    for (size_t j = 0; cases[i].argv[j] != NULL; j++)
      argv[j] = mem_copy_text(cases[i].argv[j]);
    assert_int_equal(profile_isolate("/s.py", "/private", argv, &environment),
                     cases[i].expected != NULL);
    CLEANUP(buf_free) struct buf words = BUF_INIT(BUF_LINE);
    for (size_t j = 0; argv[j] != NULL; j++) {
      buf_format(&words, "%s ", argv[j]);
      free(argv[j]);
    }
    const char *base = value_of(environment, "PYTHONUSERBASE");
    if (cases[i].expected == NULL) {
      assert_null(base);
      continue;
    }
    assert_string_equal(buf_string(&words), cases[i].expected);
    assert_string_equal(base, "/private/cellpost-none");
  }
  char *argv[] = {mem_copy_text("python3"), mem_copy_text("-m"),
                  mem_copy_text("k"), NULL};
  CLEANUP(environment_done)
  char **environment = build("null", "PYTHONUSERBASE=/mine", "null");
  assert_true(profile_isolate("/s.py", "/private", argv, &environment));
  assert_string_equal(value_of(environment, "PYTHONUSERBASE"), "/mine");
  for (size_t i = 0; argv[i] != NULL; i++)
    free(argv[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_of_ours_is_inherited),
      cmocka_unit_test(later_ones_win),
      cmocka_unit_test(variables_are_substituted_in_the_kernelspec_only),
      cmocka_unit_test(what_is_no_variable_is_left_out),
      cmocka_unit_test(only_ipykernel_gets_its_history_switched_off),
      cmocka_unit_test(a_python_program_starts_through_the_script),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
