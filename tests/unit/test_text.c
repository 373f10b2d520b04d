/* The texts that a model reads: order, folding, bounds, last line, prompt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/json/json.h"
#include "core/report/text.h"
#include "core/report/traceback/traceback.h"
#include "core/text/characters.h"

static struct json *parse(const char *text) {
  struct json *value = NULL;
  struct err err = {0};
  if (text != NULL &&
      json_parse(text, strlen(text), &JSON_RULES_KERNEL, &value, &err) < 0)
    fail_msg("%s", err.text);
  return value;
}

/* One row: what the run left, and the text that it must give. */
struct row {
  const char *name;
  const char *outputs, *images, *files, *error;
  const char *status, *state, *reason, *ended_by, *late, *hint, *notes;
  bool died;
  int64_t timeout_ms;
  const char *text;
};

#define STDOUT(text)                                                           \
  "{\"output_type\":\"stream\",\"name\":\"stdout\",\"text\":\"" text "\"}"
#define STDERR(text)                                                           \
  "{\"output_type\":\"stream\",\"name\":\"stderr\",\"text\":\"" text "\"}"
#define DATA(bundle)                                                           \
  "{\"output_type\":\"display_data\",\"metadata\":{},\"data\":{" bundle "}}"

static const struct row rows[] = {
    {"nothing", "[]", .status = "ok", .text = ""},
    {"print", "[" STDOUT("hi\\n") "]", .status = "ok", .text = "hi\n"},
    {"result", "[" DATA("\"text/plain\":\"2\"") "]", .status = "ok",
     .text = "2"},
    {"print then result", "[" STDOUT("a") "," DATA("\"text/plain\":\"2\"") "]",
     .status = "ok", .text = "a\n2"},
    {"two streams",
     "[" STDOUT("a\\n") "," STDERR("L\\n") "," STDOUT("b\\n") "]",
     .status = "ok", .text = "a\n[stderr]\nL\n[stdout]\nb\n"},
    {"a result behind stderr",
     "[" STDERR("L\\n") "," DATA("\"text/plain\":\"2\"") "]", .status = "ok",
     .text = "[stderr]\nL\n[result]\n2"},
    {"the place of an interrupt",
     "[{\"output_type\":\"error\",\"ename\":\"K\",\"evalue\":\"\"}]",
     .error = "{\"ename\":\"KeyboardInterrupt\",\"evalue\":\"\",\"line\":3,"
              "\"source\":\"-> 3 time.sleep(9)\"}",
     .status = "timeout", .state = "kept",
     .text = "Stopped in line 3 of the cell:\n-> 3 time.sleep(9)\n"
             "KeyboardInterrupt\n[timeout: the code did not end within its "
             "time limit; variables are kept]"},
    {"an exception that had no output of its own",
     "[" STDERR("  + Exception Group\\n") "]",
     .error = "{\"ename\":\"ExceptionGroup\",\"evalue\":\"g\",\"line\":1,"
              "\"source\":\"-> 1 f()\"}",
     .status = "error", .state = "kept",
     .text = "[stderr]\n  + Exception Group\nError in line 1 of the cell:\n"
             "-> 1 f()\nExceptionGroup: g\n[error: ExceptionGroup; variables "
             "are kept]"},
    {"colours and controls leave the text",
     "[" STDOUT(
         "\\u001b[31mred\\u001b[0m\\u0007\\u0000 \\u001b]0;t\\u0007x") "]",
     .status = "ok", .text = "red x"},
    {"a data frame is its plain text, never html",
     "[" DATA("\"text/html\":\"<table></table>\",\"text/plain\":\"   a\\n0  "
              "1\"") "]",
     .status = "ok", .text = "   a\n0  1"},
    {"text that informs is read, whatever else there is",
     "[" DATA(
         "\"text/markdown\":\"**b**\",\"text/latex\":\"$x$\",\"text/html\":"
         "\"<i>x</i>\",\"text/plain\":\"x\"") "]",
     .status = "ok", .text = "x"},
    {"html is read where the text only names an object",
     "[" DATA("\"text/html\":\"<b>x</b>\",\"text/latex\":\"$x$\","
              "\"text/plain\":\"<pandas.Styler at 0x7f01>\"") "]",
     .status = "ok", .text = "x"},
    {"markdown is read where there is no html to read",
     "[" DATA("\"text/markdown\":\"**b**\",\"text/html\":\"<script></script>\","
              "\"text/latex\":\"$b$\",\"text/plain\":\"<x>\"") "]",
     .status = "ok", .text = "**b**"},
    {"latex is read where there is nothing else",
     "[" DATA("\"text/latex\":\"$x$\",\"text/plain\":"
              "\"<IPython.core.display.Latex object>\"") "]",
     .status = "ok", .text = "$x$"},
    {"letters that a pager wrote one over the other",
     "[" DATA("\"text/plain\":\"_\\b\u00e9_\\bM n\\bn x\\b\\n\\ba\\b\"") "]",
     .status = "ok", .text = "\u00e9M n \na"},
    {"an object that is only named is named",
     "[" DATA("\"text/plain\":\"<x at 0x7f01>\"") "]", .status = "ok",
     .text = "<x at 0x7f01>"},
    {"json instead of a text that says nothing",
     "[" DATA("\"application/json\":{\"a\":[1]},\"text/plain\":"
              "\"<IPython.core.display.JSON object>\"") "]",
     .status = "ok", .text = "{\"a\":[1]}"},
    {"html without anything to read is named",
     "[" DATA("\"text/html\":\"<i></i>\",\"text/plain\":"
              "\"<IPython.core.display.HTML object>\"") "]",
     .status = "ok", .text = "[text/html, 7 bytes]\n"},
    {"terminal control in html does not pass",
     "[" DATA(
         "\"text/html\":\"a\\u001b[31mb&#27;[0m\",\"text/plain\":\"<x>\"") "]",
     .status = "ok", .text = "ab[0m"},
    {"a text that informs stands in front of its image",
     "[" DATA("\"image/png\":\"iVBO\",\"text/plain\":\"3\"") "]",
     .images = "[{\"mime\":\"image/png\",\"width\":9,\"height\":8,"
               "\"output\":0}]",
     .status = "ok", .text = "3\n[image 1: image/png 9x8]\n"},
    {"images stand where they were drawn",
     "[" STDOUT("a\\n") "," DATA(
         "\"image/png\":\"iVBO\",\"text/plain\":"
         "\"<Figure size 640x480 with 1 Axes>\"") "," STDOUT("b\\n") "]",
     .images = "[{\"mime\":\"image/png\",\"uri\":\"/tasks/demo/artifacts/"
               "ab.png\",\"width\":640,\"height\":480,\"output\":1}]",
     .status = "ok",
     .text = "a\n[image 1: image/png 640x480, /tasks/demo/artifacts/ab.png]\n"
             "b\n"},
    {"identical lines are counted",
     "[" STDOUT("a line of output\\na line of output\\na line of output\\na "
                "line of output\\na line of output\\nx\\nx\\nx\\nx\\nx\\n") "]",
     .status = "ok",
     .text = "a line of output\n[… the line above 4 times more …]\n"
             "x\nx\nx\nx\nx\n"},
    {"files are told", "[]",
     .files = "[{\"path\":\"a.csv\",\"change\":\"created\",\"bytes\":12},"
              "{\"path\":\"b\",\"change\":\"deleted\"}]",
     .status = "ok",
     .text = "[file created: a.csv, 12 bytes]\n[file deleted: b]\n"},
    {"an exception stands where it happened",
     "[" STDOUT(
         "a\\n") ",{\"output_type\":\"error\",\"ename\":\"E\",\"evalue\":"
                 "\"raw\",\"traceback\":[]}," STDOUT("late\\n") "]",
     .error =
         "{\"ename\":\"ZeroDivisionError\",\"evalue\":\"division by "
         "zero\",\"line\":2,\"source\":\"-> 2 1/0\",\"causes\":[\"KeyError: "
         "'b'\"]}",
     .status = "error", .state = "kept",
     .text = "a\nError in line 2 of the cell:\n-> 2 1/0\nZeroDivisionError: "
             "division by zero\nCause: KeyError: 'b'\nlate\n"
             "[error: ZeroDivisionError; variables are kept]"},
    {"an exception in an earlier cell names it",
     "[{\"output_type\":\"error\",\"ename\":\"E\",\"evalue\":\"\"}]",
     .error = "{\"ename\":\"E\",\"evalue\":\"\",\"line\":3,\"cell\":1,"
              "\"function\":\"f\",\"calls\":[{\"line\":7,\"cell\":1,"
              "\"function\":\"g\"},{\"line\":2}],"
              "\"source\":\"-> 3 f()\\n\"}",
     .status = "error", .state = "fresh",
     .text = "Error in line 3 of cell In[1], in f (called from line 7 of cell "
             "In[1], in g; line 2 of this cell):\n"
             "-> 3 f()\nE\n[error: E; the kernel was started for this run; "
             "variables set in it are kept]"},
    {"an error without a class",
     "[{\"output_type\":\"error\",\"ename\":\"\",\"evalue\":\"1\"}]",
     .error = "{\"ename\":\"\",\"evalue\":\"exit status 1\"}",
     .status = "error", .state = "kept",
     .text =
         "Error: exit status 1\n[error: exit status 1; variables are kept]"},
    {"an error without anything", "[{\"output_type\":\"error\"}]",
     .error = "{\"ename\":\"\",\"evalue\":\"\"}", .status = "error",
     .state = "kept", .text = "Error\n[error: an error; variables are kept]"},
    {"the calls within a cell are told",
     "[{\"output_type\":\"error\",\"ename\":\"E\",\"evalue\":\"\"}]",
     .error = "{\"ename\":\"E\",\"evalue\":\"\",\"line\":2,\"function\":\"f\","
              "\"calls\":[{\"line\":5,\"function\":\"g\"},{\"line\":7}],"
              "\"source\":\"-> 2 1/0\"}",
     .status = "error", .state = "kept",
     .text =
         "Error in line 2 of the cell, in f (called from line 5, in g; line "
         "7):\n-> 2 1/0\nE\n[error: E; variables are kept]"},
    {"a cause that says the same, in a new kernel",
     "[{\"output_type\":\"error\"}]",
     .error =
         "{\"ename\":\"KeyError\",\"evalue\":\"'b'\",\"causes\":[\"KeyError:"
         " 'b'\",\"E\"]}",
     .status = "error", .state = "lost", .reason = "exit code 7",
     .text = "KeyError: 'b'\nCause: E\n[error: KeyError; the variables of "
             "earlier cells are lost, those of this cell are kept (exit code "
             "7)]"},
    {"the first run of a new kernel, interrupted", "[]", .status = "timeout",
     .state = "lost", .reason = "signal 9", .ended_by = "SIGINT",
     .text = "[timeout: the code did not end within its time limit, ended by "
             "SIGINT; the variables of earlier cells are lost, those of this "
             "cell are kept (signal 9)]"},
    {"a hint without an error", "[" STDOUT("ERROR: x\\n") "]", .status = "ok",
     .state = "kept", .hint = "Use what is there.",
     .text = "ERROR: x\n[hint: Use what is there.]\n"},
    {"notes, a hint and an end", "[" STDOUT("x") "]", .status = "timeout",
     .state = "kept", .hint = "Use what is there.",
     .notes = "[\"one\",\"two\\u001b[1m\",3,\"four\",\"five\"]",
     .text =
         "x\n[note: one]\n[note: two]\n[note: ]\n[note: 2 more in notes]\n"
         "[hint: Use what is there.]\n[timeout: the code did not end within "
         "its time limit; variables are kept]"},
    {"a note without an output", "[]", .status = "ok", .notes = "[\"one\"]",
     .text = "[note: one]\n"},
    {"late output of earlier runs", "[" STDOUT("now") "]", .status = "ok",
     .late = "[{\"run\":\"1\",\"output\":" STDERR(
         "then\\n") "},{\"run\":"
                    "\"1\",\"output\":" DATA("\"text/plain\":\"2\"") "}]",
     .text = "now\n[late output of earlier runs]\n[stderr]\nthen\n[result]\n2"
             "\n[end of late output]\n"},
    {"a time limit", "[" STDOUT("1\\n") "]", .status = "timeout",
     .state = "kept", .ended_by = "SIGINT", .timeout_ms = 2000,
     .text = "1\n[timeout: the code did not end within its time limit of 2 s, "
             "ended by SIGINT; variables are kept]"},
    {"a death", "[" STDOUT("1") "]", .status = "kernel_died", .state = "lost",
     .died = true, .reason = "signal 9 (SIGKILL)",
     .text = "1\n[kernel_died: the kernel process ended during the run; all "
             "variables are lost (signal 9 (SIGKILL))]"},
    {"memory", "[]", .status = "oom", .state = "lost", .died = true,
     .text = "[oom: the kernel reached its memory limit; all variables "
             "are lost]"},
};

