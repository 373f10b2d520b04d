/* Cells as bytes: what nbformat would write, and valid by its schema. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/mem.h"
#include "core/notebook/cell.h"
#include "core/notebook/cell_clean.h"
#include "core/notebook/outputs.h"

static struct json *parse(const char *text) {
  struct json *value = NULL;
  struct err err = {0};
  if (json_parse(text, strlen(text), &JSON_RULES_NOTEBOOK, &value, &err) < 0)
    fail_msg("%s: %s", text, err.text);
  return value;
}

static void code(const char *id, const char *source, const char *outputs,
                 struct buf *out) {
  CLEANUP(json_done)
  struct json *list = outputs == NULL ? NULL : parse(outputs);
  const struct code_cell cell = {.id = id,
                                 .source = source,
                                 .source_length = strlen(source),
                                 .execution_count = -1,
                                 .outputs = list};
  assert_int_equal(cell_write_code(&cell, out), 0);
}

static void a_bare_code_cell(void **state) {
  (void)state;
  CLEANUP(buf_free) struct buf out = BUF_INIT(BUF_NOTEBOOK);
  code("a-1", "", NULL, &out);
  assert_string_equal(buf_string(&out), "  {\n"
                                        "   \"cell_type\": \"code\",\n"
                                        "   \"execution_count\": null,\n"
                                        "   \"id\": \"a-1\",\n"
                                        "   \"metadata\": {},\n"
                                        "   \"outputs\": [],\n"
                                        "   \"source\": []\n"
                                        "  }");
}

static void a_full_code_cell(void **state) {
  (void)state;
  CLEANUP(json_done)
  struct json *tags = parse("[\"a\", \"b,c\", \"\", \"a\", 5, \"d\"]");
  CLEANUP(json_done)
  struct json *outputs =
      parse("[{\"output_type\": \"stream\", \"name\": \"stdout\","
            "  \"text\": \"one\\ntwo\"}]");
  const struct code_cell cell = {
      .id = "run",
      .source = "x = 1\nx",
      .source_length = 7,
      .execution_count = 3,
      .outputs = outputs,
      .tags = tags,
      .busy_at = INT64_C(1764446698219554),
      .idle_at = INT64_C(1764446698219555),
      .run = "run",
      .status = "ok",
      .late = true,
  };
  CLEANUP(buf_free) struct buf out = BUF_INIT(BUF_NOTEBOOK);
  assert_int_equal(cell_write_code(&cell, &out), 0);
  assert_string_equal(
      buf_string(&out),
      "  {\n"
      "   \"cell_type\": \"code\",\n"
      "   \"execution_count\": 3,\n"
      "   \"id\": \"run\",\n"
      "   \"metadata\": {\n"
      "    \"cellpost\": {\n"
      "     \"late\": true,\n"
      "     \"run\": \"run\",\n"
      "     \"status\": \"ok\"\n"
      "    },\n"
      "    \"execution\": {\n"
      "     \"iopub.status.busy\": \"2025-11-29T20:04:58.219554Z\",\n"
      "     \"iopub.status.idle\": \"2025-11-29T20:04:58.219555Z\"\n"
      "    },\n"
      "    \"tags\": [\n"
      "     \"a\",\n"
      "     \"d\"\n"
      "    ]\n"
      "   },\n"
      "   \"outputs\": [\n"
      "    {\n"
      "     \"name\": \"stdout\",\n"
      "     \"output_type\": \"stream\",\n"
      "     \"text\": [\n"
      "      \"one\\n\",\n"
      "      \"two\"\n"
      "     ]\n"
      "    }\n"
      "   ],\n"
      "   \"source\": [\n"
      "    \"x = 1\\n\",\n"
      "    \"x\"\n"
      "   ]\n"
      "  }");
}

static void a_full_buffer_is_told(void **state) {
  (void)state;
  CLEANUP(buf_free) struct buf out = BUF_INIT(20);
  assert_int_equal(cell_write_markdown("a", "text", 4, &out), -1);
}

/* Sources and their lines, as str.splitlines(True) gives them. */
static const struct {
  const char *source;
  const char *lines[6];
} splits[] = {
    {"", {NULL}},
    {"a", {"\"a\""}},
    {"a\n", {"\"a\\n\""}},
    {"\n\n", {"\"\\n\"", "\"\\n\""}},
    {"a\r\nb\rc", {"\"a\\r\\n\"", "\"b\\r\"", "\"c\""}},
    {"a\vb\fc", {"\"a\\u000b\"", "\"b\\f\"", "\"c\""}},
    {"a\x1c"
     "b\x1d"
     "c\x1e"
     "d\x1f"
     "e",
     {"\"a\\u001c\"", "\"b\\u001d\"", "\"c\\u001e\"", "\"d\\u001fe\""}},
    {"a\xc2\x85"
     "b\xc2\x84"
     "c",
     {"\"a\xc2\x85\"", "\"b\xc2\x84"
                       "c\""}},
    {"a\xe2\x80\xa8"
     "b\xe2\x80\xa9"
     "c\xe2\x80\xaa"
     "d",
     {"\"a\xe2\x80\xa8\"", "\"b\xe2\x80\xa9\"",
      "\"c\xe2\x80\xaa"
      "d\""}},
};

