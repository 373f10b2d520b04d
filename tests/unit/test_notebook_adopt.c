/* What the writer does with a file that stands in its place already. */
#include "tests/unit/notebook_files.h"

static struct notebook *open_telling(const struct place *place, char **aside) {
  struct notebook *notebook = NULL;
  struct err err = {0};
  if (notebook_open(place->directory, FS_SYNC_NONE, &notebook, aside, &err) < 0)
    fail_msg("%s", err.text);
  return notebook;
}

static void append(struct notebook *notebook, const char *id) {
  const struct code_cell cell = code_cell(id, "1 + 1", NULL);
  struct err err = {0};
  if (notebook_append_code(notebook, &cell, &err) < 0)
    fail_msg("%s", err.text);
}

/* Notebooks from elsewhere, how many cells of each are kept, and whether
 * something had to be set aside. */
static const struct {
  const char *text;
  int cells;
  bool aside;
} foreign[] = {
    {"{\"cells\": [], \"metadata\": {}, \"nbformat\": 4, \"nbformat_minor\": "
     "5}",
     0, false},
    /* 4.0, without ids, as nbformat writes it */
    {"{\n \"cells\": [\n  {\n   \"cell_type\": \"markdown\",\n"
     "   \"metadata\": {},\n   \"source\": [\n    \"# A\\n\",\n    \"b\"\n   "
     "]\n"
     "  },\n  {\n   \"cell_type\": \"code\",\n   \"execution_count\": 1,\n"
     "   \"metadata\": {\n    \"collapsed\": false\n   },\n"
     "   \"outputs\": [\n    {\n     \"name\": \"stdout\",\n"
     "     \"output_type\": \"stream\",\n     \"text\": [\n      \"x\\n\"\n"
     "     ]\n    }\n   ],\n   \"source\": [\n    \"print('x')\"\n   ]\n  }\n"
     " ],\n \"metadata\": {\n  \"kernelspec\": {\n"
     "   \"display_name\": \"Python 3\",\n   \"name\": \"python3\"\n  },\n"
     "  \"orig_nbformat\": 2\n },\n \"nbformat\": 4,\n"
     " \"nbformat_minor\": 0\n}\n",
     2, false},
    {"{\"cells\": [{\"cell_type\": \"raw\", \"id\": \"same\", \"source\": "
     "\"1\"},"
     "{\"cell_type\": \"raw\", \"id\": \"same\", \"source\": \"2\"},"
     "{\"cell_type\": \"raw\", \"id\": \"not valid\", \"source\": \"3\"}],"
     "\"metadata\": 5, \"nbformat\": 4, \"nbformat_minor\": 9}",
     3, false},
    {"{\"cells\": [{\"cell_type\": \"code\", \"source\": \"\", \"outputs\": ["
     "{\"output_type\": \"display_data\", \"metadata\": {}, \"data\": {"
     "\"application/json\": {\"a\": NaN}}}]}], \"nbformat\": 4}",
     1, false},
    /* a cell, and an output, that the format does not know */
    {"{\"cells\": [{\"cell_type\": \"raw\", \"source\": \"1\"},"
     "{\"cell_type\": \"heading\", \"source\": \"2\"}], \"nbformat\": 4}",
     1, true},
    {"{\"cells\": [{\"cell_type\": \"code\", \"source\": \"1\","
     "\"outputs\": [{\"output_type\": \"pyout\"}]}], \"nbformat\": 4}",
     1, true},
    /* no notebooks */
    {"{\"worksheets\": [], \"metadata\": {}, \"nbformat\": 3}", 0, true},
    {"{\"cells\": {}, \"nbformat\": 4}", 0, true},
    {"[]", 0, true},
    {"print('hello')\n", 0, true},
    {"{\"cells\": [{\"cell_type\": \"code\"", 0, true},
    {"", 0, false},
};

