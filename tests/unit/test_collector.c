/* The output collector: message sequences in, nbformat outputs out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/notebook/collector.h"

static const struct output_limits roomy = {.bytes = 10 << 20,
                                           .bytes_hard = 0,
                                           .outputs = 1000,
                                           .image_bytes = 4 << 20};

static struct json *parse(const char *text) {
  struct json *value = NULL;
  struct err err = {0};
  if (json_parse(text, strlen(text), &JSON_RULES_KERNEL, &value, &err) < 0)
    fail_msg("%s: %s", text, err.text);
  return value;
}

static bool add(struct collector *collector, const char *type,
                const char *content) {
  CLEANUP(json_done) struct json *value = parse(content);
  return collector_add(collector, type, value);
}

static bool print(struct collector *collector, const char *name,
                  const char *text) {
  CLEANUP(json_done) struct json *content = json_object();
  json_set_text(content, "name", name);
  json_set_text(content, "text", text);
  return collector_add(collector, "stream", content);
}

static char *outputs_text(const struct collector *collector) {
  CLEANUP(json_done) struct json *outputs = collector_outputs(collector);
  struct buf text = BUF_INIT(BUF_NOTEBOOK);
  json_write(outputs, &text);
  return buf_take(&text);
}

static void check_outputs(const struct collector *collector,
                          const char *expected) {
  CLEANUP(mem_free_pointer) char *text = outputs_text(collector);
  assert_string_equal(text, expected);
}

#define OUT(text_)                                                             \
  "{\"name\":\"stdout\",\"output_type\":\"stream\",\"text\":\"" text_ "\"}"
#define ERR(text_)                                                             \
  "{\"name\":\"stderr\",\"output_type\":\"stream\",\"text\":\"" text_ "\"}"
#define SHOW(text_)                                                            \
  "{\"data\":{\"text/plain\":\"" text_                                         \
  "\"},\"metadata\":{},\"output_type\":\"display_data\"}"
#define STDOUT(text_) "stream", "{\"name\":\"stdout\",\"text\":\"" text_ "\"}"
#define STDERR(text_) "stream", "{\"name\":\"stderr\",\"text\":\"" text_ "\"}"
#define BUNDLE(id_, text_)                                                     \
  "{\"data\":{\"text/plain\":\"" text_                                         \
  "\"},\"metadata\":{},\"transient\":{\"display_id\":\"" id_ "\"}}"
#define DISPLAY(id_, text_) "display_data", BUNDLE(id_, text_)
#define UPDATE(id_, text_) "update_display_data", BUNDLE(id_, text_)
#define WIDGET(comm_)                                                          \
  "comm_open", "{\"comm_id\":\"" comm_                                         \
               "\",\"target_name\":\"jupyter.widget\",\"data\":{\"state\":"    \
               "{\"_model_name\":\"OutputModel\",\"msg_id\":\"\"}}}"
#define CAPTURE(comm_, id_)                                                    \
  "comm_msg",                                                                  \
      "{\"comm_id\":\"" comm_                                                  \
      "\",\"data\":{\"method\":\"update\",\"state\":{\"msg_id\":\"" id_        \
      "\"}}}"
#define CLEAR "clear_output", "{\"wait\":false}"
#define CLEAR_WAIT "clear_output", "{\"wait\":true}"

static const struct {
  const char *name;
  const char *messages[24]; /* type, content, … */
  const char *outputs;
} sequences[] = {
    {"nothing", {NULL}, "[]"},
    {"neighbours merge",
     {STDOUT("a"), STDOUT("b\\n"), STDOUT("c")},
     "[" OUT("ab\\nc") "]"},
    {"two streams keep their order",
     {STDOUT("a"), STDERR("x"), STDERR("y"), STDOUT("b")},
     "[" OUT("a") "," ERR("xy") "," OUT("b") "]"},
    {"a progress bar",
     {STDOUT("\\r0%"), STDOUT("\\r1%"), STDOUT("\\r2%"), STDOUT("\\r3%"),
      STDOUT("\\r4%")},
     "[" OUT("4%") "]"},
    {"line ends of a terminal", {STDOUT("a\\r\\n")}, "[" OUT("a\\n") "]"},
    {"an empty text is no output", {STDOUT("")}, "[]"},
    {"colours stay",
     {STDOUT("\\u001b[31mred\\u001b[0m")},
     "[" OUT("\\u001b[31mred\\u001b[0m") "]"},
    {"only schema keys",
     {"display_data", "{\"data\":{\"text/"
                      "plain\":\"1\"},\"metadata\":{\"a\":1},\"transient\":{},"
                      "\"buffers\":[],\"x\":1}"},
     "[{\"data\":{\"text/plain\":\"1\"},\"metadata\":{\"a\":1},"
     "\"output_type\":\"display_data\"}]"},
    {"a result",
     {"execute_result", "{\"data\":{\"text/plain\":\"2\"},\"metadata\":{},"
                        "\"execution_count\":7}"},
     "[{\"data\":{\"text/plain\":\"2\"},\"execution_count\":7,\"metadata\":{},"
     "\"output_type\":\"execute_result\"}]"},
    {"a result without anything",
     {"execute_result", "{}"},
     "[{\"data\":{},\"execution_count\":null,\"metadata\":{},"
     "\"output_type\":\"execute_result\"}]"},
    {"an error with more than the schema has",
     {"error", "{\"ename\":\"E\",\"evalue\":\"v\",\"traceback\":[\"a\\nb\",5,"
               "\"c\"],\"execution_count\":3,\"status\":\"error\"}"},
     "[{\"ename\":\"E\",\"evalue\":\"v\",\"output_type\":\"error\","
     "\"traceback\":[\"a\\nb\",\"c\"]}]"},
    {"an error without anything",
     {"error", "null"},
     "[{\"ename\":\"\",\"evalue\":\"\",\"output_type\":\"error\","
     "\"traceback\":[]}]"},
    {"print, display and error",
     {STDOUT("a\\n"), "display_data", "{\"data\":{\"text/plain\":\"1\"}}",
      "error", "{\"ename\":\"Z\",\"evalue\":\"\",\"traceback\":[]}"},
     "[" OUT("a\\n") "," SHOW("1") ",{\"ename\":\"Z\",\"evalue\":\"\","
                                   "\"output_type\":\"error\","
                                   "\"traceback\":[]}]"},
    {"an update changes its display",
     {DISPLAY("a", "1"), DISPLAY("b", "x"), UPDATE("a", "2")},
     "[" SHOW("2") "," SHOW("x") "]"},
    {"an update never appends", {UPDATE("a", "2")}, "[]"},
    {"an update without an id is nothing",
     {DISPLAY("a", "1"), "update_display_data", "{\"data\":{}}"},
     "[" SHOW("1") "]"},
    {"a display that repeats an id changes both",
     {DISPLAY("a", "1"), STDOUT("x"), DISPLAY("a", "2")},
     "[" SHOW("2") "," OUT("x") "," SHOW("2") "]"},
    {"an update changes all with the id",
     {DISPLAY("a", "1"), DISPLAY("a", "2"), UPDATE("a", "3")},
     "[" SHOW("3") "," SHOW("3") "]"},
    {"clear_output",
     {STDOUT("1\\n"), CLEAR, STDOUT("2\\n")},
     "[" OUT("2\\n") "]"},
    {"clear_output at the end", {STDOUT("1"), CLEAR}, "[]"},
    {"waiting for new output that never comes",
     {STDOUT("a"), CLEAR_WAIT},
     "[" OUT("a") "]"},
    {"waiting for new output",
     {STDOUT("a"), CLEAR_WAIT, DISPLAY("d", "1")},
     "[" SHOW("1") "]"},
    {"an update is no new output",
     {DISPLAY("d", "1"), CLEAR_WAIT, UPDATE("d", "2")},
     "[" SHOW("2") "]"},
    {"clear_output now takes a waiting one back",
     {STDOUT("a"), CLEAR_WAIT, CLEAR, STDOUT("b"), STDOUT("c")},
     "[" OUT("bc") "]"},
    {"an update after its display was cleared",
     {DISPLAY("d", "1"), CLEAR, UPDATE("d", "2")},
     "[]"},
    {"values of the wrong kind",
     {"display_data", "{\"data\":{\"text/plain\":[\"a\\n\",\"b\"],"
                      "\"text/html\":{\"a\":1},\"image/png\":null,"
                      "\"application/json\":null,"
                      "\"application/x+json\":[1]},\"metadata\":5}"},
     "[{\"data\":{\"text/plain\":\"a\\nb\",\"text/html\":\"{\\\"a\\\":1}\","
     "\"application/json\":null,\"application/x+json\":[1]},\"metadata\":{},"
     "\"output_type\":\"display_data\"}]"},
    {"not a number",
     {"display_data", "{\"data\":{\"application/json\":{\"a\":NaN,"
                      "\"b\":-Infinity}}}"},
     "[{\"data\":{\"application/json\":{\"a\":\"NaN\",\"b\":\"-Infinity\"}},"
     "\"metadata\":{},\"output_type\":\"display_data\"}]"},
    {"lone surrogates, NUL and big integers",
     {STDOUT("\\ud800\\u0000"), "display_data",
      "{\"data\":{\"application/json\":123456789012345678901234567890}}"},
     "[" OUT("\xef\xbf\xbd\\u0000") ",{\"data\":{\"application/json\":"
                                    "123456789012345678901234567890},"
                                    "\"metadata\":{},"
                                    "\"output_type\":\"display_data\"}]"},
    {"a stream of the wrong kind",
     {"stream", "{\"text\":5}", "stream", "[]", "stream", "{\"text\":[\"a\"]}"},
     "[" OUT("a") "]"},
    {"a widget clears its own outputs only",
     {STDOUT("kept\\n"), WIDGET("w"), CAPTURE("w", "m"), CLEAR_WAIT,
      STDOUT("f 3\\n"), CAPTURE("w", ""), STDOUT("after\\n"), CAPTURE("w", "m"),
      CLEAR_WAIT, STDOUT("f 4\\n"), CAPTURE("w", "")},
     "[" OUT("kept\\nf 4\\nafter\\n") "]"},
    {"a widget's outputs stand together",
     {CAPTURE("w", "m"), STDOUT("1"), CAPTURE("w", ""), STDERR("x"),
      CAPTURE("w", "m"), STDOUT("2"), DISPLAY("d", "3")},
     "[" OUT("12") "," SHOW("3") "," ERR("x") "]"},
    {"of two widgets the one that began last captures",
     {CAPTURE("v", "m"), STDOUT("v"), CAPTURE("w", "m"), STDOUT("w"),
      CAPTURE("w", ""), STDOUT("v"), CLEAR, "comm_close", "{\"comm_id\":\"v\"}",
      STDOUT("cell")},
     "[" OUT("wcell") "]"},
    {"clearing the cell clears its widgets",
     {CAPTURE("w", "m"), STDOUT("1"), CAPTURE("w", ""), STDOUT("2"), CLEAR},
     "[]"},
    {"a widget's state has outputs",
     {WIDGET("w"), STDOUT("a"), "comm_msg",
      "{\"comm_id\":\"w\",\"data\":{\"state\":{\"outputs\":[{\"output_type\":"
      "\"stream\",\"name\":\"stdout\",\"text\":\"b\"}]}}}",
      STDOUT("c")},
     "[" OUT("abc") "]"},
    {"another widget's state is nothing",
     {"comm_open",
      "{\"comm_id\":\"w\",\"data\":{\"state\":{\"_model_name\":"
      "\"IntSliderModel\"}}}",
      "comm_msg", "{\"comm_id\":\"w\",\"data\":{\"state\":{\"value\":3}}}",
      STDOUT("a"), CLEAR},
     "[]"},
    {"others are ignored",
     {"comm_open", "{}", "status", "{}", "", "{}", STDOUT("a")},
     "[" OUT("a") "]"},
};

