/* Paths, lines and forms as E2B's SDKs write and read them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/mem.h"
#include "fcgi/e2b/e2b_form.h"
#include "fcgi/e2b/e2b_lines.h"
#include "fcgi/e2b/e2b_path.h"

static void paths_lead_into_the_workspace(void **state) {
  (void)state;
  static const struct {
    const char *path, *relative; /* NULL: refused */
  } rows[] = {{"/home/user", ""},
              {"/home/user/", ""},
              {"/home/user/a/b", "a/b"},
              {"/work/a", "a"},
              {"/mnt/data/a", "a"},
              {"~/a", "a"},
              {"a//./b/", "a/b"},
              {".", ""},
              {"", ""},
              {"..a", "..a"},
              {"/home/username", NULL},
              {"/etc/passwd", NULL},
              {"/", NULL},
              {"..", NULL},
              {"a/../b", NULL},
              {"/home/user/../x", NULL}};
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    CLEANUP(buf_free) struct buf relative = BUF_INIT(BUF_LINE);
    struct err err = {.kind = ERR_NONE};
    int result = e2b_path_read(rows[i].path, &relative, &err);
    if ((result == 0) != (rows[i].relative != NULL))
      fail_msg("%s", rows[i].path);
    assert_string_equal(buf_string(&relative),
                        rows[i].relative == NULL ? "" : rows[i].relative);
    assert_int_equal(err.kind, result == 0 ? ERR_NONE : ERR_NOT_FOUND);
  }
}

static struct json *parse(const char *text) {
  struct json *value = NULL;
  assert_int_equal(
      json_parse(text, strlen(text), &JSON_RULES_REQUEST, &value, NULL), 0);
  return value;
}

static void outputs_are_lines(void **state) {
  (void)state;
  static const struct {
    const char *type, *content, *line;
  } rows[] = {
      {"execute_result",
       "{\"data\":{\"text/plain\":\"'a'\",\"image/png\":\"AA\",\"x/y\":1}}",
       "{\"type\":\"result\",\"is_main_result\":true,\"text\":\"a\",\"png\":"
       "\"AA\",\"extra\":{\"x/y\":1}}\n"},
      {"display_data", "{\"data\":{\"application/json\":[1]}}",
       "{\"type\":\"result\",\"is_main_result\":false,\"extra\":{"
       "\"application/json\":[1]}}\n"},
      {"error",
       "{\"ename\":\"E\",\"evalue\":\"v\",\"traceback\":[\"a\",\"b\"]}",
       "{\"type\":\"error\",\"name\":\"E\",\"value\":\"v\",\"traceback\":"
       "\"a\\nb\"}\n"},
      {"clear_output", "{\"wait\":false}", ""},
      {"keepalive", "null", "{\"type\":\"keepalive\"}\n"},
      {"answer", "{\"status\":\"ok\",\"execution_count\":3}",
       "{\"type\":\"number_of_executions\",\"execution_count\":3}\n"
       "{\"type\":\"end_of_execution\"}\n"},
      {"answer",
       "{\"status\":\"timeout\",\"execution_count\":1,\"error\":{\"ename\":"
       "\"Timeout\",\"evalue\":\"over\",\"traceback\":[]}}",
       "{\"type\":\"number_of_executions\",\"execution_count\":1}\n"
       "{\"type\":\"error\",\"name\":\"Timeout\",\"value\":\"over\","
       "\"traceback\":\"\"}\n{\"type\":\"end_of_execution\"}\n"},
  };
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    CLEANUP(buf_free) struct buf out = BUF_INIT(BUF_LINE);
    CLEANUP(json_done) struct json *content = parse(rows[i].content);
    assert_int_equal(e2b_lines_form.frame(rows[i].type, content, &out), 0);
    assert_string_equal(buf_string(&out), rows[i].line);
  }
}

static void a_line_that_does_not_fit_leaves_nothing(void **state) {
  (void)state;
  CLEANUP(buf_free) struct buf out = BUF_INIT(20);
  CLEANUP(json_done)
  struct json *content = parse("{\"name\":\"stdout\",\"text\":\"long\"}");
  assert_int_equal(e2b_lines_form.frame("stream", content, &out), -1);
  assert_int_equal(out.length, 0);
}

#define TYPE "multipart/form-data; boundary=\"b b\""

static void forms_have_parts(void **state) {
  (void)state;
  static const char body[] =
      "preamble\r\n--b b\r\nContent-Disposition: form-data; name=\"file\"; "
      "filename=\"a%22\\\"b.txt\"\r\nContent-Type: text/plain\r\n\r\none\r\n"
      "--b b\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\n\r\n--b b--";
  struct e2b_form_part parts[2];
  struct err err;
  assert_int_equal(e2b_form_read(TYPE, body, sizeof body - 1, parts, 2, &err),
                   2);
  assert_string_equal(parts[0].filename, "a\"\"b.txt");
  assert_int_equal(parts[0].length, 3);
  assert_memory_equal(parts[0].bytes, "one", 3);
  assert_null(parts[1].filename);
  assert_int_equal(parts[1].length, 0);
  e2b_form_free(parts, 2);
  assert_int_equal(e2b_form_read(TYPE, body, sizeof body - 1, parts, 1, &err),
                   -1);
  assert_int_equal(err.kind, ERR_TOO_LARGE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(paths_lead_into_the_workspace),
      cmocka_unit_test(outputs_are_lines),
      cmocka_unit_test(a_line_that_does_not_fit_leaves_nothing),
      cmocka_unit_test(forms_have_parts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
