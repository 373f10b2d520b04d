/* Hints: by class from what the probe saw in real kernels, by status, and the
 * look-up of distributions. */
#include "tests/unit/traceback_fixture.h"

#include "core/report/hint/hint_modules.h"

static char *compose(const struct hint_source *source) {
  struct buf hint = BUF_INIT(BUF_SMALL);
  assert_int_equal(hint_compose(source, &hint), 0);
  return buf_take(&hint);
}

static void check(const char *what, const struct hint_source *source,
                  const char *expected) {
  char *hint = compose(source);
  if (strcmp(hint, expected) != 0)
    fail_msg("%s: got\n%s\ninstead of\n%s", what, hint, expected);
  free(hint);
}

#define INSTALL " It can be installed: POST it to this task's packages."

static void what_the_probe_saw_is_told(void **state) {
  (void)state;
  static const struct {
    const char *name, *hint;
  } rows[] = {
      {"name", "Close names that exist: total."},
      {"name_function", "Close names that exist: value, eval."},
      {"name_module", "os is a module: import os."},
      {"name_usual", "np is usually had by: import numpy as np."},
      {"attribute", "Close names in math: sqrt, isqrt."},
      {"attribute_instance", "Close names in Tank: volume."},
      {"attribute_frame", "Close names in DataFrame: alpha."},
      {"import_name", "Close names in math: sqrt, isqrt."},
      {"key_dict", "d has no key 'alpah' among its 2 keys. Close: 'alpha'. It "
                   "has: 'alpha', 'beta'."},
      {"key_nested", "self.settings has no key 'alhpa' among its 1 key. Close: "
                     "'alpha'. It has: 'alpha'."},
      {"key_numbers", "d has no key 3 among its 2 keys. It has: 1, 2."},
      {"key_empty", "d has no key 'x': it is empty."},
      {"key_pandas", "frame has no column 'bb' among its 2 columns. Close: "
                     "'b'. It has: 'a', 'b'."},
      {"key_loc", "df has no label 'rw1' among its 1 label. Close: 'row1'. It "
                  "has: 'row1'."},
      {"key_list", "df has no column 'alhpa' among its 1 column. Close: "
                   "'alpha'. It has: 'alpha'."},
      {"key_group", "df has no column 'alhpa' among its 1 column. Close: "
                    "'alpha'. It has: 'alpha'."},
      {"key_drop", "df has no column 'alhpa' among its 1 column. Close: "
                   "'alpha'. It has: 'alpha'."},
      {"file", "data has no sale.csv. Close: sales.csv. It holds: sales.csv."},
      {"file_directory",
       "The working directory has no dta. Close: data. It holds: data/."},
      {"file_empty", "The working directory is empty."},
      {"module", "The module jsn is not installed; its distribution is "
                 "probably called jsn, too." INSTALL
                 " Modules with a close name that are there: json."},
      {"module_cv2", "The module cv2 comes with the distribution "
                     "opencv-python-headless, which is not installed." INSTALL},
      {"module_nested", "json is there, but has no module nope in it."},
      {"group", "The group holds: ValueError: one; KeyError: 'k'; TypeError: "
                "t."},
      {"group_tasks", "The group holds: ValueError: bad 1 (In[1], line 3); "
                      "ValueError: bad 2 (In[1], line 3)."},
      {"sys_exit", "sys.exit() ended this cell only; the kernel goes on."},
      {"finally", ""},
  };
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    char *name = mem_format("ipython-8.5/probe.%s", rows[i].name);
    struct json *fixture = fixture_load(name);
    struct json *probe =
        hint_probe_result(json_get(fixture, "user_expressions"));
    assert_non_null(probe);
    const struct json *error = json_get(fixture, "error");
    struct hint_source source = {.status = "error",
                                 .ename = json_get_text(error, "ename"),
                                 .evalue = json_get_text(error, "evalue"),
                                 .language = "python",
                                 .probe = probe,
                                 .packages_allowed = true,
                                 .state_kept = true};
    check(name, &source, rows[i].hint);
    json_free(probe);
    json_free(fixture);
    free(name);
  }
}