static void rows_give_their_text(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    const struct row *row = &rows[i];
    struct json *outputs = parse(row->outputs), *images = parse(row->images);
    struct json *files = parse(row->files), *error = parse(row->error);
    struct json *late = parse(row->late), *notes = parse(row->notes);
    struct text_source source = {
        .status = row->status,
        .outputs = outputs,
        .images = images,
        .files = files,
        .error = error,
        .late = late,
        .notes = notes,
        .hint = row->hint,
        .died = row->died,
        .kernel_state = row->state,
        .kernel_reason = row->reason,
        .ended_by = row->ended_by,
        .timeout_ms = row->timeout_ms,
        .limit = 12000,
    };
    struct buf text = BUF_INIT(BUF_SMALL);
    assert_int_equal(text_compose(&source, &text), 0);
    if (strcmp(buf_string(&text), row->text) != 0)
      fail_msg("%s: got\n%s\ninstead of\n%s", row->name, buf_string(&text),
               row->text);
    buf_free(&text);
    json_free(outputs);
    json_free(images);
    json_free(files);
    json_free(error);
    json_free(late);
    json_free(notes);
  }
}

static struct json *stream_of(const char *text, size_t length) {
  struct json *outputs = json_array(), *output = json_object();
  json_set_text(output, "output_type", "stream");
  json_set_text(output, "name", "stdout");
  json_set(output, "text", json_string_n(text, length));
  json_push(outputs, output);
  return outputs;
}

