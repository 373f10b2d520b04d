/* The notebook writer: what stands in the file after each operation, what it
 * costs, and what readers see. */
#include "tests/unit/notebook_files.h"

#include <sys/wait.h>

/* A task's directory and its notebook, new for each test. */
static struct place place;
static struct notebook *notebook;
static struct err err;
/* Those of the tests that have ended. */
static struct place ended[64];
static size_t ended_count;

static int set_up(void **state) {
  (void)state;
  place = make_place();
  notebook = open_notebook(&place);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  notebook_done(&notebook);
  assert_true(ended_count < COUNT_OF(ended));
  ended[ended_count++] = place;
  return 0;
}

/* nbformat judges what all the tests have left. */
static int judge(void **state) {
  CLEANUP(buf_free) struct buf command = BUF_INIT(BUF_SMALL);
  buf_text(&command, "/usr/bin/python3 tests/unit/check_notebook.py --same");
  for (size_t i = 0; i < ended_count; i++)
    buf_format(&command, " %s/" NOTEBOOK, ended[i].path);
  int result = system(buf_string(&command));
  while (ended_count > 0)
    remove_place(&ended[--ended_count]);
  if (later != NULL)
    stop_later(state);
  return result;
}

static void good(int result) {
  if (result < 0)
    fail_msg("%s", err.text);
}

/* Opens the notebook anew, as another process or a later one does. */
static void open_anew(void) {
  notebook_close(notebook);
  notebook = open_notebook(&place);
}

static void append(const char *id, const char *source, const char *text) {
  CLEANUP(json_done) struct json *outputs = text == NULL ? NULL : stream(text);
  const struct code_cell cell = code_cell(id, source, outputs);
  good(notebook_append_code(notebook, &cell, &err));
}

static void replace(const char *id, const char *source, const char *text) {
  CLEANUP(json_done) struct json *outputs = text == NULL ? NULL : stream(text);
  const struct code_cell cell = code_cell(id, source, outputs);
  good(notebook_replace_code(notebook, &cell, &err));
}

static void check_file(const char *expected) {
  CLEANUP(mem_free_pointer) char *text = get_file(&place, NOTEBOOK);
  assert_string_equal(text, expected);
}

#define START                                                                  \
  "{\n \"metadata\": {},\n \"nbformat\": 4,\n \"nbformat_minor\": 5,\n"        \
  " \"cells\": ["
#define MARKDOWN(id_, text_)                                                   \
  "  {\n   \"cell_type\": \"markdown\",\n   \"id\": \"" id_                    \
  "\",\n   \"metadata\": {},\n   \"source\": [\n    \"" text_ "\"\n   ]\n  }"

static void an_empty_notebook(void **state) {
  (void)state;
  check_file(START "]\n}\n");
  assert_int_equal(notebook_cells(notebook), 0);
  assert_int_equal(notebook_size(notebook), strlen(START "]\n}\n"));
  assert_false(notebook_is_stale(notebook));
  check_with_nbformat(&place);
  struct stat status;
  fstatat(place.directory, NOTEBOOK, &status, 0);
  assert_int_equal(status.st_mode & 0777, 0644);
  notebook_done(&notebook);
  assert_null(notebook);
}

static void cells_follow_each_other(void **state) {
  (void)state;
  good(notebook_append_markdown(notebook, "a", "one", 3, &err));
  check_file(START "\n" MARKDOWN("a", "one") "\n ]\n}\n");
  good(notebook_append_markdown(notebook, "b", "two", 3, &err));
  good(notebook_append_markdown(notebook, "c", "three", 5, &err));
  check_file(START "\n" MARKDOWN("a", "one") ",\n" MARKDOWN(
      "b", "two") ",\n" MARKDOWN("c", "three") "\n ]\n}\n");
  assert_int_equal(notebook_cells(notebook), 3);
  assert_true(notebook_has_cell(notebook, "b"));
  assert_false(notebook_has_cell(notebook, "d"));
}