#define NOT_HERE "Nothing can be installed here; use what is there."
#define OFFLINE                                                                \
  "A jailed kernel has no network, so nothing can be downloaded, nor by "      \
  "functions like sns.load_dataset or sklearn's fetch_…: use files in the "  \
  "working directory, or make the data in the code."
#define LOOP                                                                   \
  "A cell runs inside an event loop already: write `await main()` at the top " \
  "level instead of asyncio.run(main()) or run_until_complete()."

struct class_row {
  const char *ename, *evalue;
  bool packages_allowed;
  const char *hint;
};

static const struct class_row class_rows[] = {
    {"ModuleNotFoundError", "No module named 'sklearn'", false,
     "The module sklearn comes with the distribution scikit-learn, which is "
     "not installed. Nothing can be installed here; use what is there."},
    {"ModuleNotFoundError", "No module named 'google.cloud.storage'", true,
     "The module google.cloud.storage comes with the distribution "
     "google-cloud-storage, which is not installed." INSTALL},
    {"ModuleNotFoundError", "No module named 'urllib2'", true,
     "There is no module urllib2. In Python 3 it is called urllib.request."},
    {"ModuleNotFoundError", "No module named 'distutils.core'", true,
     "There is no module distutils.core. It left the standard library in "
     "Python 3.12; the distribution setuptools brings it back."},
    {"ModuleNotFoundError", "No module named 'requests'", true,
     "The module requests is not installed; its distribution is probably "
     "called requests, too." INSTALL},
    {"ModuleNotFoundError", "No module named 'polars'", false,
     "The module polars is not installed. " NOT_HERE},
    {"ImportError",
     "Missing optional dependency 'tabulate'.  Use pip or conda to install "
     "tabulate.",
     false,
     "tabulate is not installed. " NOT_HERE
     " Without it: print(df.to_string())."},
    {"ImportError",
     "Missing optional dependency 'Jinja2'. DataFrame.style requires jinja2. "
     "Use pip or conda to install Jinja2.",
     false,
     "Jinja2 is not installed. " NOT_HERE " Without it: "
     "print(df.to_string())."},
    {"ImportError",
     "Unable to find a usable engine; tried using: 'pyarrow', 'fastparquet'.\n"
     " - Missing optional dependency 'pyarrow'. pyarrow is required for "
     "parquet support. Use pip or conda to install pyarrow.",
     false,
     "pyarrow is not installed. " NOT_HERE " Without it: to_csv or "
     "to_pickle."},
    {"RuntimeError", "To use this, run `pip install numba`.", false, NOT_HERE},
    {"URLError", "<urlopen error [Errno -2] Name or service not known>", false,
     OFFLINE},
    {"gaierror", "[Errno -3] Temporary failure in name resolution", false,
     OFFLINE},
    {"OSError", "[Errno 101] Network is unreachable", false, OFFLINE},
    {"ConnectionError",
     "HTTPConnectionPool(host='a.b', port=80): Max retries exceeded with url: "
     "/x (Caused by NewConnectionError('<…>: Failed to establish a new "
     "connection: [Errno -2] Name or service not known'))",
     false, OFFLINE},
    {"RuntimeError", "asyncio.run() cannot be called from a running event loop",
     false, LOOP},
    {"RuntimeError", "This event loop is already running", false, LOOP},
    {"RuntimeError", "something else", false, ""},
    {"ModuleNotFoundError", "without a name", true, ""},
    {"UnboundLocalError",
     "cannot access local variable 'n' where it is not associated with a value",
     true,
     "The function assigns n somewhere, so the name is local in all of it: "
     "assign it first, or declare it global or nonlocal."},
    {"StdinNotImplementedError", "raw_input was called", true,
     "Nobody answers input() here: give its answers as the request's stdin "
     "lines, or write the values into the code."},
    {"PermissionError", "[Errno 13] Permission denied: '/etc/x'", true,
     "Only the working directory and /tmp can be written."},
    {"OSError", "[Errno 30] Read-only file system: '/x'", true,
     "Only the working directory and /tmp can be written."},
    {"OSError", "[Errno 28] No space left on device", true,
     "The disk is full: delete files that are not needed."},
    {"OSError", "[Errno 5] Input/output error", true, ""},
    {"NameError", "name 'plt' is not defined", true,
     "plt is usually had by: import matplotlib.pyplot as plt."},
    {"NameError", "name 'x' is not defined", true, ""},
    {"ZeroDivisionError", "division by zero", true, ""},
    {"ERROR", "Error in f(1): boom", true, ""},
    {NULL, NULL, true, ""},
};