static void splits_lines_as_python_does(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(splits); i++) {
    CLEANUP(buf_free) struct buf out = BUF_INIT(BUF_NOTEBOOK);
    CLEANUP(buf_free) struct buf want = BUF_INIT(BUF_NOTEBOOK);
    code("a", splits[i].source, NULL, &out);
    buf_text(&want, "   \"source\": [");
    size_t j = 0;
    for (; splits[i].lines[j] != NULL; j++)
      buf_format(&want, "%s\n    %s", j == 0 ? "" : ",", splits[i].lines[j]);
    buf_text(&want, j == 0 ? "]\n  }" : "\n   ]\n  }");
    const char *source = strstr(buf_string(&out), "   \"source\"");
    assert_string_equal(source, buf_string(&want));
  }
}

/* Mime types and how their value "a\nb" stands in the file. */
static const struct {
  const char *mime;
  bool split;
} mimes[] = {
    {"text/plain", true},
    {"text/html", true},
    {"text/vnd.x", true},
    {"application/javascript", true},
    {"image/svg+xml", true},
    {"image/png", false},
    {"image/jpeg", false},
    {"application/pdf", false},
    {"application/x-javascript", false},
    {"application/vnd.x+json", false},
    {"application/json", false},
};

static void splits_the_values_that_nbformat_splits(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(mimes); i++) {
    CLEANUP(buf_free) struct buf outputs = BUF_INIT(1000);
    CLEANUP(buf_free) struct buf out = BUF_INIT(BUF_NOTEBOOK);
    buf_format(&outputs,
               "[{\"output_type\": \"display_data\", \"metadata\": {},"
               "\"data\": {\"%s\": \"a\\nb\"}}]",
               mimes[i].mime);
    code("a", "", buf_string(&outputs), &out);
    bool split = strstr(buf_string(&out), "\"a\\n\",\n       \"b\"\n") != NULL;
    bool whole = strstr(buf_string(&out), "\": \"a\\nb\"\n") != NULL;
    assert_int_equal(split, mimes[i].split);
    assert_int_equal(whole, !mimes[i].split);
  }
}

static void a_traceback_is_not_split(void **state) {
  (void)state;
  CLEANUP(buf_free) struct buf out = BUF_INIT(BUF_NOTEBOOK);
  code("a", "",
       "[{\"output_type\": \"error\", \"ename\": \"E\", \"evalue\": "
       "\"v\\nw\", \"traceback\": [\"a\\nb\", \"c\"]}]",
       &out);
  assert_non_null(strstr(buf_string(&out), "     \"ename\": \"E\",\n"
                                           "     \"evalue\": \"v\\nw\",\n"
                                           "     \"output_type\": \"error\",\n"
                                           "     \"traceback\": [\n"
                                           "      \"a\\nb\",\n"
                                           "      \"c\"\n"
                                           "     ]\n"));
}