static void collects_as_the_protocol_says(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(sequences); i++) {
    struct collector *collector = collector_new(&roomy);
    const char *const *message = sequences[i].messages;
    for (; *message != NULL; message += 2)
      add(collector, message[0], message[1]);
    CLEANUP(mem_free_pointer) char *text = outputs_text(collector);
    if (strcmp(text, sequences[i].outputs) != 0)
      fail_msg("%s:\n got %s\nwant %s", sequences[i].name, text,
               sequences[i].outputs);
    collector_done(&collector);
  }
}

/* Everything written to one stream. */
static void stream_text(const struct collector *collector, const char *name,
                        struct buf *out) {
  CLEANUP(json_done) struct json *outputs = collector_outputs(collector);
  for (size_t i = 0; i < json_length(outputs); i++) {
    const char *found = json_get_text(json_at(outputs, i), "name");
    if (found != NULL && strcmp(found, name) == 0)
      buf_text(out, json_get_text(json_at(outputs, i), "text"));
  }
}

static void tells_what_changed(void **state) {
  (void)state;
  struct collector *collector = collector_new(&roomy);
  assert_true(print(collector, "stdout", "a"));
  assert_true(add(collector, DISPLAY("d", "1")));
  assert_true(print(collector, "stderr", "b"));
  assert_true(print(collector, "stderr", "c"));
  assert_true(add(collector, UPDATE("d", "2")));
  assert_true(print(collector, "stderr", "d"));
  assert_false(add(collector, CLEAR_WAIT));
  assert_true(print(collector, "stderr", "new"));
  assert_true(add(collector, CLEAR));
  assert_false(add(collector, CLEAR));
  collector_free(collector);
}

