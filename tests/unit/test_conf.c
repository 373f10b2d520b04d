/* cellpost.conf: defaults, what is accepted, what is refused and how. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <stdio.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/conf/conf.h"

static struct err err;

static struct conf *parse(const char *text) {
  struct conf *conf = NULL;
  err_clear(&err);
  if (conf_parse(text, strlen(text), "c.conf", &conf, &err) != 0)
    assert_null(conf);
  return conf;
}

static struct conf *accepted(const char *text) {
  struct conf *conf = parse(text);
  assert_string_equal(err.text, "");
  assert_non_null(conf);
  return conf;
}

static void refused(const char *text, const char *message) {
  assert_null(parse(text));
  assert_string_equal(err.text, message);
  assert_int_equal(err.kind, ERR_INVALID);
}

static void everything_has_a_default(void **state) {
  (void)state;
  struct conf *conf = NULL;
  assert_int_equal(conf_load(NULL, &conf, &err), 0);
  assert_string_equal(conf->listen, "/run/cellpost/fcgi.sock");
  assert_string_equal(conf->hosts, "localhost 127.0.0.1 [::1]");
  assert_int_equal(conf->threads, 256);
  assert_string_equal(conf->user, "www-data");
  assert_true(conf->auto_create);
  assert_string_equal(conf->state_directory, "/var/lib/cellpost");
  assert_string_equal(conf->run_directory, "/run/cellpost");
  assert_int_equal(conf->sync, CONF_SYNC_BACKGROUND);
  assert_string_equal(conf->kernelspec, "python3");
  assert_string_equal(conf->kernelspec_path, "");
  assert_int_equal(conf->max_kernels, 64);
  assert_true(conf->start_timeout == 60 && conf->idle_timeout == 3600);
  assert_true(conf->interrupt_grace == 5 && conf->terminate_grace == 3);
  assert_string_equal(conf->environment, "");
  assert_int_equal(conf->body_bytes, 16 << 20);
  assert_int_equal(conf->code_bytes, 4 << 20);
  assert_true(conf->timeout == 60 && conf->timeout_max == 86400);
  assert_int_equal(conf->queue, 64);
  assert_int_equal(conf->output_bytes, 10 << 20);
  assert_int_equal(conf->output_bytes_hard, 256 << 20);
  assert_int_equal(conf->outputs, 1000);
  assert_int_equal(conf->image_bytes, 10 << 20);
  assert_int_equal(conf->inline_image_bytes, 5 << 20);
  assert_int_equal(conf->text_limit, 12000);
  assert_int_equal(conf->files_scanned, 20000);
  assert_int_equal(conf->files_listed, 200);
  assert_int_equal(conf->memory, INT64_C(2) << 30);
  assert_int_equal(conf->memory_max, INT64_C(16) << 30);
  assert_true(conf->pids == 512 && conf->pids_max == 4096);
  assert_true(conf->cpus == 0 && conf->cpus_max == 0);
  assert_int_equal(conf->workspace_bytes, INT64_C(8) << 30);
  assert_int_equal(conf->workspace_files, 200000);
  assert_int_equal(conf->tmp_bytes, 512 << 20);
  assert_int_equal(conf->open_files, 4096);
  assert_int_equal(conf->file_bytes, INT64_C(8) << 30);
  assert_int_equal(conf->jail, CONF_JAIL_AUTO);
  assert_int_equal(conf->uid_first, 1900000000);
  assert_int_equal(conf->uid_count, 65536);
  assert_string_equal(conf->read_only_paths, "");
  assert_string_equal(conf->cgroup, "auto");
  assert_string_equal(conf->log_level, "info");
  conf_free(conf);
}

static void a_file_overrides_what_it_names(void **state) {
  (void)state;
  struct conf *conf = accepted("\xef\xbb\xbf[server]\r\n"
                               "# threads = 1\r\n"
                               "; threads = 2\r\n"
                               "  threads=8  \r\n"
                               "auto_create : No\n"
                               "\n"
                               "[state]\n"
                               "run_directory = /run/x\n"
                               "\tsync = always\n"
                               "[kernels]\n"
                               "environment = A=1 B_2=x=#y;  C=\n"
                               "kernelspec_path = /a:/b c\n"
                               "[jail]\n"
                               "jail = required\n"
                               "[server]\n"
                               "hosts = caf\xc3\xa9.example");
  assert_int_equal(conf->threads, 8);
  assert_false(conf->auto_create);
  assert_string_equal(conf->run_directory, "/run/x");
  assert_string_equal(conf->listen, "/run/x/fcgi.sock");
  assert_int_equal(conf->sync, CONF_SYNC_ALWAYS);
  assert_string_equal(conf->environment, "A=1 B_2=x=#y;  C=");
  assert_string_equal(conf->kernelspec_path, "/a:/b c");
  assert_int_equal(conf->jail, CONF_JAIL_REQUIRED);
  assert_string_equal(conf->hosts, "caf\xc3\xa9.example");
  assert_string_equal(conf->kernelspec, "python3");
  conf_free(conf);
}

static void sizes_and_durations_have_units(void **state) {
  (void)state;
  struct conf *conf = accepted("[limits]\n"
                               "body_bytes = 1024\n"
                               "code_bytes = 512k\n"
                               "output_bytes = 1G\n"
                               "output_bytes_hard = 1T\n"
                               "inline_image_bytes = 0\n"
                               "timeout = 500ms\n"
                               "timeout_max = 2d\n"
                               "cpus = 1.5\n"
                               "cpus_max = 4\n"
                               "[kernels]\n"
                               "start_timeout = 1m\n"
                               "idle_timeout = 1.5h\n"
                               "interrupt_grace = 0.25\n"
                               "terminate_grace = 2s\n");
  assert_int_equal(conf->body_bytes, 1024);
  assert_int_equal(conf->code_bytes, 512 << 10);
  assert_int_equal(conf->output_bytes, INT64_C(1) << 30);
  assert_int_equal(conf->output_bytes_hard, INT64_C(1) << 40);
  assert_int_equal(conf->inline_image_bytes, 0);
  assert_true(conf->timeout == 0.5 && conf->timeout_max == 2 * 86400);
  assert_true(conf->cpus == 1.5 && conf->cpus_max == 4);
  assert_true(conf->start_timeout == 60 && conf->idle_timeout == 5400);
  assert_true(conf->interrupt_grace == 0.25 && conf->terminate_grace == 2);
  conf_free(conf);
}

static void unknown_names_are_refused(void **state) {
  (void)state;
  refused("[server]\ntheads = 5\n",
          "c.conf:2: unknown key \"theads\" in [server]; did you mean "
          "\"threads\"?");
  refused("[limits]\n\nbody-bytes = 5\n",
          "c.conf:3: unknown key \"body-bytes\" in [limits]; did you mean "
          "\"body_bytes\"?");
  refused("[server]\ntimeout = 5\n",
          "c.conf:2: unknown key \"timeout\" in [server]; it belongs in "
          "[limits]");
  refused("[server]\nbananas = 5\n",
          "c.conf:2: unknown key \"bananas\" in [server]");
  refused("[kernel]\n",
          "c.conf:1: unknown section [kernel]; did you mean [kernels]?");
  refused("[log]\n[zoo]\nlion = 1\n", "c.conf:2: unknown section [zoo]");
  refused("threads = 5\n", "c.conf:1: \"threads\" comes before any [section]");
  refused("[server]\n= 5\n", "c.conf:2: unknown key \"\" in [server]");
}

static void a_key_may_stand_once(void **state) {
  (void)state;
  refused("[server]\nthreads = 5\n[log]\n[server]\nthreads = 5\n",
          "c.conf:5: \"threads\" is there a second time, after line 2");
}

static void wrong_values_are_refused_with_what_is_right(void **state) {
  (void)state;
  refused("[server]\nthreads = many\n",
          "c.conf:2: threads = \"many\": wanted is a whole number, from 1 to "
          "4096");
  refused("[server]\nauto_create = maybe\n",
          "c.conf:2: auto_create = \"maybe\": wanted is on or off");
  refused("[limits]\nbody_bytes = 65M\n",
          "c.conf:2: body_bytes = \"65M\": wanted is a size in bytes, as 512K, "
          "10M or 1G, from 1K to 64M");
  refused("[kernels]\nidle_timeout = -1\n",
          "c.conf:2: idle_timeout = \"-1\": wanted is seconds, or a duration "
          "as 500ms, 5m or 1h, from 0 to 31536000");
  refused("[jail]\njail = perhaps\n",
          "c.conf:2: jail = \"perhaps\": wanted is off, auto or required");
  refused("[server]\nlisten = run/x.sock\n",
          "c.conf:2: listen = \"run/x.sock\": wanted is an absolute path, at "
          "most 107 bytes");
}

static void near_misses_of_values_are_refused(void **state) {
  (void)state;
  static const char *const texts[] = {
      "[server]\nthreads = 0\n",
      "[server]\nthreads = 4097\n",
      "[server]\nthreads = 1.0\n",
      "[server]\nthreads = 0x10\n",
      "[server]\nthreads = +5\n",
      "[server]\nthreads = 5 # five\n",
      "[server]\nthreads = 5K\n",
      "[server]\nthreads = 99999999999999999999999999\n",
      "[server]\nthreads =\n",
      "[server]\nhosts =\n",
      "[limits]\nbody_bytes = 1.5M\n",
      "[limits]\nbody_bytes = 1 M\n",
      "[limits]\nbody_bytes = 1MB\n",
      "[limits]\nbody_bytes = 1023\n",
      "[limits]\ntimeout = inf\n",
      "[limits]\ntimeout = nan\n",
      "[limits]\ntimeout = 1e3\n",
      "[limits]\ntimeout = 0\n",
      "[limits]\ntimeout = 5y\n",
      "[limits]\ntimeout = .5\n",
      "[limits]\ncpus = 1s\n",
      "[limits]\ncpus = -1\n",
      "[kernels]\nenvironment = A\n",
      "[kernels]\nenvironment = 1A=x\n",
      "[kernels]\nenvironment = A=1 =2\n",
      "[kernels]\nkernelspec_path = /a:b\n",
      "[kernels]\nkernelspec_path = /a::/b\n",
      "[log]\nlog_level = INFO\n",
      "[state]\nsync = 1\n",
  };
  for (size_t i = 0; i < COUNT_OF(texts); i++) {
    struct conf *conf = parse(texts[i]);
    if (conf != NULL)
      print_message("accepted: %s", texts[i]);
    assert_null(conf);
    assert_int_equal(strncmp(err.text, "c.conf:2: ", 10), 0);
  }
}

static void values_must_fit_together(void **state) {
  (void)state;
  refused("[limits]\ntimeout_max = 30\n",
          "c.conf: timeout (60 s) is over timeout_max (30 s)");
  refused("[limits]\noutput_bytes_hard = 1M\n",
          "c.conf: output_bytes (10485760) is over output_bytes_hard "
          "(1048576)");
  refused("[limits]\nmemory = 32G\n",
          "c.conf: memory (34359738368) is over memory_max (17179869184)");
  refused("[limits]\ncpus = 3\ncpus_max = 2.5\n",
          "c.conf: cpus (3) is over cpus_max (2.5)");
  refused("[limits]\ncpus_max = 2\n", "c.conf: cpus (0) is over cpus_max (2)");
  refused("[jail]\nuid_count = 63\n",
          "c.conf: max_kernels (64) is over uid_count (63)");
  char text[160] = "[state]\nrun_directory = /";
  memset(text + strlen(text), 'r', 100);
  refused(text, "c.conf: run_directory is too long: fcgi.sock in it has over "
                "107 bytes");
}

static void broken_lines_are_refused(void **state) {
  (void)state;
  refused("[server]\nthreads\n",
          "c.conf:2: neither [section], key = value, nor # comment");
  refused("\n[server\nthreads = 5\n",
          "c.conf:2: neither [section], key = value, nor # comment");
  refused("[server]\nhosts = \xff\n",
          "c.conf:2: invalid UTF-8 at byte 9 of the line");
  refused("[server]\nhosts = a\x1b[0m\n",
          "c.conf:2: a control character at byte 10 of the line");
  struct conf *conf = NULL;
  assert_int_equal(conf_parse("[log]\n\0", 7, "c.conf", &conf, &err), -1);
  assert_string_equal(err.text,
                      "c.conf:2: a control character at byte 1 of the line");
}

static void the_first_fault_is_told(void **state) {
  (void)state;
  refused("[server]\nthreads = x\nnonsense\n[zoo]\n",
          "c.conf:2: threads = \"x\": wanted is a whole number, from 1 to "
          "4096");
  refused("nonsense\n[zoo]\n",
          "c.conf:1: neither [section], key = value, nor # comment");
}

static void a_line_is_read_up_to_its_cap(void **state) {
  (void)state;
  static char text[CONF_LINE + 100];
  const char *start = "[kernels]\nenvironment = A=";
  size_t line = strlen("environment = A=");
  strcpy(text, start);
  memset(text + strlen(start), 'x', 7900);
  struct conf *conf = accepted(text);
  assert_int_equal(strlen(conf->environment), 7902);
  conf_free(conf);
  strcpy(text, start);
  memset(text + strlen(start), ' ', CONF_LINE - line);
  text[strlen(start) + CONF_LINE - line] = '\0';
  conf_free(accepted(text));
  strcat(text, " ");
  refused(text, "c.conf:2: the line has 8193 bytes, at most 8192 are read");
}

static void the_reference_is_a_file_itself(void **state) {
  (void)state;
  struct conf *conf = accepted("[server]\nthreads = 7\nlisten = /l\n[limits]\n"
                               "timeout = 1.25s\nbody_bytes = 1500\n"
                               "[kernels]\nenvironment = A=1  B=2\n");
  struct buf first = BUF_INIT(BUF_SMALL), second = BUF_INIT(BUF_SMALL);
  assert_int_equal(conf_describe(conf, &first), 0);
  conf_free(conf);
  conf = accepted(buf_string(&first));
  assert_int_equal(conf_describe(conf, &second), 0);
  assert_string_equal(buf_string(&first), buf_string(&second));
  assert_int_equal(conf->threads, 7);
  assert_true(conf->timeout == 1.25);
  assert_non_null(strstr(buf_string(&first), "\ntimeout = 1.25\n"));
  assert_non_null(strstr(buf_string(&first), "\nbody_bytes = 1500\n"));
  assert_non_null(strstr(buf_string(&first), "\nkernelspec_path =\n"));
  struct buf small = BUF_INIT(100);
  assert_int_equal(conf_describe(conf, &small), -1);
  conf_free(conf);
  buf_free(&first);
  buf_free(&second);
  buf_free(&small);
}

static void files_are_loaded(void **state) {
  (void)state;
  char path[] = "/tmp/cellpost-conf-XXXXXX";
  int file = mkstemp(path);
  assert_true(dprintf(file, "[log]\nlog_level = debug\n") > 0);
  struct conf *conf = NULL;
  assert_int_equal(conf_load(path, &conf, &err), 0);
  assert_string_equal(conf->log_level, "debug");
  conf_done(&conf);
  assert_int_equal(ftruncate(file, (off_t)BUF_SMALL + 1), 0);
  conf = NULL;
  assert_int_equal(conf_load(path, &conf, &err), -1);
  assert_int_equal(err.kind, ERR_TOO_LARGE);
  unlink(path);
  close(file);
  assert_int_equal(conf_load(path, &conf, &err), -1);
  assert_int_equal(err.kind, ERR_NOT_FOUND);
  assert_int_equal(conf_load("/tmp", &conf, &err), -1);
  assert_int_equal(err.kind, ERR_IO);
  assert_null(conf);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(everything_has_a_default),
      cmocka_unit_test(a_file_overrides_what_it_names),
      cmocka_unit_test(sizes_and_durations_have_units),
      cmocka_unit_test(unknown_names_are_refused),
      cmocka_unit_test(a_key_may_stand_once),
      cmocka_unit_test(wrong_values_are_refused_with_what_is_right),
      cmocka_unit_test(near_misses_of_values_are_refused),
      cmocka_unit_test(values_must_fit_together),
      cmocka_unit_test(broken_lines_are_refused),
      cmocka_unit_test(the_first_fault_is_told),
      cmocka_unit_test(a_line_is_read_up_to_its_cap),
      cmocka_unit_test(the_reference_is_a_file_itself),
      cmocka_unit_test(files_are_loaded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