static void ids_must_be_valid_and_new(void **state) {
  (void)state;
  append("a", "1", NULL);
  CLEANUP(mem_free_pointer) char *before = get_file(&place, NOTEBOOK);
  struct code_cell cell = code_cell("a", "2", NULL);
  assert_int_equal(notebook_append_code(notebook, &cell, &err), -1);
  assert_int_equal(err.kind, ERR_CONFLICT);
  cell.id = "b c";
  assert_int_equal(notebook_append_code(notebook, &cell, &err), -1);
  assert_int_equal(err.kind, ERR_INVALID);
  cell.id = "unknown";
  assert_int_equal(notebook_replace_code(notebook, &cell, &err), -1);
  assert_int_equal(err.kind, ERR_NOT_FOUND);
  check_file(before);
}

static const char *source_of(const struct json *root, size_t index) {
  const struct json *cell = json_at(json_get(root, "cells"), index);
  return json_text(json_at(json_get(cell, "source"), 0));
}

static void replacing_any_cell_keeps_the_others(void **state) {
  (void)state;
  append("a", "1", "x\n");
  append("b", "2", "y\n");
  append("c", "3", "z\n");
  const char *const sources[] = {"a longer source", "s", "", "another"};
  const char *const ids[] = {"b", "a", "c", "b", "c", "a"};
  const char *now[] = {"1", "2", "3"};
  for (size_t i = 0; i < 24; i++) {
    const char *id = ids[i % COUNT_OF(ids)];
    const char *source = sources[i % COUNT_OF(sources)];
    replace(id, source, i % 3 == 0 ? "more\nlines\n" : NULL);
    now[id[0] - 'a'] = *source == '\0' ? NULL : source;
    CLEANUP(json_done) struct json *root = parse_notebook(&place);
    assert_int_equal(json_length(json_get(root, "cells")), 3);
    for (size_t j = 0; j < 3; j++) {
      if (now[j] == NULL)
        assert_null(source_of(root, j));
      else
        assert_string_equal(source_of(root, j), now[j]);
    }
  }
}

/* The bytes that one operation writes. */
#define BYTES_OF(operation_)                                                   \
  __extension__({                                                              \
    struct notebook_counters before_, after_;                                  \
    notebook_counters(&before_);                                               \
    operation_;                                                                \
    notebook_counters(&after_);                                                \
    assert_int_equal(after_.copied, before_.copied);                           \
    assert_int_equal(after_.appended, before_.appended + 1);                   \
    after_.bytes - before_.bytes;                                              \
  })

static void a_cell_costs_its_own_bytes(void **state) {
  (void)state;
  CLEANUP(mem_free_pointer) char *large = mem_array(1000001, 1);
  memset(large, 'x', 1000000);
  append("large", large, NULL);
  append("a", "1", NULL);
  append("b", "1", NULL);
  /* An append writes the cell before it into the spare, too. */
  assert_true(BYTES_OF(append("c", "1", NULL)) < 700);
  assert_true(BYTES_OF(replace("c", "12", NULL)) < 700);
  assert_true(BYTES_OF(replace("c", "123", NULL)) < 350);
  assert_true(BYTES_OF(replace("c", "", NULL)) < 350);
  /* An older one is rewritten from there on, and no more. */
  assert_true(BYTES_OF(replace("a", "2", NULL)) < 1400);
  assert_true(BYTES_OF(append("d", "1", NULL)) < 1400);
  assert_true(BYTES_OF(append("e", "1", NULL)) < 700);
  /* Nor does it cost more after the process was started anew. */
  open_anew();
  assert_true(BYTES_OF(append("f", "1", NULL)) < 700);
}