static void a_long_text_keeps_a_quarter_and_three_quarters(void **state) {
  (void)state;
  struct buf printed = BUF_INIT(BUF_ANSWER);
  for (int i = 0; i < 5000; i++)
    buf_format(&printed, "line %d\n", i);
  struct json *outputs = stream_of(printed.data, printed.length);
  struct text_source source = {.status = "error",
                               .outputs = outputs,
                               .kernel_state = "kept",
                               .full_text_uri = "/tasks/demo/artifacts/f.txt",
                               .limit = 1000};
  struct buf text = BUF_INIT(BUF_SMALL), full = BUF_INIT(BUF_ANSWER);
  assert_int_equal(text_compose(&source, &text), 0);
  const char *string = buf_string(&text);
  assert_in_range(text.length, 800, 1000);
  assert_memory_equal(string, "line 0\nline 1\n", 14);
  const char *marker = strstr(string, "\n[… ");
  assert_non_null(marker);
  assert_in_range(marker - string, 130, 225);
  assert_non_null(strstr(string, "characters ("));
  assert_non_null(strstr(string, " of 5000 lines) left out; full text: "
                                 "/tasks/demo/artifacts/f.txt …]\nline 4"));
  const char *last = "line 4999\n[error: the code raised an exception; "
                     "variables are kept]";
  assert_string_equal(string + text.length - strlen(last), last);
  assert_int_equal(text_compose_full(&source, &full), 0);
  assert_memory_equal(full.data, printed.data, printed.length);
  buf_free(&full);
  source.limit = 1000000;
  assert_int_equal(text_compose_full(&source, &full), 0);
  buf_free(&full);
  buf_free(&text);
  buf_free(&printed);
  json_free(outputs);
}