static void names_display_ids(void **state) {
  (void)state;
  struct collector *collector = collector_new(&roomy);
  print(collector, "stdout", "a");
  add(collector, DISPLAY("d", "1"));
  print(collector, "stdout", "b");
  const char *ids[4];
  collector_display_ids(collector, ids, COUNT_OF(ids));
  assert_null(ids[0]);
  assert_string_equal(ids[1], "d");
  assert_null(ids[2]);
  assert_null(ids[3]);
  collector_free(collector);
}

static void take(struct collector *collector, const char *id,
                 const char *text) {
  struct display_update update;
  assert_int_equal(collector_take_update(collector, &update), 1);
  assert_string_equal(update.display_id, id);
  assert_string_equal(json_get_text(update.data, "text/plain"), text);
  assert_int_equal(json_kind(update.metadata), JSON_OBJECT);
  display_update_free(&update);
}

static void hands_over_changes_of_earlier_cells(void **state) {
  (void)state;
  struct collector *collector = collector_new(&roomy);
  struct display_update update;
  assert_int_equal(collector_take_update(collector, &update), 0);
  add(collector, UPDATE("old", "1"));
  add(collector, UPDATE("older", "2"));
  add(collector, UPDATE("old", "3"));
  take(collector, "older", "2");
  take(collector, "old", "3");
  assert_int_equal(collector_take_update(collector, &update), 0);
  add(collector, DISPLAY("d", "4"));
  take(collector, "d", "4");
  add(collector, DISPLAY("d", "5"));
  assert_int_equal(collector_take_update(collector, &update), 0);
  add(collector, UPDATE("d", "6"));
  take(collector, "d", "6");
  check_outputs(collector, "[" SHOW("6") "," SHOW("6") "]");
  collector_free(collector);
}