static void classes_without_a_probe(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(class_rows); i++) {
    const struct class_row *row = &class_rows[i];
    struct hint_source source = {.status = "error",
                                 .ename = row->ename,
                                 .evalue = row->evalue,
                                 .packages_allowed = row->packages_allowed,
                                 .state_kept = true};
    check(row->evalue ? row->evalue : "none", &source, row->hint);
  }
}

static void names_are_gone_with_the_kernel(void **state) {
  (void)state;
  struct hint_source source = {.status = "error",
                               .ename = "NameError",
                               .evalue = "name 'x' is not defined",
                               .state_kept = false};
  check("lost", &source,
        "The kernel was started anew, so names from earlier cells are gone.");
}

static void statuses_say_what_survived(void **state) {
  (void)state;
  struct hint_source source = {.status = "timeout",
                               .timeout_ms = 2000,
                               .running_line = "time.sleep(99)",
                               .state_kept = true};
  check(
      "timeout", &source,
      "The time limit of 2 s was reached in: time.sleep(99). What the cell "
      "assigned until then is still there. Split the work into several cells, "
      "make it smaller, or ask for a larger timeout.");
  source.running_line = "3";
  source.state_kept = false;
  check("timeout, lost", &source,
        "The time limit of 2 s was reached in line 3. The code did not let "
        "itself be interrupted, so the variables are lost; files are kept. "
        "Split the work into several cells, make it smaller, or ask for a "
        "larger timeout.");
  struct hint_source oom = {.status = "oom",
                            .memory_limit = INT64_C(512) << 20,
                            .memory_peak = INT64_C(1536) << 20};
  check("oom", &oom,
        "The kernel needed more memory than its limit of 512 MiB (peak 1.5 "
        "GiB). All variables are lost; files are kept. Load less at once "
        "(chunks, fewer columns, smaller types) and free what is not needed "
        "with del.");
  oom.state_kept = true;
  check("oom, kept", &oom,
        "The kernel needed more memory than its limit of 512 MiB (peak 1.5 "
        "GiB), and the cell was interrupted before it was killed. Variables "
        "are kept. Free what is not needed with del, and load less at once "
        "(chunks, fewer columns, smaller types).");
  struct hint_source died = {.status = "kernel_died"};
  check("kernel_died", &died,
        "All variables are lost; files are kept. Run again the cells that "
        "define what is needed, and leave out what ended the process.");
  struct hint_source ok = {.status = "ok", .ename = "SystemExit"};
  check("ok", &ok, "");
}

static struct json *parse(const char *text) {
  struct json *value = NULL;
  struct err err = {0};
  if (json_parse(text, strlen(text), &JSON_RULES_KERNEL, &value, &err) < 0)
    fail_msg("%s", err.text);
  return value;
}