static void json_values_keep_their_form(void **state) {
  (void)state;
  CLEANUP(buf_free) struct buf out = BUF_INIT(BUF_NOTEBOOK);
  code("a", "",
       "[{\"output_type\": \"display_data\", \"metadata\": {}, \"data\": "
       "{\"application/json\": {\"b\": [], \"a\": [1, {}, 1e400]}}}]",
       &out);
  assert_non_null(strstr(buf_string(&out), "      \"application/json\": {\n"
                                           "       \"a\": [\n"
                                           "        1,\n"
                                           "        {},\n"
                                           "        1e400\n"
                                           "       ],\n"
                                           "       \"b\": []\n"
                                           "      }\n"));
}

/* What stands in front of the first cell of a Python notebook. */
static void write_metadata(struct buf *out) {
  CLEANUP(json_done) struct json *metadata = json_object();
  json_set(metadata, "kernelspec",
           cell_kernelspec("python3", "Python 3", "python"));
  json_set(metadata, "language_info", cell_language_info(NULL, "python"));
  assert_int_equal(cell_write_metadata(metadata, out), 0);
}

static void the_preamble_stands_in_front(void **state) {
  (void)state;
  CLEANUP(buf_free) struct buf out = BUF_INIT(BUF_NOTEBOOK);
  write_metadata(&out);
  assert_string_equal(buf_string(&out), "{\n"
                                        " \"metadata\": {\n"
                                        "  \"kernelspec\": {\n"
                                        "   \"display_name\": \"Python 3\",\n"
                                        "   \"language\": \"python\",\n"
                                        "   \"name\": \"python3\"\n"
                                        "  },\n"
                                        "  \"language_info\": {\n"
                                        "   \"name\": \"python\"\n"
                                        "  }\n"
                                        " },\n"
                                        " \"nbformat\": 4,\n"
                                        " \"nbformat_minor\": 5,\n"
                                        " \"cells\": [");
}

static void language_info_is_made_valid(void **state) {
  (void)state;
  CLEANUP(json_done)
  struct json *info = parse(
      "{\"version\": \"3.11\", \"codemirror_mode\": {\"name\": \"ipython\"},"
      "\"file_extension\": 5, \"nbconvert_exporter\": \"python\"}");
  CLEANUP(json_done) struct json *clean = cell_language_info(info, "python");
  CLEANUP(buf_free) struct buf out = BUF_INIT(1000);
  json_write(clean, &out);
  assert_string_equal(
      buf_string(&out),
      "{\"version\":\"3.11\",\"codemirror_mode\":{\"name\":\"ipython\"},"
      "\"nbconvert_exporter\":\"python\",\"name\":\"python\"}");
}