static void any_file_becomes_a_notebook(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(foreign); i++) {
    struct place place = make_place();
    put_file(&place, NOTEBOOK, foreign[i].text);
    char *aside = NULL;
    struct notebook *notebook = open_telling(&place, &aside);
    assert_int_equal(notebook_cells(notebook), foreign[i].cells);
    assert_int_equal(aside != NULL, foreign[i].aside);
    assert_int_equal(count_files(&place, ".aside"), foreign[i].aside ? 1 : 0);
    append(notebook, "new-1");
    append(notebook, "new-2");
    if (aside != NULL) {
      CLEANUP(mem_free_pointer) char *kept = get_file(&place, aside);
      assert_string_equal(kept, foreign[i].text);
    }
    free(aside);
    notebook_close(notebook);
    check_with_nbformat(&place);
    notebook = open_telling(&place, &aside);
    assert_null(aside);
    assert_int_equal(notebook_cells(notebook), foreign[i].cells + 2);
    notebook_close(notebook);
    remove_place(&place);
  }
}

static void what_was_there_is_kept(void **state) {
  (void)state;
  struct place place = make_place();
  put_file(&place, NOTEBOOK, foreign[1].text);
  struct notebook *notebook = open_telling(&place, NULL);
  CLEANUP(json_done) struct json *root = parse_notebook(&place);
  const struct json *metadata = json_get(root, "metadata");
  assert_string_equal(json_get_text(json_get(metadata, "kernelspec"), "name"),
                      "python3");
  assert_false(json_has(metadata, "orig_nbformat"));
  const struct json *cells = json_get(root, "cells");
  const struct json *code = json_at(cells, 1);
  assert_string_equal(json_text(json_at(json_get(code, "source"), 0)),
                      "print('x')");
  assert_int_equal(json_get_integer(code, "execution_count", 0), 1);
  assert_int_equal(json_length(json_get(code, "outputs")), 1);
  const char *id = json_get_text(json_at(cells, 0), "id");
  assert_true(notebook_has_cell(notebook, id));
  assert_int_equal(strlen(id), 16);
  notebook_close(notebook);
  remove_place(&place);
}

static void other_metadata_stays(void **state) {
  (void)state;
  struct place place = make_place();
  put_file(&place, NOTEBOOK,
           "{\"cells\": [], \"metadata\": {\"title\": \"T\", \"authors\": 1,"
           "\"mine\": {\"a\": [1]}, \"kernelspec\": {}}, \"nbformat\": 4}");
  struct notebook *notebook = open_telling(&place, NULL);
  struct err err = {0};
  assert_int_equal(
      notebook_set_kernel(notebook, "python3", "Py", "python", NULL, &err), 0);
  CLEANUP(json_done) struct json *root = parse_notebook(&place);
  const struct json *metadata = json_get(root, "metadata");
  assert_string_equal(json_get_text(metadata, "title"), "T");
  assert_false(json_has(metadata, "authors"));
  assert_int_equal(json_length(json_get(json_get(metadata, "mine"), "a")), 1);
  assert_string_equal(json_get_text(json_get(metadata, "kernelspec"), "name"),
                      "python3");
  notebook_close(notebook);
  check_with_nbformat(&place);
  remove_place(&place);
}

static void what_is_no_file_is_set_aside(void **state) {
  (void)state;
  for (int kind = 0; kind < 3; kind++) {
    struct place place = make_place();
    put_file(&place, "elsewhere", "not ours");
    if (kind == 0)
      mkdirat(place.directory, NOTEBOOK, 0755);
    else if (kind == 1)
      assert_int_equal(symlinkat("elsewhere", place.directory, NOTEBOOK), 0);
    else
      mkfifoat(place.directory, NOTEBOOK, 0600);
    char *aside = NULL;
    struct notebook *notebook = open_telling(&place, &aside);
    assert_non_null(aside);
    assert_true(has_file(&place, aside));
    free(aside);
    append(notebook, "a");
    append(notebook, "b");
    notebook_close(notebook);
    CLEANUP(mem_free_pointer) char *text = get_file(&place, "elsewhere");
    assert_string_equal(text, "not ours");
    check_with_nbformat(&place);
    remove_place(&place);
  }
}

static void an_edit_by_hand_is_taken_over(void **state) {
  (void)state;
  struct place place = make_place();
  struct notebook *notebook = open_telling(&place, NULL);
  append(notebook, "a");
  append(notebook, "b");
  notebook_close(notebook);
  CLEANUP(mem_free_pointer) char *text = get_file(&place, NOTEBOOK);
  /* Valid JSON still, but no longer as it was written. */
  char *at = strstr(text, "\"execution_count\": 1");
  memcpy(at, "\"execution_count\":42", strlen("\"execution_count\": 1"));
  put_file(&place, NOTEBOOK, text);
  char *aside = NULL;
  notebook = open_telling(&place, &aside);
  assert_null(aside);
  append(notebook, "c");
  CLEANUP(json_done) struct json *root = parse_notebook(&place);
  const struct json *cells = json_get(root, "cells");
  assert_int_equal(json_length(cells), 3);
  assert_int_equal(json_get_integer(json_at(cells, 0), "execution_count", 0),
                   42);
  notebook_close(notebook);
  check_with_nbformat(&place);
  remove_place(&place);
}