static void a_slow_reader_sees_one_whole_version(void **state) {
  (void)state;
  char id[40];
  for (int i = 0; i < 40; i++) {
    snprintf(id, sizeof id, "cell-%d", i);
    append(id, "print(1)", "1\n");
    CLEANUP(mem_free_pointer) char *seen = get_file(&place, NOTEBOOK);
    int reader = openat(place.directory, NOTEBOOK, O_RDONLY);
    struct notebook_counters before, after;
    notebook_counters(&before);
    for (int j = 0; j < 4; j++) {
      char more[40];
      snprintf(more, sizeof more, "more-%d-%d", i, j);
      append(more, "print(2)", "2\n");
      replace(more, "3", NULL);
    }
    replace(id, "4", NULL);
    notebook_counters(&after);
    assert_int_equal(after.copied, before.copied + 1);
    assert_int_equal(after.appended, before.appended + 8);
    CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_NOTEBOOK);
    assert_int_equal(fs_read_all(reader, &text, NULL), 0);
    assert_string_equal(buf_string(&text), seen);
    close(reader);
  }
  CLEANUP(json_done) struct json *root = parse_notebook(&place);
  assert_int_equal(json_length(json_get(root, "cells")), 200);
}

static void another_name_of_a_version_keeps_it(void **state) {
  (void)state;
  append("a", "1", NULL);
  CLEANUP(mem_free_pointer) char *seen = get_file(&place, NOTEBOOK);
  assert_int_equal(
      linkat(place.directory, NOTEBOOK, place.directory, "backup", 0), 0);
  for (int i = 0; i < 5; i++) {
    char id[40];
    snprintf(id, sizeof id, "more-%d", i);
    append(id, "2", NULL);
  }
  CLEANUP(mem_free_pointer) char *kept = get_file(&place, "backup");
  assert_string_equal(kept, seen);
}

static void the_kernel_is_set_once(void **state) {
  (void)state;
  append("a", "1", NULL);
  append("b", "2", NULL);
  CLEANUP(json_done)
  struct json *info =
      parse_text("{\"name\": \"python\", \"version\": \"3.11.2\"}");
  good(notebook_set_kernel(notebook, "python3", "Python 3", "python", info,
                           &err));
  CLEANUP(json_done) struct json *root = parse_notebook(&place);
  const struct json *metadata = json_get(root, "metadata");
  assert_string_equal(
      json_get_text(json_get(metadata, "kernelspec"), "display_name"),
      "Python 3");
  assert_string_equal(
      json_get_text(json_get(metadata, "language_info"), "version"), "3.11.2");
  struct notebook_counters before, after;
  notebook_counters(&before);
  good(notebook_set_kernel(notebook, "python3", "Python 3", "python", info,
                           &err));
  notebook_counters(&after);
  assert_int_equal(after.bytes, before.bytes);
  replace("a", "changed", NULL);
  append("c", "3", NULL);
  good(notebook_set_kernel(notebook, "ir", "R", "R", NULL, &err));
  replace("b", "changed too", NULL);
  open_anew();
  assert_int_equal(notebook_cells(notebook), 3);
}

static void an_older_display_is_updated(void **state) {
  (void)state;
  CLEANUP(json_done)
  struct json *outputs =
      parse_text("[{\"output_type\": \"stream\", \"name\": \"stdout\", "
                 "\"text\": \"a\\nb\"},"
                 "{\"output_type\": \"execute_result\", \"execution_count\": 4,"
                 "\"data\": {\"text/plain\": \"1\"}, \"metadata\": {}}]");
  const struct code_cell cell = code_cell("old", "h", outputs);
  good(notebook_append_code(notebook, &cell, &err));
  append("new", "h.update(2)", NULL);
  CLEANUP(json_done)
  struct json *data =
      parse_text("{\"text/plain\": \"2\", \"text/html\": \"<b>\\n2\"}");
  struct notebook_update updates[] = {
      {.id = "old", .position = 0, .data = data},
      {.id = "x", .position = 0, .data = data},
      {.id = "old", .position = 1, .data = data},
      {.id = "old", .position = 2, .data = data},
  };
  good(notebook_update_outputs(notebook, updates, COUNT_OF(updates), &err));
  for (size_t i = 0; i < COUNT_OF(updates); i++)
    assert_int_equal(updates[i].done, i == 2);
  CLEANUP(json_done) struct json *root = parse_notebook(&place);
  const struct json *output =
      json_at(json_get(json_at(json_get(root, "cells"), 0), "outputs"), 1);
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_SMALL);
  json_write(output, &text);
  assert_string_equal(buf_string(&text),
                      "{\"data\":{\"text/html\":[\"<b>\\n\",\"2\"],"
                      "\"text/plain\":[\"2\"]},\"execution_count\":4,"
                      "\"metadata\":{},\"output_type\":\"execute_result\"}");
}

