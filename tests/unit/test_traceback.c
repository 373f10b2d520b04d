/* Errors of real kernels, IPython 7 to 9 in every mode and IRkernel, told for
 * a model. */
#include "core/base/utf8.h"
#include "tests/unit/traceback_fixture.h"

#include <dirent.h>
#include <time.h>

#include "core/text/characters.h"
#include "tests/unit/traceback_rows.h"

static const char *marked_line(const struct json *report) {
  const char *source = json_get_text(report, "source");
  const char *mark = source ? strstr(source, "-> ") : NULL;
  if (mark == NULL)
    return "";
  mark += 3;
  mark += strspn(mark, " ");
  mark += strspn(mark, "0123456789");
  return mark + strspn(mark, " \t");
}

static void check_causes(const char *name, const struct json *report,
                         const char *expected) {
  const struct json *causes = json_get(report, "causes");
  size_t i = 0;
  for (const char *at = expected; *at != '\0'; i++) {
    const char *end = strstr(at, " | ");
    size_t length = end ? (size_t)(end - at) : strlen(at);
    const char *cause = json_text(json_at(causes, i));
    if (cause == NULL || strncmp(cause, at, length) != 0)
      fail_msg("%s: cause %zu is %s", name, i, cause ? cause : "missing");
    at += length + (end ? 3 : 0);
  }
  if (json_length(causes) != i)
    fail_msg("%s: %zu causes", name, json_length(causes));
}

static void check_number(const char *name, const struct json *report,
                         const char *key, int64_t expected) {
  int64_t value = json_get_integer(report, key, NONE);
  if (value != expected)
    fail_msg("%s: %s is %lld instead of %lld", name, key, (long long)value,
             (long long)expected);
}

/* The row of a fixture, "ipython-8.5/syntax": its own, or that of its case. */
static const struct place_row *row_of(const char *name) {
  const char *parts[] = {name, strchr(name, '/') + 1};
  for (size_t k = 0; k < COUNT_OF(parts); k++)
    for (size_t i = 0; i < COUNT_OF(place_rows); i++)
      if (strcmp(place_rows[i].name, parts[k]) == 0)
        return &place_rows[i];
  fail_msg("%s: has no row", name);
  return NULL;
}

static void check_place(const char *name) {
  const struct place_row *row = row_of(name);
  struct json *report = fixture_report(name, TRACEBACK_CONTEXT);
  check_number(name, report, "line", row->line);
  check_number(name, report, "column", row->column);
  check_number(name, report, "called_line", row->called_line);
  int64_t cell = !json_has(report, "cell")
                     ? NO_CELL
                     : json_get_integer(report, "cell", UNKNOWN_CELL);
  if (cell != row->cell)
    fail_msg("%s: cell is %lld", name, (long long)cell);
  if (strncmp(marked_line(report), row->text, strlen(row->text)) != 0 ||
      (row->text[0] == '\0') != (marked_line(report)[0] == '\0'))
    fail_msg("%s: marked is %s", name, marked_line(report));
  check_causes(name, report, row->causes);
  json_free(report);
}

/* Calls `check` for each fixture; returns how many there are. */
static size_t for_each_fixture(const char *path, void (*check)(const char *)) {
  size_t count = 0;
  DIR *directory = opendir(path);
  assert_non_null(directory);
  for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
    if (entry->d_name[0] == '.')
      continue;
    char *below = mem_format("%s/%s", path, entry->d_name);
    char *end = strstr(below, ".json");
    if (end == NULL) {
      count += for_each_fixture(below, check);
    } else {
      *end = '\0';
      check(below + strlen(FIXTURES "/"));
      count++;
    }
    free(below);
  }
  closedir(directory);
  return count;
}

static void every_place_is_right(void **state) {
  (void)state;
  assert_true(for_each_fixture(FIXTURES, check_place) > 450);
}