/* Whatever the limit, the text is within it (but for the last line) and made
 * of whole characters. */
static void bounds_hold_at_every_limit(void **state) {
  (void)state;
  struct buf printed = BUF_INIT(BUF_SMALL);
  for (int i = 0; i < 300; i++)
    if (i % 7 == 0)
      buf_format(&printed, "%d\n", i);
    else
      buf_text(&printed, "é☃😀e\u0301");
  struct json *outputs = stream_of(printed.data, printed.length);
  size_t all = utf8_count(printed.data, printed.length);
  for (size_t limit = 0; limit < all + 10; limit += 3) {
    struct text_source source = {
        .status = "ok", .outputs = outputs, .limit = limit};
    struct buf text = BUF_INIT(BUF_SMALL);
    assert_int_equal(text_compose(&source, &text), 0);
    assert_true(utf8_is_valid(buf_string(&text), text.length));
    size_t count = utf8_count(buf_string(&text), text.length);
    assert_true(count <= (limit > 80 ? limit : 80));
    if (limit >= all)
      assert_string_equal(buf_string(&text), printed.data);
    buf_free(&text);
  }
  buf_free(&printed);
  json_free(outputs);
}

static void the_last_line_is_never_cut(void **state) {
  (void)state;
  struct json *outputs = stream_of("some output\n", 12);
  struct text_source source = {.status = "oom",
                               .outputs = outputs,
                               .kernel_state = "lost",
                               .died = true,
                               .limit = 1};
  struct buf text = BUF_INIT(BUF_SMALL);
  assert_int_equal(text_compose(&source, &text), 0);
  assert_non_null(strstr(buf_string(&text),
                         "[oom: the kernel reached its memory limit; all "
                         "variables are lost]"));
  buf_free(&text);
  json_free(outputs);
}