/* Many cells, some far from the others, with cells between that stay. */
static void many_displays_are_updated_at_once(void **state) {
  (void)state;
  CLEANUP(mem_free_pointer) char *large = mem_array(5000001, 1);
  memset(large, 'x', 5000000);
  enum { CELLS = 60 };
  struct notebook_update updates[2 * CELLS];
  char ids[CELLS][16];
  CLEANUP(json_done)
  struct json *short_one = parse_text("{\"text/plain\":\"\"}");
  CLEANUP(json_done)
  struct json *long_one = parse_text("{\"text/plain\":\"longer than before\"}");
  for (int i = 0; i < CELLS; i++) {
    CLEANUP(json_done)
    struct json *outputs =
        parse_text("[{\"output_type\": \"display_data\", \"data\":"
                   "{\"text/plain\": \"0\"}, \"metadata\": {}},"
                   "{\"output_type\": \"display_data\", \"data\":"
                   "{\"text/plain\": \"1\"}, \"metadata\": {}}]");
    snprintf(ids[i], sizeof ids[i], "cell-%d", i);
    const struct code_cell cell = code_cell(ids[i], "h", outputs);
    good(notebook_append_code(notebook, &cell, &err));
    if (i == 20)
      append("large", large, NULL);
    const struct json *data = i % 2 == 0 ? short_one : long_one;
    size_t first = 2 * (size_t)(CELLS - 1 - i); /* in no order */
    updates[first] = (struct notebook_update){ids[i], 1, data, NULL, false};
    updates[first + 1] = (struct notebook_update){ids[i], 0, data, NULL, false};
  }
  struct notebook_counters before, after;
  for (size_t count = 2 * CELLS; count > 1; count /= 3) {
    notebook_counters(&before);
    good(notebook_update_outputs(notebook, updates, count, &err));
    notebook_counters(&after);
    assert_true(after.appended + after.copied <=
                before.appended + before.copied + 2);
    for (size_t i = 0; i < count; i++)
      assert_true(updates[i].done);
  }
  CLEANUP(json_done) struct json *root = parse_notebook(&place);
  assert_int_equal(json_length(json_get(root, "cells")), CELLS + 1);
  append("last", "1", NULL);
  replace("cell-3", "2", NULL);
  open_anew();
  assert_int_equal(notebook_cells(notebook), CELLS + 2);
  replace("cell-30", "2", NULL);
}

static void late_outputs_are_marked(void **state) {
  (void)state;
  append("old", "start()", "now\n");
  append("new", "1", NULL);
  CLEANUP(json_done) struct json *late = stream("late\n");
  good(notebook_add_late(notebook, "old", late, &err));
  json_set_text(json_at(late, 0), "name", "stderr");
  good(notebook_add_late(notebook, "old", late, &err));
  good(notebook_add_late(notebook, "new", late, &err));
  CLEANUP(json_done) struct json *root = parse_notebook(&place);
  const struct json *cell = json_at(json_get(root, "cells"), 0);
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_SMALL);
  json_write(json_get(cell, "outputs"), &text);
  assert_string_equal(buf_string(&text),
                      "[{\"name\":\"stdout\",\"output_type\":\"stream\","
                      "\"text\":[\"now\\n\",\"late\\n\"]},"
                      "{\"name\":\"stderr\",\"output_type\":\"stream\","
                      "\"text\":[\"late\\n\"]}]");
  const struct json *mark = json_get(json_get(cell, "metadata"), "cellpost");
  assert_true(json_as_boolean(json_get(mark, "late"), false));
  assert_string_equal(json_get_text(mark, "run"), "old");
  good(notebook_append_markdown(notebook, "m", "x", 1, &err));
  assert_int_equal(notebook_add_late(notebook, "m", late, &err), -1);
  assert_int_equal(err.kind, ERR_NOT_FOUND);
}