/* What the probe tells beside the exception itself. */
static void the_probe_s_view_decides(void **state) {
  (void)state;
  static const struct {
    const char *ename, *evalue, *probe, *hint;
  } rows[] = {
      {"DatasetError", "cannot load",
       "{\"class\":\"DatasetError\",\"network\":false,\"chain\":[{\"text\":"
       "\"DatasetError: cannot load\"},{\"text\":\"gaierror: [Errno -2] Name "
       "or service not known\"}]}",
       OFFLINE},
      {"ZeroDivisionError", "division by zero",
       "{\"class\":\"gaierror\",\"network\":false,\"chain\":[{\"text\":"
       "\"gaierror: [Errno -2] Name or service not known\"}]}",
       ""},
      {"gaierror", "[Errno -2] Name or service not known",
       "{\"class\":\"gaierror\",\"network\":true,\"chain\":[]}", ""},
      {"ModuleNotFoundError", "No module named 'polars'",
       "{\"class\":\"ModuleNotFoundError\",\"seen\":{\"close\":[],"
       "\"instead\":\"pandas\"}}",
       "The module polars is not installed. " NOT_HERE " pandas is there."},
      {"FileNotFoundError", "[Errno 2] No such file: '/data/x.csv'",
       "{\"class\":\"FileNotFoundError\",\"seen\":{\"missing\":"
       "\"/data/x.csv\",\"directory\":\".\",\"count\":1,\"entries\":"
       "[\"in/\"],\"close\":[\"in/x.csv\"]}}",
       "There is no /data/x.csv; the task's files are in the working "
       "directory. Close: in/x.csv. It holds: in/."},
  };
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    CLEANUP(json_done) struct json *probe = parse(rows[i].probe);
    struct hint_source source = {.status = "error",
                                 .ename = rows[i].ename,
                                 .evalue = rows[i].evalue,
                                 .probe = probe,
                                 .state_kept = true};
    check(rows[i].evalue, &source, rows[i].hint);
  }
}

static void what_was_printed_is_told(void **state) {
  (void)state;
  static const struct {
    const char *name, *text, *hint;
  } rows[] = {
      {"stdout",
       "\x1b[1;31merror\x1b[0m: \x1b[1mexternally-managed-environment\x1b[0m\n",
       NOT_HERE},
      {"stdout", "ERROR: No matching distribution found for x\n", NOT_HERE},
      {"stderr", "curl: (6) Could not resolve host: a.b\n", OFFLINE},
      {"stderr", "error: 'x' undefined\n",
       "The kernel calls this run a success, but stderr begins a line with "
       "\"error:\"."},
      {"stdout", "error: 'x' undefined\n", NULL},
      {"stdout", "to speed this up, run pip install numba\n", NULL},
      {"stdout", "", NULL},
  };
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    CLEANUP(json_done)
    struct json *outputs = parse(
        "[{\"output_type\":\"stream\"},{\"output_type\":\"display_data\"}]");
    struct json *stream = json_object();
    json_set_text(stream, "output_type", "stream");
    json_set_text(stream, "name", rows[i].name);
    json_set_text(stream, "text", rows[i].text);
    json_push(outputs, stream);
    const char *hint = hint_of_outputs(outputs);
    if (strcmp(hint ? hint : "", rows[i].hint ? rows[i].hint : "") != 0)
      fail_msg("%s: %s", rows[i].text, hint);
  }
  assert_null(hint_of_outputs(NULL));
}

static void an_older_exception_is_not_told(void **state) {
  (void)state;
  struct json *fixture = fixture_load("ipython-8.5/probe.key_dict");
  struct json *probe = hint_probe_result(json_get(fixture, "user_expressions"));
  struct hint_source source = {.status = "error",
                               .ename = "NameError",
                               .evalue = "name 'y' is not defined",
                               .probe = probe,
                               .state_kept = true};
  check("stale", &source, "");
  json_free(probe);
  json_free(fixture);
}