static void check_bounds(const char *name, const struct json *report) {
  const struct json *lines = json_get(report, "traceback");
  const struct json *evalue = json_get(report, "evalue");
  char *text = fixture_lines(report);
  size_t length = strlen(text);
  if (json_length(lines) == 0 || json_length(lines) > 200 ||
      utf8_count(text, length) > 16000)
    fail_msg("%s: %zu lines, %zu bytes", name, json_length(lines), length);
  if (utf8_count(json_text(evalue), json_text_length(evalue)) > 2000)
    fail_msg("%s: evalue is too long", name);
  if (strpbrk(text, "\x1b\x07\r") || strpbrk(json_text(evalue), "\x1b\x07\r"))
    fail_msg("%s: terminal control is left", name);
  if (!utf8_is_valid(text, length))
    fail_msg("%s: broken UTF-8", name);
  free(text);
}

static void check_every_style(const char *name) {
  static const enum traceback_style styles[] = {
      TRACEBACK_CONTEXT, TRACEBACK_PLAIN, TRACEBACK_MINIMAL};
  for (size_t k = 0; k < COUNT_OF(styles); k++) {
    struct json *report = fixture_report(name, styles[k]);
    struct json *again = fixture_report(name, styles[k]);
    check_bounds(name, report);
    assert_true(json_equal(report, again));
    json_free(report);
    json_free(again);
  }
}

static void every_report_keeps_its_bounds(void **state) {
  (void)state;
  for_each_fixture(FIXTURES, check_every_style);
}

struct text_row {
  const char *name;
  enum traceback_style style;
  const char *text;
};