static void a_status_or_the_outputs_are_set_alone(void **state) {
  (void)state;
  append("old", "start()", "now\n");
  append("new", "1", NULL);
  CLEANUP(json_done) struct json *before = parse_notebook(&place);
  good(notebook_set_status(notebook, "old", "lost", &err));
  CLEANUP(json_done) struct json *after = parse_notebook(&place);
  struct json *cell = json_at(json_get(before, "cells"), 0);
  struct json *ours = json_get(json_get(cell, "metadata"), "cellpost");
  json_set_text(ours, "status", "lost");
  assert_true(json_equal(before, after));
  CLEANUP(json_done) struct json *outputs = stream("other\n");
  good(notebook_set_outputs(notebook, "old", outputs, &err));
  CLEANUP(json_done) struct json *other = parse_notebook(&place);
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_SMALL);
  json_write(json_get(json_at(json_get(other, "cells"), 0), "outputs"), &text);
  assert_string_equal(buf_string(&text),
                      "[{\"name\":\"stdout\",\"output_type\":\"stream\","
                      "\"text\":[\"other\\n\"]}]");
  good(notebook_append_markdown(notebook, "m", "x", 1, &err));
  assert_int_equal(notebook_set_outputs(notebook, "m", outputs, &err), -1);
  assert_int_equal(notebook_set_status(notebook, "m", "lost", &err), -1);
  assert_int_equal(err.kind, ERR_NOT_FOUND);
  assert_int_equal(notebook_set_status(notebook, "none", "lost", &err), -1);
  assert_int_equal(err.kind, ERR_NOT_FOUND);
}