static void a_cut_never_parts_what_combines(void **state) {
  (void)state;
  struct characters_cut cut;
  const char *text = "ab👩\u200D🚀cdefghijklmnop";
  characters_cut(text, strlen(text), utf8_count(text, strlen(text)), 16, &cut);
  assert_int_equal(cut.head_end, 2);
  assert_string_equal(text + cut.tail_start, "efghijklmnop");
  assert_int_equal(cut.dropped, 5);
}

static void prompt_of_an_error(void **state) {
  (void)state;
  struct json *outputs =
      parse("[" STDOUT("loading\\n") ",{\"output_type\":\"error\",\"ename\":"
                                     "\"E\",\"evalue\":\"\"}]");
  struct json *error = parse(
      "{\"ename\":\"NameError\",\"evalue\":\"name 'totl' is not defined\","
      "\"line\":2,\"source\":\"   1 total = 3\\n-> 2 print(totl)\","
      "\"causes\":[],\"hint\":\"Close names that exist: total.\"}");
  struct text_source source = {.status = "error",
                               .outputs = outputs,
                               .error = error,
                               .kernel_state = "kept"};
  struct buf prompt = BUF_INIT(BUF_SMALL);
  assert_int_equal(text_prompt(&source, &prompt), 0);
  assert_string_equal(buf_string(&prompt),
                      "Status: error: the code raised an exception\n"
                      "NameError: name 'totl' is not defined\n"
                      "Error in line 2 of the cell:\n"
                      "   1 total = 3\n"
                      "-> 2 print(totl)\n"
                      "State: variables are kept\n"
                      "Output until then:\n"
                      "loading\n"
                      "Hint: Close names that exist: total.\n");
  buf_free(&prompt);
  json_free(outputs);
  json_free(error);
}