static const struct text_row text_rows[] = {
    {"ipython-8.5/zero_division", TRACEBACK_CONTEXT,
     "Traceback (most recent call last):\n"
     "  Cell In[1], line 3\n"
     "       1 a = 1\n"
     "       2 b = 0\n"
     "    -> 3 c = a / b\n"
     "       4 print(c)\n"
     "       5 print('end')\n"
     "ZeroDivisionError: division by zero"},
    {"ipython-8.5/zero_division", TRACEBACK_PLAIN,
     "Traceback (most recent call last):\n"
     "  Cell In[1], line 3: c = a / b\n"
     "ZeroDivisionError: division by zero"},
    {"ipython-8.5/zero_division", TRACEBACK_MINIMAL,
     "ZeroDivisionError: division by zero"},
    {"ipython-8.5/key_pandas", TRACEBACK_CONTEXT,
     "Traceback (most recent call last):\n"
     "  Cell In[2], line 4\n"
     "       2     return frame['bb'].sum()\n"
     "       3\n"
     "    -> 4 total(df)\n"
     "  Cell In[2], line 2, in total\n"
     "       1 def total(frame):\n"
     "    -> 2     return frame['bb'].sum()\n"
     "       3\n"
     "       4 total(df)\n"
     "  … 1 frame in pandas …\n"
     "  File pandas/core/indexes/base.py:3804, in Index.get_loc: raise "
     "KeyError(key) from err\n"
     "KeyError: 'bb'\n"
     "The direct cause was KeyError: 'bb'"},
    {"ipython-8.5/to_datetime", TRACEBACK_PLAIN,
     "Traceback (most recent call last):\n"
     "  Cell In[1], line 2: pd.to_datetime('xx')\n"
     "  … 9 frames in pandas, dateutil …\n"
     "  File dateutil/parser/_parser.py:643, in parser.parse: raise "
     "ParserError(\"Unknown string format: %s\", timestr)\n"
     "ParserError: Unknown string format: xx present at position 0\n"
     "Raised while handling TypeError: invalid string coercion to datetime for "
     "\"xx\" at position 0\n"
     "Raised while handling ParserError: Unknown string format: xx"},
    {"ipython-8.5/helper_module", TRACEBACK_CONTEXT,
     "Traceback (most recent call last):\n"
     "  Cell In[2], line 2\n"
     "       1 import helper\n"
     "    -> 2 helper.parse('{')\n"
     "  File /var/lib/cellpost/tasks/demo/files/helper.py:4, in parse\n"
     "       3 def parse(text):\n"
     "    -> 4     return json.loads(text)\n"
     "  … 2 frames in json …\n"
     "  File json/decoder.py:353, in JSONDecoder.raw_decode: obj, end = "
     "self.scan_once(s, idx)\n"
     "JSONDecodeError: Expecting property name enclosed in double quotes: line "
     "1 column 2 (char 1)"},
    {"ipython-8.5/recursion", TRACEBACK_CONTEXT,
     "Traceback (most recent call last):\n"
     "  Cell In[2], line 1\n"
     "    -> 1 f(0)\n"
     "  Cell In[1], line 2, in f\n"
     "       1 def f(n):\n"
     "    -> 2     return f(n + 1)\n"
     "  Cell In[1], line 2, in f\n"
     "  … similar frames: f at line 2 (2970 times) …\n"
     "  Cell In[1], line 2, in f\n"
     "RecursionError: maximum recursion depth exceeded"},
    {"ipython-9.18/recursion_low.plain", TRACEBACK_PLAIN,
     "Traceback (most recent call last):\n"
     "  Cell In[3], line 1: f(0)\n"
     "  Cell In[2], line 4, in f: return f(n + 1)\n"
     "  … the frame above 227 times more …\n"
     "RecursionError: maximum recursion depth exceeded"},
    {"ipython-8.5/syntax", TRACEBACK_CONTEXT,
     "Traceback (most recent call last):\n"
     "  Cell In[1], line 2\n"
     "       1 x = 1\n"
     "    -> 2 for i in range(3) print(i)\n"
     "                           ^\n"
     "       3 y = 2\n"
     "SyntaxError: invalid syntax"},
    {"ipython-8.5/bash", TRACEBACK_PLAIN,
     "Traceback (most recent call last):\n"
     "  Cell In[1], line 1: %%bash\n"
     "  … 2 frames in IPython …\n"
     "  File IPython/core/magics/script.py:305, in ScriptMagics.shebang: raise "
     "CalledProcessError(rc, cell)\n"
     "CalledProcessError: Command 'b'echo out\\necho err >&2\\nexit 3\\n'' "
     "returned non-zero exit status 3."},
    {"ipython-8.5/message_fake", TRACEBACK_PLAIN,
     "Traceback (most recent call last):\n"
     "  Cell In[1], line 2: raise ValueError('boom\\nCell In[1], line "
     "99\\n----> 99 fake()\\n\\nKeyError: 1')\n"
     "ValueError: boom\n"
     "Cell In[1], line 99\n"
     "----> 99 fake()\n"
     "\n"
     "KeyError: 1"},
    {"ipython-8.5/bad_str", TRACEBACK_PLAIN,
     "Traceback (most recent call last):\n"
     "  Cell In[1], line 3, in Bad.__str__: raise RuntimeError('inner')\n"
     "RuntimeError: inner\n"
     "Raised while handling Bad (Cell In[1], line 5)"},
    {"ipython-9.18/note", TRACEBACK_PLAIN,
     "Traceback (most recent call last):\n"
     "  Cell In[1], line 3: raise e\n"
     "ValueError: plain\n"
     "a note"},
    {"ipython-7.34-ipykernel-6/earlier_cell", TRACEBACK_PLAIN,
     "Traceback (most recent call last):\n"
     "  Cell In[2], line 2: f(1)\n"
     "  Cell (earlier), line 3, in f: return 1 / y\n"
     "ZeroDivisionError: division by zero"},
    {"ipython-8.5/sys_exit", TRACEBACK_CONTEXT, "SystemExit: 2"},
    /* With the probe: a line that IPython 9 tells wrongly, and frames that it
     * does not tell at all. */
    {"ipython-9.18/finally", TRACEBACK_PLAIN,
     "Traceback (most recent call last):\n"
     "  Cell In[2], line 2: f()\n"
     "  Cell In[1], line 6, in f: y = 2\n"
     "ZeroDivisionError: division by zero"},
    {"ipython-9.18/probe.finally", TRACEBACK_PLAIN,
     "Traceback (most recent call last):\n"
     "  Cell In[2], line 2: f()\n"
     "  Cell In[1], line 3, in f: 1 / 0\n"
     "ZeroDivisionError: division by zero"},
    {"ipython-9.18/probe.raise_from", TRACEBACK_PLAIN,
     "Traceback (most recent call last):\n"
     "  Cell In[1], line 7: load({})\n"
     "  Cell In[1], line 5, in load: raise ValueError('no k') from e\n"
     "ValueError: no k\n"
     "The direct cause was KeyError: 'k' (Cell In[1], line 3, in load)"},
    {"ipython-9.18/probe.group_tasks", TRACEBACK_PLAIN,
     "Traceback (most recent call last):\n"
     "  Cell In[2], line 1: await main()\n"
     "  Cell In[1], line 5, in main: async with asyncio.TaskGroup() as tg:\n"
     "ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)"},
    {"irkernel-1.3/r_stop", TRACEBACK_CONTEXT,
     "Error in f(1): boom\n"
     "Traceback:\n"
     "1. f(1)\n"
     "2. stop(\"boom\")   # at line 2 of file <text>"},
};

