/* The keeper's decisions without processes: environment, arguments, endings,
 * idleness, the log's order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/json/json.h"
#include "core/jupyter/kernelspec.h"
#include "core/keeper/cull.h"
#include "core/keeper/ending.h"
#include "core/keeper/environment.h"
#include "core/keeper/launch.h"
#include "core/process/log_ring.h"

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
  char **argv = launch_arguments(spec, "/c.json");
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

static void endings_are_told_in_words(void **state) {
  (void)state;
  struct exit_record exited = {.exit_code = 7};
  struct exit_record killed = {.exit_code = -1, .signal = 9};
  struct exit_record crashed = {.exit_code = -1, .signal = 6};
  struct exit_record odd = {.exit_code = -1, .signal = 40};
  struct ending ending = ending_of(KERNEL_END_NONE, "", &exited);
  assert_int_equal(ending.end, KERNEL_END_EXIT);
  assert_int_equal(ending.exit_code, 7);
  assert_string_equal(ending.reason, "It ended by itself with exit code 7.");
  ending = ending_of(KERNEL_END_NONE, "", &killed);
  assert_int_equal(ending.end, KERNEL_END_SIGNAL);
  assert_int_equal(ending.exit_code, -1);
  assert_int_equal(ending.signal, 9);
  ending = ending_of(KERNEL_END_NONE, "", &crashed);
  assert_string_equal(ending.reason,
                      "It crashed: signal 6 (SIGABRT, Aborted).");
  ending = ending_of(KERNEL_END_NONE, "", &odd);
  assert_int_equal(ending.signal, 40);
  ending = ending_of(KERNEL_END_NONE, "", NULL);
  assert_int_equal(ending.end, KERNEL_END_VANISHED);
  assert_int_equal(ending.exit_code, -1);
}

static void who_asked_overrides_the_record(void **state) {
  (void)state;
  struct exit_record killed = {.exit_code = -1, .signal = 15};
  struct ending ending = ending_of(KERNEL_END_STOPPED, "Enough.", &killed);
  assert_int_equal(ending.end, KERNEL_END_STOPPED);
  assert_int_equal(ending.signal, 15);
  assert_string_equal(ending.reason, "Enough.");
  ending = ending_of(KERNEL_END_CULLED, "", NULL);
  assert_string_equal(ending.reason, "It was unused for too long.");
}

static void only_some_ends_can_be_asked_for(void **state) {
  (void)state;
  assert_int_equal(ending_parse("stopped"), KERNEL_END_STOPPED);
  assert_int_equal(ending_parse("start"), KERNEL_END_START);
  assert_int_equal(ending_parse("exit"), KERNEL_END_NONE);
  assert_int_equal(ending_parse("oom"), KERNEL_END_NONE);
  assert_int_equal(ending_parse(""), KERNEL_END_NONE);
}

static void idle_is_counted_from_the_last_use(void **state) {
  (void)state;
  assert_false(cull_is_idle(1000000, 0, 3000000, 2.0));
  assert_true(cull_is_idle(1000000, 0, 3000001, 2.0));
  assert_false(cull_is_idle(1000000, 2000000, 3000001, 2.0));
  assert_true(cull_is_idle(1000000, 2000000, 4000001, 2.0));
  assert_false(cull_is_idle(9000000, 2000000, 4000001, 2.0));
  assert_int_equal(cull_interval_ns(3600), 5 * CLOCK_S);
  assert_int_equal(cull_interval_ns(4), CLOCK_S);
  assert_int_equal(cull_interval_ns(0.01), CLOCK_S / 10);
}

/* The log holds the end of what was written, whatever the pieces. */
static void the_ring_keeps_the_end(void **state) {
  (void)state;
  static char written[5 * LOG_RING_FILE];
  for (size_t i = 0; i < sizeof written; i++)
    written[i] = (char)('a' + i * 7 % 26);
  static const size_t pieces[] = {1000, LOG_RING_FILE, LOG_RING_FILE + 1,
                                  3 * LOG_RING_FILE};
  for (size_t i = 0; i < COUNT_OF(pieces); i++) {
    char path[] = "/tmp/cellpost-test-XXXXXX";
    assert_non_null(mkdtemp(path));
    CLEANUP(mem_close_descriptor)
    int directory = open(path, O_RDONLY | O_DIRECTORY);
    struct log_ring ring;
    assert_int_equal(log_ring_open(directory, &ring, NULL), 0);
    for (size_t at = 0; at < sizeof written; at += pieces[i]) {
      size_t left = sizeof written - at;
      log_ring_write(&ring, written + at, left < pieces[i] ? left : pieces[i]);
      CLEANUP(buf_free) struct buf text = BUF_INIT(2 * LOG_RING_FILE);
      assert_int_equal(log_ring_read(directory, &text), 0);
      size_t done = at + (left < pieces[i] ? left : pieces[i]);
      assert_true(text.length == done || text.length >= LOG_RING_FILE);
      assert_memory_equal(text.data, written + done - text.length, text.length);
    }
    log_ring_close(&ring);
    unlinkat(directory, "log.0", 0);
    unlinkat(directory, "log.1", 0);
    rmdir(path);
  }
}

static void a_tail_is_text(void **state) {
  (void)state;
  char path[] = "/tmp/cellpost-test-XXXXXX", tail[16];
  assert_non_null(mkdtemp(path));
  CLEANUP(mem_close_descriptor)
  int directory = open(path, O_RDONLY | O_DIRECTORY);
  log_ring_tail(directory, tail, sizeof tail);
  assert_string_equal(tail, "");
  struct log_ring ring;
  assert_int_equal(log_ring_open(directory, &ring, NULL), 0);
  log_ring_write(&ring, "a\0b\xff", 4);
  log_ring_tail(directory, tail, sizeof tail);
  assert_string_equal(tail, "a b\xef\xbf\xbd");
  log_ring_write(&ring,
                 "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2"
                 "\x82\xac!",
                 16);
  log_ring_tail(directory, tail, sizeof tail);
  assert_string_equal(tail,
                      "\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac!");
  log_ring_close(&ring);
  unlinkat(directory, "log.0", 0);
  unlinkat(directory, "log.1", 0);
  rmdir(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_of_ours_is_inherited),
      cmocka_unit_test(later_ones_win),
      cmocka_unit_test(variables_are_substituted_in_the_kernelspec_only),
      cmocka_unit_test(what_is_no_variable_is_left_out),
      cmocka_unit_test(only_ipykernel_gets_its_history_switched_off),
      cmocka_unit_test(endings_are_told_in_words),
      cmocka_unit_test(who_asked_overrides_the_record),
      cmocka_unit_test(only_some_ends_can_be_asked_for),
      cmocka_unit_test(idle_is_counted_from_the_last_use),
      cmocka_unit_test(the_ring_keeps_the_end),
      cmocka_unit_test(a_tail_is_text),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