static void the_probe_is_for_python_errors(void **state) {
  (void)state;
  assert_non_null(hint_probe_expression("python", "KeyError"));
  assert_ptr_equal(hint_probe_expression("python", "KeyError"),
                   hint_probe_expression("Python", "NameError"));
  assert_null(hint_probe_expression("python", "SyntaxError"));
  assert_null(hint_probe_expression("python", "KeyboardInterrupt"));
  assert_null(hint_probe_expression("python", "MemoryError"));
  assert_null(hint_probe_expression("R", "KeyError"));
  assert_null(hint_probe_expression(NULL, "KeyError"));
  assert_null(hint_probe_expression("python", NULL));
}

static void answers_are_read_from_their_repr(void **state) {
  (void)state;
  static const struct {
    const char *plain, *answer; /* NULL: none */
  } rows[] = {
      {"'{\"a\": \"it\\'s \\\\\\\\ \\\\u00e9\"}'", "{\"a\":\"it's \\\\ é\"}"},
      {"\"{}\"", "{}"},
      {"'[1]'", NULL},
      {"'{\"a\": '", NULL},
      {"'", NULL},
      {"''", NULL},
      {"'{}\\'", NULL},
      {"{}", NULL},
      {"", NULL},
  };
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    struct json *expressions = json_object(), *member = json_object();
    struct json *data = json_object();
    json_set_text(data, "text/plain", rows[i].plain);
    json_set(member, "data", data);
    json_set(expressions, "probe", member);
    struct json *answer = hint_probe_result(expressions);
    struct buf text = BUF_INIT(BUF_LINE);
    if (answer != NULL)
      json_write(answer, &text);
    if (rows[i].answer == NULL)
      assert_null(answer);
    else
      assert_string_equal(buf_string(&text), rows[i].answer);
    buf_free(&text);
    json_free(answer);
    json_free(expressions);
  }
  assert_null(hint_probe_result(NULL));
}

static void the_table_is_in_order(void **state) {
  (void)state;
  size_t count;
  const struct hint_module *modules = hint_modules(&count);
  assert_true(count >= 150);
  for (size_t i = 1; i < count; i++)
    if (strcmp(modules[i - 1].module, modules[i].module) >= 0)
      fail_msg("%s does not belong behind %s", modules[i].module,
               modules[i - 1].module);
}

static void distributions_are_found(void **state) {
  (void)state;
  static const struct {
    const char *module, *distribution;
    enum hint_known known;
  } rows[] = {
      {"cv2", "opencv-python-headless", HINT_KNOWN},
      {"sklearn", "scikit-learn", HINT_KNOWN},
      {"sklearn.linear_model", "scikit-learn", HINT_KNOWN_PART},
      {"PIL", "pillow", HINT_KNOWN},
      {"PIL.Image", "pillow", HINT_KNOWN_PART},
      {"yaml", "pyyaml", HINT_KNOWN},
      {"bs4", "beautifulsoup4", HINT_KNOWN},
      {"google.protobuf.message", "protobuf", HINT_KNOWN_PART},
      {"google.nothing", "google", HINT_UNKNOWN},
      {"requests", "requests", HINT_UNKNOWN},
      {"", "", HINT_UNKNOWN},
  };
  char name[160];
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    assert_int_equal(hint_distribution(rows[i].module, name, sizeof name),
                     rows[i].known);
    assert_string_equal(name, rows[i].distribution);
  }
  assert_null(hint_renamed_module("json"));
  assert_null(hint_usual_import("total"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_the_probe_saw_is_told),
      cmocka_unit_test(classes_without_a_probe),
      cmocka_unit_test(names_are_gone_with_the_kernel),
      cmocka_unit_test(statuses_say_what_survived),
      cmocka_unit_test(the_probe_s_view_decides),
      cmocka_unit_test(what_was_printed_is_told),
      cmocka_unit_test(an_older_exception_is_not_told),
      cmocka_unit_test(the_probe_is_for_python_errors),
      cmocka_unit_test(answers_are_read_from_their_repr),
      cmocka_unit_test(the_table_is_in_order),
      cmocka_unit_test(distributions_are_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