static void forgets_changes_beyond_the_caps(void **state) {
  (void)state;
  struct collector *collector = collector_new(&roomy);
  char content[200];
  for (int i = 0; i < 3000; i++) {
    snprintf(content, sizeof content, BUNDLE("id%d", "x"), i);
    add(collector, "update_display_data", content);
  }
  struct display_update update;
  int count = 0;
  while (collector_take_update(collector, &update) == 1) {
    if (count == 0)
      assert_string_equal(update.display_id, "id1976");
    count++;
    display_update_free(&update);
  }
  assert_int_equal(count, 1024);
  collector_free(collector);
}

static void gives_one_stream_in_order(void **state) {
  (void)state;
  struct collector *collector = collector_new(&roomy);
  print(collector, "stdout", "a\n");
  print(collector, "stderr", "x\n");
  add(collector, DISPLAY("d", "1"));
  print(collector, "stdout", "1%\r2%\n");
  CLEANUP(buf_free) struct buf text = BUF_INIT(1000);
  stream_text(collector, "stdout", &text);
  assert_string_equal(buf_string(&text), "a\n2%\n");
  buf_reset(&text);
  stream_text(collector, "stderr", &text);
  assert_string_equal(buf_string(&text), "x\n");
  collector_free(collector);
}

static void adds_a_page(void **state) {
  (void)state;
  struct collector *collector = collector_new(&roomy);
  CLEANUP(json_done) struct json *data = parse("{\"text/plain\":\"help\"}");
  collector_add_page(collector, data);
  check_outputs(collector, "[" SHOW("help") "]");
  collector_free(collector);
}

static void a_caller_may_change_what_it_got(void **state) {
  (void)state;
  struct collector *collector = collector_new(&roomy);
  add(collector, DISPLAY("d", "1"));
  CLEANUP(json_done) struct json *outputs = collector_outputs(collector);
  json_remove(json_get(json_at(outputs, 0), "data"), "text/plain");
  json_set_text(json_get(json_at(outputs, 0), "metadata"), "a", "b");
  check_outputs(collector, "[" SHOW("1") "]");
  collector_free(collector);
}