static void run_in_child(void (*act)(void)) {
  pid_t child = fork();
  if (child == 0) {
    later = NULL; /* its thread is not in this process */
    open_anew();
    act();
    _exit(0);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

static void append_one(void) { append("theirs", "1", NULL); }

static void rewrite(void) {
  replace("mine", "2", NULL);
  replace("mine", "1", NULL);
}

static void another_process_is_noticed(void **state) {
  (void)state;
  append("mine", "1", NULL);
  static void (*const acts[])(void) = {append_one, rewrite};
  for (size_t i = 0; i < COUNT_OF(acts); i++) {
    assert_false(notebook_is_stale(notebook));
    run_in_child(acts[i]);
    assert_true(notebook_is_stale(notebook));
    CLEANUP(mem_free_pointer) char *theirs = get_file(&place, NOTEBOOK);
    const struct code_cell cell = code_cell("x", "1", NULL);
    assert_int_equal(notebook_append_code(notebook, &cell, &err), -1);
    assert_int_equal(err.kind, ERR_CONFLICT);
    CLEANUP(json_done) struct json *late = stream("late");
    assert_int_equal(notebook_add_late(notebook, "mine", late, &err), -1);
    assert_int_equal(err.kind, ERR_CONFLICT);
    check_file(theirs);
    open_anew();
    append(i == 0 ? "again" : "and-again", "1", NULL);
    replace("mine", "3", NULL);
  }
}

static void a_file_that_went_away_is_noticed(void **state) {
  (void)state;
  append("a", "1", NULL);
  unlinkat(place.directory, NOTEBOOK, 0);
  assert_true(notebook_is_stale(notebook));
  open_anew();
  assert_int_equal(notebook_cells(notebook), 0);
  append("b", "1", NULL);
  append("c", "1", NULL);
}

static void with_sync_the_same_is_written(void **state) {
  (void)state;
  notebook_done(&notebook);
  good(notebook_open(place.directory, FS_SYNC_DATA, &notebook, NULL, &err));
  append("a", "1", "x\n");
  append("b", "1", "x\n");
  replace("a", "2", NULL);
}

static void a_filesystem_can_be_asked(void **state) {
  (void)state;
  good(notebook_probe(place.directory, &err));
  assert_int_equal(count_files(&place, "probe"), 0);
  int processes = open("/proc/self", O_RDONLY | O_DIRECTORY);
  assert_int_equal(notebook_probe(processes, &err), -1);
  assert_int_equal(err.kind, ERR_IO);
  close(processes);
}

/* Random operations against a model of sources; sometimes the notebook is
 * opened anew, with or without its index, and sometimes a reader holds the
 * file. */
enum { MODEL_CELLS = 40 };
struct model {
  char sources[MODEL_CELLS][64];
  size_t count;
};

static void random_source(char source[static 64]) {
  size_t length = (size_t)rand() % 60 + 1;
  for (size_t i = 0; i < length; i++)
    source[i] = (char)('a' + rand() % 26);
  source[length] = '\0';
}

static void random_step(struct model *model) {
  char id[40];
  bool add =
      model->count == 0 || (model->count < MODEL_CELLS && rand() % 8 == 0);
  size_t index = add               ? model->count++
                 : rand() % 2 == 0 ? model->count - 1
                                   : (size_t)rand() % model->count;
  random_source(model->sources[index]);
  snprintf(id, sizeof id, "cell-%zu", index);
  if (add)
    append(id, model->sources[index], "x\n");
  else
    replace(id, model->sources[index], rand() % 2 ? "y\nz" : NULL);
}

static void check_model(const struct model *model) {
  CLEANUP(json_done) struct json *root = parse_notebook(&place);
  assert_int_equal(json_length(json_get(root, "cells")), model->count);
  for (size_t i = 0; i < model->count; i++)
    assert_string_equal(source_of(root, i), model->sources[i]);
}

static void random_operations_agree_with_a_model(void **state) {
  (void)state;
  srand(20260101);
  for (int round = 0; round < 6; round++) {
    struct model model = {.count = 0};
    int reader = -1;
    for (int i = 0; i < 300; i++) {
      random_step(&model);
      check_model(&model);
      if (rand() % 10 == 0) {
        mem_close_descriptor(&reader);
        reader = openat(place.directory, NOTEBOOK, O_RDONLY);
      }
      if (rand() % 10 == 0)
        mem_close_descriptor(&reader);
      if (rand() % 15 == 0) {
        if (rand() % 3 == 0)
          unlinkat(place.directory, ".notebook.index", 0);
        open_anew();
        assert_int_equal(notebook_cells(notebook), model.count);
      }
    }
    mem_close_descriptor(&reader);
    tear_down(NULL);
    set_up(NULL);
  }
}

#define TEST(name_) cmocka_unit_test_setup_teardown(name_, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(an_empty_notebook),
      TEST(cells_follow_each_other),
      TEST(ids_must_be_valid_and_new),
      TEST(replacing_any_cell_keeps_the_others),
      TEST(a_cell_costs_its_own_bytes),
      TEST(a_slow_reader_sees_one_whole_version),
      TEST(another_name_of_a_version_keeps_it),
      TEST(the_kernel_is_set_once),
      TEST(an_older_display_is_updated),
      TEST(many_displays_are_updated_at_once),
      TEST(late_outputs_are_marked),
      TEST(a_status_or_the_outputs_are_set_alone),
      TEST(another_process_is_noticed),
      TEST(a_file_that_went_away_is_noticed),
      TEST(with_sync_the_same_is_written),
      TEST(a_filesystem_can_be_asked),
      TEST(random_operations_agree_with_a_model),
  };
  int failed =
      cmocka_run_group_tests_name("without a later sync", tests, NULL, judge);
  return failed + cmocka_run_group_tests_name("with a later sync", tests,
                                              start_later, judge);
}