/* Cells from elsewhere and what is kept of them; NULL: nothing. */
static const struct {
  const char *cell, *clean;
} foreign[] = {
    {"5", NULL},
    {"{\"cell_type\": \"heading\", \"source\": \"x\"}", NULL},
    {"{\"cell_type\": \"code\"}", NULL},
    {"{\"cell_type\": \"code\", \"source\": {}}", NULL},
    {"{\"cell_type\": \"code\", \"source\": [\"a\\n\", \"b\"], \"input\": 1}",
     "{\"cell_type\":\"code\",\"metadata\":{},\"source\":\"a\\nb\","
     "\"execution_count\":null,\"outputs\":[]}"},
    {"{\"cell_type\": \"markdown\", \"source\": \"#\", \"outputs\": [],"
     "\"id\": \"ok_1\", \"attachments\": {\"a.png\": {\"image/png\": "
     "[\"A\"]}}}",
     "{\"cell_type\":\"markdown\",\"id\":\"ok_1\",\"metadata\":{},"
     "\"source\":\"#\",\"attachments\":{\"a.png\":{\"image/png\":\"A\"}}}"},
    {"{\"cell_type\": \"raw\", \"source\": \"\", \"id\": \"not ok\"}",
     "{\"cell_type\":\"raw\",\"metadata\":{},\"source\":\"\"}"},
    {"{\"cell_type\": \"code\", \"source\": \"\", \"execution_count\": -3,"
     "\"metadata\": {\"tags\": [\"a\", \"a\"], \"name\": \"\", \"x\": [1],"
     "\"scrolled\": \"no\", \"collapsed\": 1, \"trusted\": true,"
     "\"execution\": {\"a\": \"b\", \"c\": 1}}}",
     "{\"cell_type\":\"code\",\"metadata\":{\"tags\":[\"a\"],\"x\":[1],"
     "\"execution\":{\"a\":\"b\"}},\"source\":\"\",\"execution_count\":null,"
     "\"outputs\":[]}"},
    {"{\"cell_type\": \"code\", \"source\": \"\", \"outputs\": ["
     "{\"output_type\": \"pyout\"}, 7, {\"output_type\": \"error\"},"
     "{\"output_type\": \"stream\", \"text\": [\"a\", \"b\"], \"extra\": 1},"
     "{\"output_type\": \"execute_result\", \"execution_count\": \"1\","
     "\"data\": {\"text/plain\": 5, \"text/html\": null}}]}",
     "{\"cell_type\":\"code\",\"metadata\":{},\"source\":\"\","
     "\"execution_count\":null,\"outputs\":["
     "{\"output_type\":\"error\",\"ename\":\"\",\"evalue\":\"\","
     "\"traceback\":[]},"
     "{\"output_type\":\"stream\",\"name\":\"stdout\",\"text\":\"ab\"},"
     "{\"output_type\":\"execute_result\",\"data\":{\"text/plain\":\"5\"},"
     "\"metadata\":{},\"execution_count\":null}]}"},
};

static void foreign_cells_are_made_valid(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(foreign); i++) {
    CLEANUP(json_done) struct json *cell = parse(foreign[i].cell);
    CLEANUP(json_done) struct json *clean = cell_clean(cell);
    CLEANUP(buf_free) struct buf out = BUF_INIT(BUF_SMALL);
    json_write(clean, &out);
    assert_string_equal(buf_string(&out),
                        foreign[i].clean == NULL ? "null" : foreign[i].clean);
  }
}

static void ids_are_checked(void **state) {
  (void)state;
  char id[66] = {0};
  memset(id, 'x', 64);
  assert_true(cell_is_id(id));
  id[64] = 'x';
  assert_false(cell_is_id(id));
  assert_true(cell_is_id("azAZ09_-"));
  assert_false(cell_is_id(""));
  assert_false(cell_is_id("a\n"));
  assert_false(cell_is_id("é"));
  assert_false(cell_is_id(NULL));
}

/* All of it in one notebook, against nbformat itself. */
static void nbformat_finds_nothing_wrong(void **state) {
  (void)state;
  CLEANUP(buf_free) struct buf out = BUF_INIT(BUF_NOTEBOOK);
  write_metadata(&out);
  const char *separator = "\n";
  char id[16];
  for (size_t i = 0; i < COUNT_OF(splits); i++, separator = ",\n") {
    CLEANUP(json_done)
    struct json *outputs =
        parse("[{\"output_type\": \"stream\", \"name\": \"stderr\"}]");
    json_set_text(json_at(outputs, 0), "text", splits[i].source);
    snprintf(id, sizeof id, "split-%zu", i);
    buf_text(&out, separator);
    const struct code_cell cell = {.id = id,
                                   .source = splits[i].source,
                                   .source_length = strlen(splits[i].source),
                                   .execution_count = (int64_t)i,
                                   .outputs = outputs,
                                   .input_at = 1};
    assert_int_equal(cell_write_code(&cell, &out), 0);
  }
  for (size_t i = 0; i < COUNT_OF(foreign); i++) {
    CLEANUP(json_done) struct json *cell = parse(foreign[i].cell);
    CLEANUP(json_done) struct json *clean = cell_clean(cell);
    if (clean == NULL)
      continue;
    snprintf(id, sizeof id, "foreign-%zu", i);
    json_set_text(clean, "id", id);
    buf_text(&out, separator);
    assert_int_equal(cell_write_json(clean, &out), 0);
  }
  for (size_t i = 0; i < COUNT_OF(mimes); i++) {
    CLEANUP(buf_free) struct buf outputs = BUF_INIT(1000);
    buf_format(&outputs,
               "[{\"output_type\": \"display_data\", \"metadata\": {\"é\": 1},"
               "\"data\": {\"%s\": \"a\\nb\\u007f\\u0001\\\"/\\\\\"}}]",
               mimes[i].mime);
    snprintf(id, sizeof id, "mime-%zu", i);
    buf_text(&out, separator);
    code(id, "é 😀\t", buf_string(&outputs), &out);
  }
  buf_text(&out, separator);
  cell_write_markdown("m", "# a\nb", 5, &out);
  buf_text(&out, "\n ]\n}\n");

  char path[] = "/tmp/cellpost-test-cell-XXXXXX";
  int file = mkstemp(path);
  assert_int_equal(write(file, out.data, out.length), out.length);
  close(file);
  CLEANUP(mem_free_pointer)
  char *command = mem_format(
      "/usr/bin/python3 tests/unit/check_notebook.py --same %s", path);
  int status = system(command);
  unlink(path);
  assert_int_equal(status, 0);
}