static void one_stream_may_use_all(void **state) {
  (void)state;
  const struct output_limits limits = {
      .bytes = 10000, .outputs = 10, .image_bytes = 1000};
  struct collector *collector = collector_new(&limits);
  for (int i = 0; i < 1000; i++)
    print(collector, "stdout", "123456789\n");
  struct output_dropped dropped;
  collector_dropped(collector, &dropped);
  assert_int_equal(dropped.stdout_bytes, 0);
  for (int i = 0; i < 1000; i++)
    print(collector, "stdout", "123456789\n");
  collector_dropped(collector, &dropped);
  assert_int_equal(dropped.stdout_bytes, 10000);
  assert_int_equal(dropped.stdout_lines, 1000);
  assert_int_equal(dropped.stderr_bytes, 0);
  assert_int_equal(collector_bytes(collector), 20000);
  CLEANUP(buf_free) struct buf text = BUF_INIT(100000);
  stream_text(collector, "stdout", &text);
  assert_non_null(strstr(text.data, "\n[… 10000 bytes in 1000 lines left out "
                                    "…]\n123456789\n"));
  collector_free(collector);
}

static void images_have_a_budget_of_their_own(void **state) {
  (void)state;
  const struct output_limits limits = {
      .bytes = 100000, .outputs = 10, .image_bytes = 50000};
  struct collector *collector = collector_new(&limits);
  for (int i = 0; i < 20000; i++)
    print(collector, "stderr", "123456789\n");
  CLEANUP(json_done) struct json *content = parse("{\"data\":{}}");
  CLEANUP(mem_free_pointer) char *image = mem_array(40001, 1);
  memset(image, 'A', 40000);
  json_set_text(json_get(content, "data"), "image/png", image);
  collector_add(collector, "execute_result", content);
  CLEANUP(json_done) struct json *outputs = collector_outputs(collector);
  assert_int_equal(json_length(outputs), 2);
  const struct json *data = json_get(json_at(outputs, 1), "data");
  assert_int_equal(json_text_length(json_get(data, "image/png")), 40000);
  struct output_dropped dropped;
  collector_dropped(collector, &dropped);
  assert_int_equal(dropped.stderr_bytes, 100000);
  assert_int_equal(dropped.stderr_lines, 10000);
  assert_int_equal(dropped.values, 0);
  collector_free(collector);
}

#define DIGITS "0123456789012345678901234567890123456789"

static void a_value_over_the_cap_is_told(void **state) {
  (void)state;
  const struct output_limits limits = {
      .bytes = 160, .outputs = 10, .image_bytes = 32};
  struct collector *collector = collector_new(&limits);
  add(collector, "display_data",
      "{\"data\":{\"text/plain\":\"<Figure>\",\"image/png\":"
      "\"01234567890123456789012345678901234567890123\"}}");
  add(collector, "display_data",
      "{\"data\":{\"application/json\":[\"" DIGITS DIGITS "\"]}}");
  check_outputs(
      collector,
      "[" SHOW("<Figure>\\n[… image/png of 33 bytes left out …]") "," SHOW(
          "[… application/json of 84 bytes left out …]") "]");
  struct output_dropped dropped;
  collector_dropped(collector, &dropped);
  assert_int_equal(dropped.values, 2);
  assert_int_equal(dropped.value_bytes, 33 + 84);
  assert_int_equal(dropped.outputs, 0);
  collector_free(collector);
}

static void a_long_text_result_keeps_head_and_tail(void **state) {
  (void)state;
  const struct output_limits limits = {
      .bytes = 16, .outputs = 10, .image_bytes = 8};
  struct collector *collector = collector_new(&limits);
  add(collector, "execute_result",
      "{\"data\":{\"text/plain\":\"0123456789\"},\"execution_count\":1}");
  check_outputs(
      collector,
      "[{\"data\":{\"text/plain\":\"01\\n[… 2 bytes in 1 line left out …]\\n"
      "456789\"},\"execution_count\":1,\"metadata\":{},\"output_type\":"
      "\"execute_result\"}]");
  collector_free(collector);
}

static void outputs_beyond_the_cap_go_from_the_middle(void **state) {
  (void)state;
  const struct output_limits limits = {
      .bytes = 100000, .outputs = 4, .image_bytes = 1000};
  struct collector *collector = collector_new(&limits);
  char content[200];
  for (int i = 0; i < 10; i++) {
    snprintf(content, sizeof content, BUNDLE("id%d", "%d"), i, i);
    add(collector, "display_data", content);
  }
  check_outputs(
      collector,
      "[" SHOW("0") "," SHOW("1") "," ERR(
          "[… 6 outputs left out …]\\n") "," SHOW("8") "," SHOW("9") "]");
  struct output_dropped dropped;
  collector_dropped(collector, &dropped);
  assert_int_equal(dropped.outputs, 6);
  const char *ids[5];
  collector_display_ids(collector, ids, COUNT_OF(ids));
  assert_string_equal(ids[4], "id9");
  assert_null(ids[2]);
  collector_free(collector);
}