static void prompt_of_a_timeout(void **state) {
  (void)state;
  struct text_source source = {.status = "timeout",
                               .kernel_state = "lost",
                               .died = true,
                               .kernel_reason = "did not answer the interrupt",
                               .ended_by = "SIGKILL",
                               .timeout_ms = 1500};
  struct buf prompt = BUF_INIT(BUF_SMALL);
  assert_int_equal(text_prompt(&source, &prompt), 0);
  assert_string_equal(
      buf_string(&prompt),
      "Status: timeout: the code did not end within its time limit of 1.5 s, "
      "ended by SIGKILL\n"
      "State: all variables are lost (did not answer the interrupt)\n");
  buf_free(&prompt);
}

static void prompt_is_one_page_whatever_comes(void **state) {
  (void)state;
  char *noise = mem_new(300001);
  memset(noise, 'x', 300000);
  struct json *outputs = stream_of(noise, 300000);
  struct json *error = json_object(), *causes = json_array();
  json_push(causes, json_string(noise));
  json_push(causes, json_string(noise));
  json_push(causes, json_string(noise));
  json_set_text(error, "ename", noise);
  json_set_text(error, "evalue", noise);
  json_set_text(error, "source", noise);
  json_set_integer(error, "line", 7);
  json_set_text(error, "hint", noise);
  json_set(error, "causes", causes);
  struct json *files = json_array();
  for (int i = 0; i < 100; i++) {
    struct json *file = json_object();
    json_set_text(file, "path", noise);
    json_push(files, file);
  }
  struct text_source source = {.status = "error",
                               .outputs = outputs,
                               .error = error,
                               .files = files,
                               .kernel_state = "kept",
                               .kernel_reason = noise};
  struct buf prompt = BUF_INIT(BUF_SMALL);
  assert_int_equal(text_prompt(&source, &prompt), 0);
  assert_in_range(utf8_count(prompt.data, prompt.length), 2500, 4000);
  buf_free(&prompt);
  json_free(files);
  json_free(error);
  json_free(outputs);
  free(noise);
}

static void prompt_of_an_exception_that_was_only_shown(void **state) {
  (void)state;
  struct json *error = parse("{\"ename\":\"E\",\"evalue\":\"v\",\"line\":3}");
  struct text_source source = {
      .status = "ok", .error = error, .kernel_state = "kept"};
  struct buf prompt = BUF_INIT(BUF_SMALL);
  assert_int_equal(text_prompt(&source, &prompt), 0);
  assert_string_equal(buf_string(&prompt),
                      "Status: ok: the run ended, but it showed an exception\n"
                      "E: v\n"
                      "Error in line 3 of the cell\n"
                      "State: variables are kept\n");
  buf_free(&prompt);
  json_free(error);
}

static void prompt_of_ok_is_nothing(void **state) {
  (void)state;
  struct text_source source = {.status = "ok"};
  struct buf prompt = BUF_INIT(BUF_SMALL);
  assert_int_equal(text_prompt(&source, &prompt), 0);
  assert_int_equal(prompt.length, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_give_their_text),
      cmocka_unit_test(a_long_text_keeps_a_quarter_and_three_quarters),
      cmocka_unit_test(bounds_hold_at_every_limit),
      cmocka_unit_test(the_last_line_is_never_cut),
      cmocka_unit_test(a_cut_never_parts_what_combines),
      cmocka_unit_test(prompt_of_an_error),
      cmocka_unit_test(prompt_of_a_timeout),
      cmocka_unit_test(prompt_is_one_page_whatever_comes),
      cmocka_unit_test(prompt_of_an_exception_that_was_only_shown),
      cmocka_unit_test(prompt_of_ok_is_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