static void tracebacks_read_well(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(text_rows); i++) {
    struct json *report = fixture_report(text_rows[i].name, text_rows[i].style);
    char *text = fixture_lines(report);
    if (strcmp(text, text_rows[i].text) != 0)
      fail_msg("%s: got\n%s\ninstead of\n%s", text_rows[i].name, text,
               text_rows[i].text);
    free(text);
    json_free(report);
  }
}

static void sources_are_numbered_as_written(void **state) {
  (void)state;
  static const struct {
    const char *name, *source;
  } rows[] = {
      {"ipython-8.5/leading_blank_syntax", "   2\n"
                                           "   3 x = 1\n"
                                           "-> 4 x = = 2\n"
                                           "         ^"},
      {"ipython-8.5/time_cell", "   2 x = 1\n"
                                "   3 y = 2\n"
                                "-> 4 x / 0\n"
                                "   5 print(y)"},
      {"ipython-8.5/shell_line", "   1 x = 1\n"
                                 "   2 !false\n"
                                 "-> 3 x / 0"},
      {"ipython-8.5/decorator", "    8 @twice\n"
                                "    9 def half(x):\n"
                                "-> 10     return x / 0\n"
                                "   11\n"
                                "   12 half(2)"},
      {"ipython-8.5/syntax_wide", "-> 1 é = 'ñandú'; x = = 2\n"
                                  "                      ^"},
      {"ipython-8.5/tab", "   1 if True:\n"
                          "   2         x = 1\n"
                          "-> 3 \ty = 2\n"
                          "     \t^"},
  };
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    struct json *report = fixture_report(rows[i].name, TRACEBACK_CONTEXT);
    assert_string_equal(json_get_text(report, "source"), rows[i].source);
    json_free(report);
  }
}

static void calls_are_told_from_the_nearest(void **state) {
  (void)state;
  static const struct {
    const char *name, *function, *calls;
  } rows[] = {
      {"ipython-8.5/calls_chain", "f",
       "[{\"line\":5,\"function\":\"g\"},{\"line\":7}]"},
      {"ipython-8.5/calls_lambda", "<lambda>",
       "[{\"line\":2,\"function\":\"<lambda>\"}]"},
      {"ipython-8.5/zero_division", NULL, "[]"},
      {"ipython-8.5/earlier_cell", "f", "[{\"line\":2}]"},
      {"ipython-8.5/recursion", "f", "[{\"line\":1}]"},
      {"ipython-8.5/earlier_cells", "f",
       "[{\"line\":3,\"function\":\"g\",\"cell\":2},{\"line\":3}]"},
      {"ipython-8.5/magic_time_exec", NULL, "[{\"line\":6}]"},
  };
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    struct json *report = fixture_report(rows[i].name, TRACEBACK_CONTEXT);
    CLEANUP(buf_free) struct buf calls = BUF_INIT(BUF_SMALL);
    json_write(json_get(report, "calls"), &calls);
    const char *function = json_get_text(report, "function");
    if (strcmp(buf_string(&calls), rows[i].calls) != 0 ||
        strcmp(function ? function : "",
               rows[i].function ? rows[i].function : "") != 0)
      fail_msg("%s: %s, called by %s", rows[i].name, function,
               buf_string(&calls));
    json_free(report);
  }
}