static void streams_beyond_the_cap_are_counted(void **state) {
  (void)state;
  const struct output_limits limits = {
      .bytes = 100000, .outputs = 2, .image_bytes = 1000};
  struct collector *collector = collector_new(&limits);
  for (int i = 0; i < 10; i++)
    print(collector, i % 2 == 0 ? "stdout" : "stderr", "one\ntwo");
  struct output_dropped dropped;
  collector_dropped(collector, &dropped);
  assert_int_equal(dropped.outputs, 8);
  assert_int_equal(dropped.stdout_bytes, 4 * 7);
  assert_int_equal(dropped.stderr_bytes, 4 * 7);
  assert_int_equal(dropped.stdout_lines, 4 * 2);
  collector_free(collector);
}

/* Whatever comes, the caps hold and the newest output is there. */
static void the_byte_cap_always_holds(void **state) {
  (void)state;
  const struct output_limits limits = {
      .bytes = 20000, .outputs = 50, .image_bytes = 6000};
  struct collector *collector = collector_new(&limits);
  CLEANUP(mem_free_pointer) char *value = mem_array(8001, 1);
  for (int i = 0; i < 2000; i++) {
    CLEANUP(json_done) struct json *content = parse("{\"data\":{}}");
    memset(value, 'a' + i % 26, 8000);
    value[i * 7919 % 8000] = '\0';
    json_set_text(content, "text", value);
    json_set_text(content, "name", i % 5 == 0 ? "stderr" : "stdout");
    json_set_text(json_get(content, "data"), "text/html", value);
    collector_add(collector, i % 3 == 0 ? "display_data" : "stream", content);
    CLEANUP(json_done) struct json *outputs = collector_outputs(collector);
    size_t bytes = 0, artifacts = 0, count = json_length(outputs);
    for (size_t j = 0; j < count; j++) {
      const struct json *output = json_at(outputs, j);
      bytes += json_text_length(json_get(output, "text"));
      const struct json *data = json_get(output, "data");
      bytes += json_text_length(json_get(data, "text/plain"));
      artifacts += json_text_length(json_get(data, "text/html"));
    }
    assert_true(count <= 51);
    assert_true(bytes <= 20000 + 51 * 60); /* the markers */
    assert_true(artifacts <= 20000);
  }
  collector_free(collector);
}

static void a_long_error_is_cut(void **state) {
  (void)state;
  const struct output_limits limits = {
      .bytes = 800, .outputs = 10, .image_bytes = 1000};
  struct collector *collector = collector_new(&limits);
  CLEANUP(json_done)
  struct json *content = parse("{\"ename\":\"E\",\"traceback\":[]}");
  char text[201] = {0};
  memset(text, 'v', 200);
  json_set_text(content, "evalue", text);
  for (int i = 0; i < 10; i++) {
    char part[91] = {0};
    memset(part, '0' + i, 90);
    json_push(json_get(content, "traceback"), json_string(part));
  }
  collector_add(collector, "error", content);
  CLEANUP(json_done) struct json *outputs = collector_outputs(collector);
  const struct json *error = json_at(outputs, 0);
  assert_non_null(strstr(json_get_text(error, "evalue"),
                         "v\n[… 100 bytes in 1 line left out …]\nv"));
  const struct json *traceback = json_get(error, "traceback");
  assert_int_equal(json_length(traceback), 3);
  assert_string_equal(json_text(json_at(traceback, 0)),
                      "[… 8 parts left out …]");
  assert_int_equal(json_text(json_at(traceback, 1))[0], '8');
  assert_int_equal(json_text(json_at(traceback, 2))[0], '9');
  struct output_dropped dropped;
  collector_dropped(collector, &dropped);
  assert_int_equal(dropped.value_bytes, 100 + 8 * 90);
  collector_free(collector);
}