static struct json *stream(const char *name, const char *text) {
  struct json *output = json_object();
  json_set_text(output, "output_type", "stream");
  json_set_text(output, "name", name);
  json_set_text(output, "text", text);
  return output;
}

static void neighbours_of_one_stream_are_joined(void **state) {
  (void)state;
  CLEANUP(json_done)
  struct json *expected = parse(
      "[{\"output_type\":\"stream\",\"name\":\"stdout\",\"text\":\"abc\"},"
      "{\"output_type\":\"stream\",\"name\":\"stderr\",\"text\":\"d\"},"
      "{\"output_type\":\"stream\",\"name\":\"stdout\",\"text\":\"e\"}]");
  static const char *const parts[][2] = {{"stdout", "a"},
                                         {"stdout", "b"},
                                         {"stdout", "c"},
                                         {"stderr", "d"},
                                         {"stdout", "e"}};
  CLEANUP(json_done) struct json *apart = json_array();
  for (size_t i = 0; i < COUNT_OF(parts); i++)
    json_push(apart, stream(parts[i][0], parts[i][1]));
  CLEANUP(json_done) struct json *before = json_copy(apart);
  CLEANUP(json_done) struct json *joined = outputs_join(apart);
  assert_true(json_equal(joined, expected));
  assert_true(json_equal(apart, before));
}

/* The notebook's text is a list of lines. */
static void lines_are_joined_too(void **state) {
  (void)state;
  CLEANUP(json_done)
  struct json *outputs =
      parse("[{\"output_type\":\"stream\",\"name\":\"stdout\","
            "\"text\":[\"a\\n\",\"b\"]}]");
  json_push(outputs, stream("stdout", "c"));
  CLEANUP(json_done) struct json *joined = outputs_join(outputs);
  assert_int_equal(json_length(joined), 1);
  assert_string_equal(json_get_text(json_at(joined, 0), "text"), "a\nbc");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_bare_code_cell),
      cmocka_unit_test(a_full_code_cell),
      cmocka_unit_test(a_full_buffer_is_told),
      cmocka_unit_test(splits_lines_as_python_does),
      cmocka_unit_test(splits_the_values_that_nbformat_splits),
      cmocka_unit_test(a_traceback_is_not_split),
      cmocka_unit_test(json_values_keep_their_form),
      cmocka_unit_test(the_preamble_stands_in_front),
      cmocka_unit_test(language_info_is_made_valid),
      cmocka_unit_test(foreign_cells_are_made_valid),
      cmocka_unit_test(ids_are_checked),
      cmocka_unit_test(nbformat_finds_nothing_wrong),
      cmocka_unit_test(neighbours_of_one_stream_are_joined),
      cmocka_unit_test(lines_are_joined_too),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