static void messages_lose_only_the_cell_s_file(void **state) {
  (void)state;
  static const struct {
    const char *name, *evalue;
  } rows[] = {
      {"ipython-8.5/syntax", "invalid syntax"},
      {"ipython-7.34-ipykernel-5/syntax", "invalid syntax"},
      {"ipython-8.0/syntax", "invalid syntax"},
      {"ipython-8.5/syntax_string",
       "unterminated string literal (detected at line 2)"},
      {"ipython-8.5/syntax_module", "'(' was never closed (bad.py, line 2)"},
      {"ipython-8.5/syntax_eval", "invalid syntax (<string>, line 1)"},
      {"ipython-9.18/tab",
       "inconsistent use of tabs and spaces in indentation"},
      {"ipython-8.5/message_ansi", "red and  nul"},
      {"ipython-8.5/surrogate_tail", "\uFFFD tail"},
      {"irkernel-1.3/r_stop", "Error in f(1): boom"},
  };
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    struct json *report = fixture_report(rows[i].name, TRACEBACK_CONTEXT);
    assert_string_equal(json_get_text(report, "evalue"), rows[i].evalue);
    json_free(report);
  }
}

static void a_huge_message_keeps_both_ends(void **state) {
  (void)state;
  struct json *report =
      fixture_report("ipython-8.5/big_message_lines", TRACEBACK_CONTEXT);
  const char *evalue = json_get_text(report, "evalue");
  assert_memory_equal(evalue, "line 0\nline 1\n", 14);
  assert_string_equal(evalue + strlen(evalue) - 9, "line 2999");
  assert_non_null(strstr(evalue, " characters left out …]"));
  json_free(report);
  report = fixture_report("ipython-8.5/big_message", TRACEBACK_CONTEXT);
  evalue = json_get_text(report, "evalue");
  assert_int_equal(utf8_count(evalue, strlen(evalue)) / 10, 197);
  assert_non_null(strstr(evalue, "x[… 298060 characters left out …]x"));
  json_free(report);
}

static struct json *parse(const char *text) {
  struct json *value = NULL;
  struct err err = {0};
  if (json_parse(text, strlen(text), &JSON_RULES_KERNEL, &value, &err) < 0)
    fail_msg("%s", err.text);
  return value;
}

static void shells_tell_their_status(void **state) {
  (void)state;
  static const struct {
    const char *language, *ename, *evalue, *told;
  } rows[] = {
      {"bash", "", "1", "exit status 1"},
      {"bash", "", "Cell has trailing backslash",
       "Cell has trailing backslash"},
      {"bash", "E", "1", "1"},
      {"octave", "", "1", "1"},
      {"bash", "", "", ""},
  };
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    CLEANUP(json_done) struct json *error = json_object();
    json_set_text(error, "ename", rows[i].ename);
    json_set_text(error, "evalue", rows[i].evalue);
    struct traceback_source source = {.error = error,
                                      .language = rows[i].language};
    CLEANUP(json_done) struct json *report = traceback_report(&source);
    assert_string_equal(json_get_text(report, "evalue"), rows[i].told);
    assert_string_equal(json_get_text(report, "ename"), rows[i].ename);
  }
}