static void the_hard_limit_counts_what_was_received(void **state) {
  (void)state;
  struct output_limits limits = {
      .bytes = 10, .bytes_hard = 25, .outputs = 10, .image_bytes = 10};
  struct collector *collector = collector_new(&limits);
  print(collector, "stdout", "0123456789");
  print(collector, "stdout", "0123456789");
  print(collector, "stdout", "01234");
  assert_false(collector_hard_limit(collector));
  print(collector, "stdout", "5");
  assert_true(collector_hard_limit(collector));
  assert_int_equal(collector_bytes(collector), 26);
  collector_free(collector);
  limits.bytes_hard = 0;
  collector = collector_new(&limits);
  print(collector, "stdout", "01234567890123456789012345678901234567890");
  assert_false(collector_hard_limit(collector));
  collector_free(collector);
}

/* A task's directory, where artifacts are kept. */
struct place {
  char path[64];
  int directory;
};

static struct place make_place(void) {
  struct place place = {.path = "/tmp/cellpost-test-collector-XXXXXX"};
  assert_non_null(mkdtemp(place.path));
  place.directory = open(place.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  assert_true(place.directory >= 0);
  return place;
}

static void remove_place(const struct place *place) {
  close(place->directory);
  int tmp = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  assert_int_equal(fs_remove_tree(tmp, place->path + strlen("/tmp/"), NULL), 0);
  close(tmp);
}

static void show(struct collector *collector, const char *type,
                 const char *mime, char byte, size_t size,
                 const char *display_id) {
  CLEANUP(json_done)
  struct json *content = parse("{\"data\":{},\"transient\":{}}");
  CLEANUP(mem_free_pointer) char *value = mem_array(size + 1, 1);
  memset(value, byte, size);
  json_set_text(json_get(content, "data"), mime, value);
  if (display_id != NULL)
    json_set_text(json_get(content, "transient"), "display_id", display_id);
  collector_add(collector, type, content);
}

static const char *plain_of(const struct json *outputs, size_t index) {
  return json_get_text(json_get(json_at(outputs, index), "data"), "text/plain");
}

static void what_has_a_place_on_disk_is_not_dropped(void **state) {
  (void)state;
  const struct output_limits limits = {
      .bytes = 1000, .outputs = 3, .image_bytes = 4000};
  struct place place = make_place();
  struct collector *collector = collector_new(&limits);
  collector_keep_artifacts(collector, place.directory, "demo", FS_SYNC_NONE);
  show(collector, "display_data", "image/png", 'A', 4000, NULL); /* within */
  show(collector, "display_data", "image/png", 'B', 8000, NULL); /* too large */
  show(collector, "display_data", "text/html", 'c', 4000, NULL); /* within */
  show(collector, "display_data", "image/png", 'D', 4000, NULL); /* together */
  show(collector, "display_data", "application/x+json", 'e', 70000, NULL);
  CLEANUP(json_done) struct json *outputs = collector_outputs(collector);
  assert_int_equal(json_length(outputs), 4);
  assert_null(strstr(plain_of(outputs, 2), "left out"));
  assert_non_null(strstr(plain_of(outputs, 2),
                         "[image/png of 3000 bytes: /tasks/demo/artifacts/"));
  assert_non_null(
      strstr(plain_of(outputs, 3),
             "[application/x+json of 70002 bytes: /tasks/demo/artifacts/"));
  struct media *media = NULL;
  size_t count = 0;
  collector_add_media(collector, &media, &count);
  /* Of what was left out for the number of outputs, the gap tells. */
  static const size_t owners[] = {1, 1, 2, 3};
  assert_int_equal(count, COUNT_OF(owners));
  for (size_t i = 0; i < count; i++) {
    struct stat status;
    CLEANUP(mem_free_pointer)
    char *path = mem_format("artifacts/%s", media[i].name);
    assert_int_equal(fstatat(place.directory, path, &status, 0), 0);
    assert_int_equal(status.st_size, media[i].bytes);
    assert_int_equal(media[i].output, owners[i]);
  }
  struct output_dropped dropped;
  collector_dropped(collector, &dropped);
  assert_int_equal(dropped.outputs, 2);
  assert_int_equal(dropped.values, 0);
  free(media);
  collector_free(collector);
  remove_place(&place);
}

/* Of a picture that is replaced again and again the last one is told. */
static void a_replaced_artifact_is_not_told(void **state) {
  (void)state;
  const struct output_limits limits = {
      .bytes = 1000, .outputs = 10, .image_bytes = 10};
  struct place place = make_place();
  struct collector *collector = collector_new(&limits);
  collector_keep_artifacts(collector, place.directory, "demo", FS_SYNC_NONE);
  show(collector, "display_data", "image/png", 'A', 400, "d");
  for (int i = 0; i < 5; i++)
    show(collector, "update_display_data", "image/png", (char)('B' + i), 400,
         "d");
  struct media *media = NULL;
  size_t count = 0;
  collector_add_media(collector, &media, &count);
  assert_int_equal(count, 1);
  assert_int_equal(media[0].output, 0);
  CLEANUP(json_done) struct json *outputs = collector_outputs(collector);
  assert_non_null(strstr(plain_of(outputs, 0), media[0].name));
  add(collector, CLEAR);
  count = 0;
  collector_add_media(collector, &media, &count);
  assert_int_equal(count, 0);
  free(media);
  collector_free(collector);
  remove_place(&place);
}

/* An update changes many outputs, but all of them stay within the budget. */
static void an_update_of_many_outputs_is_bounded(void **state) {
  (void)state;
  const struct output_limits limits = {
      .bytes = 100000, .outputs = 1000, .image_bytes = 50000};
  struct collector *collector = collector_new(&limits);
  for (int i = 0; i < 700; i++)
    show(collector, "display_data", "image/png", 'A', 40, "d");
  show(collector, "update_display_data", "image/png", 'B', 40000, "d");
  show(collector, "update_display_data", "text/latex", 'B', 40000, "d");
  CLEANUP(mem_free_pointer) char *text = outputs_text(collector);
  assert_true(strlen(text) < 300000);
  collector_free(collector);
}

/* What one message costs does not grow with the number of those before it. */
static double seconds_for(int messages) {
  struct collector *collector = collector_new(&roomy);
  clock_t start = clock();
  for (int i = 0; i < messages; i++) {
    char id[24];
    snprintf(id, sizeof id, "d%d", i % 3000);
    show(collector, i % 3 == 0 ? "update_display_data" : "display_data",
         "text/plain", 'x', 20, id);
    print(collector, i % 2 == 0 ? "stdout" : "stderr", "a line\n");
  }
  collector_free(collector);
  return (double)(clock() - start) / CLOCKS_PER_SEC;
}

static void a_message_costs_no_more_than_the_thousandth(void **state) {
  (void)state;
  double few = seconds_for(2000), many = seconds_for(100000);
  assert_true(many < 50 * 8 * few);
}

static void equal_lines_of_stderr_are_folded(void **state) {
  (void)state;
  struct collector *collector = collector_new(&roomy);
  for (int i = 0; i < 160; i++) {
    print(collector, "stderr", "findfont: not found.\n");
    print(collector, "stdout", i % 80 == 0 ? "a\n" : "same\n");
  }
  CLEANUP(json_done) struct json *outputs = collector_outputs(collector);
  assert_int_equal(json_length(outputs), 320);
  assert_string_equal(json_get_text(json_at(outputs, 0), "text"),
                      "findfont: not found.\n");
  assert_string_equal(json_get_text(json_at(outputs, 4), "text"),
                      "findfont: not found.\n"
                      "[… the line above comes 157 more times …]\n");
  assert_string_equal(json_get_text(json_at(outputs, 6), "text"), "");
  assert_string_equal(json_get_text(json_at(outputs, 319), "text"), "same\n");
  collector_free(collector);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(collects_as_the_protocol_says),
      cmocka_unit_test(tells_what_changed),
      cmocka_unit_test(names_display_ids),
      cmocka_unit_test(hands_over_changes_of_earlier_cells),
      cmocka_unit_test(forgets_changes_beyond_the_caps),
      cmocka_unit_test(gives_one_stream_in_order),
      cmocka_unit_test(adds_a_page),
      cmocka_unit_test(a_caller_may_change_what_it_got),
      cmocka_unit_test(one_stream_may_use_all),
      cmocka_unit_test(images_have_a_budget_of_their_own),
      cmocka_unit_test(a_value_over_the_cap_is_told),
      cmocka_unit_test(a_long_text_result_keeps_head_and_tail),
      cmocka_unit_test(outputs_beyond_the_cap_go_from_the_middle),
      cmocka_unit_test(streams_beyond_the_cap_are_counted),
      cmocka_unit_test(the_byte_cap_always_holds),
      cmocka_unit_test(a_long_error_is_cut),
      cmocka_unit_test(the_hard_limit_counts_what_was_received),
      cmocka_unit_test(what_has_a_place_on_disk_is_not_dropped),
      cmocka_unit_test(a_replaced_artifact_is_not_told),
      cmocka_unit_test(an_update_of_many_outputs_is_bounded),
      cmocka_unit_test(a_message_costs_no_more_than_the_thousandth),
      cmocka_unit_test(equal_lines_of_stderr_are_folded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