/* Cut anywhere, all whole cells in front of the cut are kept. */
static void a_damaged_end_costs_only_the_end(void **state) {
  (void)state;
  struct place place = make_place();
  struct notebook *notebook = open_telling(&place, NULL);
  size_t ends[6];
  char id[40];
  for (int i = 0; i < 6; i++) {
    snprintf(id, sizeof id, "cell-%d", i);
    append(notebook, id);
    ends[i] = (size_t)notebook_size(notebook) - strlen("\n ]\n}\n");
  }
  notebook_close(notebook);
  CLEANUP(mem_free_pointer) char *whole = get_file(&place, NOTEBOOK);
  size_t length = strlen(whole);
  for (size_t cut = 1; cut < length; cut += 13) {
    CLEANUP(mem_free_pointer) char *text = mem_copy_bytes(whole, cut);
    put_file(&place, NOTEBOOK, text);
    unlinkat(place.directory, ".notebook.index", 0);
    int64_t kept = 0;
    while (kept < 6 && ends[kept] <= cut)
      kept++;
    char *aside = NULL;
    notebook = open_telling(&place, &aside);
    assert_int_equal(notebook_cells(notebook), kept);
    assert_non_null(aside);
    unlinkat(place.directory, aside, 0);
    free(aside);
    append(notebook, "next");
    notebook_close(notebook);
    CLEANUP(json_done) struct json *root = parse_notebook(&place);
    assert_int_equal(json_length(json_get(root, "cells")), kept + 1);
  }
  check_with_nbformat(&place);
  remove_place(&place);
}

/* Whatever stands in the index and under the spare's name. */
static void the_helper_files_are_not_trusted(void **state) {
  (void)state;
  struct place place = make_place();
  struct notebook *notebook = open_telling(&place, NULL);
  append(notebook, "a");
  append(notebook, "b");
  notebook_close(notebook);
  put_file(&place, "elsewhere", "not ours");
  srand(7);
  for (int i = 0; i < 60; i++) {
    int index = openat(place.directory, ".notebook.index", O_RDWR);
    if (i % 4 == 0)
      assert_int_equal(ftruncate(index, rand() % 500), 0);
    if (i % 4 == 1)
      for (int j = 0; j < 20; j++) {
        unsigned char byte = (unsigned char)rand();
        assert_int_equal(pwrite(index, &byte, 1, rand() % 400), 1);
      }
    close(index);
    if (i % 4 == 2) {
      unlinkat(place.directory, ".notebook.spare", 0);
      assert_int_equal(
          symlinkat("elsewhere", place.directory, ".notebook.spare"), 0);
    }
    if (i % 4 == 3)
      put_file(&place, ".notebook.spare", "rubbish");
    char id[40];
    snprintf(id, sizeof id, "cell-%d", i);
    notebook = open_telling(&place, NULL);
    append(notebook, id);
    struct err err = {0};
    const struct code_cell cell = code_cell("b", "changed", NULL);
    assert_int_equal(notebook_replace_code(notebook, &cell, &err), 0);
    notebook_close(notebook);
    CLEANUP(json_done) struct json *root = parse_notebook(&place);
    assert_int_equal(json_length(json_get(root, "cells")), i + 3);
  }
  CLEANUP(mem_free_pointer) char *text = get_file(&place, "elsewhere");
  assert_string_equal(text, "not ours");
  check_with_nbformat(&place);
  remove_place(&place);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(any_file_becomes_a_notebook),
      cmocka_unit_test(what_was_there_is_kept),
      cmocka_unit_test(other_metadata_stays),
      cmocka_unit_test(what_is_no_file_is_set_aside),
      cmocka_unit_test(an_edit_by_hand_is_taken_over),
      cmocka_unit_test(a_damaged_end_costs_only_the_end),
      cmocka_unit_test(the_helper_files_are_not_trusted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