/* A kernel may send anything; the report has all its members. */
static void broken_errors_are_reported(void **state) {
  (void)state;
  static const char *const errors[] = {
      "null",
      "{}",
      "[]",
      "{\"ename\":null,\"evalue\":3,\"traceback\":\"x\"}",
      "{\"ename\":\"E\",\"evalue\":\"v\",\"traceback\":[null,3,{},\"\"]}",
      "{\"ename\":\"E\",\"evalue\":\"v\",\"traceback\":[\"Cell In[\",\"File "
      ":\",\"File \\\"\",\"[... \",\" in \",\"----> \",\"---\"]}",
      "{\"ename\":\"E\",\"traceback\":[\"E  Traceback (most recent call "
      "last)\",\"Cell In[99999999999999999999], line 99999999999999999999, in "
      "f\\n----> 99999999999 x\"]}",
  };
  for (size_t i = 0; i < COUNT_OF(errors); i++)
    for (int python = 0; python < 2; python++) {
      struct json *error = parse(errors[i]);
      struct traceback_source source = {.error = error,
                                        .language = python ? "python" : NULL,
                                        .execution_count = -1,
                                        .hint = "Try again."};
      struct json *report = traceback_report(&source);
      assert_non_null(json_get_text(report, "ename"));
      assert_non_null(json_get_text(report, "evalue"));
      assert_int_equal(json_kind(json_get(report, "traceback")), JSON_ARRAY);
      assert_int_equal(json_kind(json_get(report, "causes")), JSON_ARRAY);
      assert_true(json_has(report, "line") && json_has(report, "source"));
      assert_string_equal(json_get_text(report, "hint"), "Try again.");
      json_free(report);
      json_free(error);
    }
}

/* Wrappers put a whole traceback into their message. */
static void a_traceback_in_a_message_is_no_traceback(void **state) {
  (void)state;
  struct json *error = parse(
      "{\"ename\":\"RuntimeError\",\"evalue\":\"Traceback (most recent call "
      "last)\",\"traceback\":[\"---\",\"RuntimeError    Traceback (most recent "
      "call last)\",\"Cell In[3], line 1\\n----> 1 run()\\n\",\"RuntimeError: "
      "Traceback (most recent call last):\\n  Cell In[3], line 7\",\"\\nDuring "
      "handling of it all\",\"Cell In[3], line 9\"]}");
  struct traceback_source source = {.error = error,
                                    .code = "run()",
                                    .code_length = 5,
                                    .language = "python",
                                    .execution_count = 3};
  struct json *report = traceback_report(&source);
  assert_int_equal(json_get_integer(report, "line", 0), 1);
  assert_int_equal(json_length(json_get(report, "causes")), 0);
  json_free(report);
  json_free(error);
}

/* A recursion through more functions than a cycle is looked for. */
static void the_middle_of_a_deep_stack_is_left_out(void **state) {
  (void)state;
  struct json *error = json_object(), *elements = json_array();
  json_push(elements, json_string("E   Traceback (most recent call last)"));
  for (int i = 0; i < 3000; i++) {
    char *frame = mem_format("Cell In[1], line %d, in f%d(n)\n----> %d f()\n",
                             i % 7 + 1, i % 7, i % 7 + 1);
    json_push(elements, json_string(frame));
    free(frame);
  }
  json_push(elements, json_string("E: deep"));
  json_set_text(error, "ename", "E");
  json_set_text(error, "evalue", "deep");
  json_set(error, "traceback", elements);
  struct traceback_source source = {.error = error,
                                    .language = "python",
                                    .execution_count = 2,
                                    .style = TRACEBACK_PLAIN};
  struct json *report = traceback_report(&source);
  const struct json *lines = json_get(report, "traceback");
  assert_int_equal(json_length(lines), 1 + 20 + 1 + 40 + 1);
  assert_string_equal(json_text(json_at(lines, 1)),
                      "  Cell In[1], line 1, in f0: f()");
  assert_string_equal(json_text(json_at(lines, 21)), "  … 2940 frames …");
  assert_string_equal(json_text(json_at(lines, 61)),
                      "  Cell In[1], line 4, in f3: f()");
  json_free(report);
  json_free(error);
}

/* A probe of another exception is not believed. */
static void a_stale_probe_changes_nothing(void **state) {
  (void)state;
  struct json *fixture = fixture_load("ipython-9.18/finally");
  struct json *probe =
      parse("{\"class\":\"KeyError\",\"chain\":[{\"class\":\"KeyError\","
            "\"frames\":[{\"cell\":1,\"line\":1,\"function\":\"f\"}]}]}");
  struct traceback_source source = fixture_source(fixture);
  source.probe = probe;
  struct json *report = traceback_report(&source);
  assert_int_equal(json_get_integer(report, "line", 0), 6);
  json_free(report);
  json_free(probe);
  json_free(fixture);
}

static double seconds_of(const struct traceback_source *source) {
  struct timespec before, after;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
  json_free(traceback_report(source));
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
  return (double)(after.tv_sec - before.tv_sec) +
         (double)(after.tv_nsec - before.tv_nsec) / 1e9;
}

/* The seconds for a cell of so many lines in front of its last one, and an
 * error of so many frames. */
static double seconds_for(const char *language, const char *line,
                          const char *last, const char *frame, size_t lines,
                          size_t frames) {
  CLEANUP(buf_free) struct buf code = BUF_INIT(BUF_ANSWER);
  CLEANUP(json_done)
  struct json *error = parse("{\"ename\":\"E\",\"evalue\":\"\"}");
  struct json *elements = json_array();
  for (size_t i = 0; i < lines; i++)
    buf_text(&code, line);
  buf_text(&code, last);
  if (strcmp(language, "python") == 0)
    json_push(elements,
              json_string("E      Traceback (most recent call last)"));
  for (size_t i = 0; i < frames; i++)
    json_push(elements, json_string(frame));
  json_set(error, "traceback", elements);
  struct traceback_source source = {.error = error,
                                    .code = code.data,
                                    .code_length = code.length,
                                    .language = language,
                                    .execution_count = 1};
  return seconds_of(&source);
}

/* A thousand times as many lines, or frames, take a thousand times as long, or
 * a little more: the square would take a million times as long. */
static void time_grows_with_lines_and_frames(void **state) {
  (void)state;
  static const struct {
    const char *language, *line, *last, *frame;
  } rows[] = {
      {"python", "\n", "1/0", "Cell In[1], line 1\n----> 1 1/0"},
      {"python", "\n", "%time 1/0", "File <timed eval>:1"},
      {"python", "x\n", "%time 1/0", "File <timed exec>:1"},
      {"python", "%%time\n", "1/0", "Cell In[1], line 9, in f()\n----> 9 y"},
      {"python", "x\n", "1/0", "Input In [1], in f()\n    1/0"},
      {"python", "x\n", "y", "File /lib/python3/a.py:1, in f()"},
      {"python", "x\n", "y", "[... skipping similar frames: f (2 times)]"},
      {"python", "x\n", "y", "E: what add_note added"},
      {"R", "x\n", "f('x')", "2. f(\"x\")   # at line 1 of file <text>"},
      {"R", "f(\n", "f('x')", "1. f(f(f(f(f(f(f(f(f(f(f(f(f(f(f(1"},
  };
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    const char *language = rows[i].language, *frame = rows[i].frame;
    double few = 0;
    for (int round = 0; round < 20; round++)
      few += seconds_for(language, rows[i].line, rows[i].last, frame, 200, 8);
    double lines =
        seconds_for(language, rows[i].line, rows[i].last, frame, 200 * 1000, 8);
    double frames =
        seconds_for(language, rows[i].line, rows[i].last, frame, 200, 8 * 1000);
    if (lines > few * 1000 + 0.05 || frames > few * 1000 + 0.05)
      fail_msg("row %zu: %g s, of many lines %g s, of many frames %g s", i,
               few / 20, lines, frames);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_place_is_right),
      cmocka_unit_test(every_report_keeps_its_bounds),
      cmocka_unit_test(tracebacks_read_well),
      cmocka_unit_test(sources_are_numbered_as_written),
      cmocka_unit_test(calls_are_told_from_the_nearest),
      cmocka_unit_test(messages_lose_only_the_cell_s_file),
      cmocka_unit_test(a_huge_message_keeps_both_ends),
      cmocka_unit_test(broken_errors_are_reported),
      cmocka_unit_test(a_traceback_in_a_message_is_no_traceback),
      cmocka_unit_test(the_middle_of_a_deep_stack_is_left_out),
      cmocka_unit_test(a_stale_probe_changes_nothing),
      cmocka_unit_test(shells_tell_their_status),
      cmocka_unit_test(time_grows_with_lines_and_frames),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
