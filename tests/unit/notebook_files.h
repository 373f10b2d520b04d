/* A task's directory for the tests of the notebook writer, and looks at what
 * stands in it. */
#ifndef CELLPOST_TESTS_NOTEBOOK_FILES_H
#define CELLPOST_TESTS_NOTEBOOK_FILES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/json/json.h"
#include "core/notebook/writer/notebook.h"

#define NOTEBOOK "notebook.ipynb"
#define MAYBE_UNUSED __attribute__((unused))

struct place {
  char path[64];
  int directory;
};

MAYBE_UNUSED static struct place make_place(void) {
  struct place place = {.path = "/tmp/cellpost-test-notebook-XXXXXX"};
  assert_non_null(mkdtemp(place.path));
  place.directory = open(place.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  assert_true(place.directory >= 0);
  return place;
}

MAYBE_UNUSED static void remove_place(struct place *place) {
  close(place->directory);
  struct err err = {0};
  int tmp = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  assert_int_equal(fs_remove_tree(tmp, place->path + strlen("/tmp/"), &err), 0);
  close(tmp);
}

MAYBE_UNUSED static void put_file(const struct place *place, const char *name,
                                  const char *text) {
  int file = openat(place->directory, name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  assert_true(file >= 0);
  assert_int_equal(write(file, text, strlen(text)), strlen(text));
  close(file);
}

/* The content, to be freed. */
MAYBE_UNUSED static char *get_file(const struct place *place,
                                   const char *name) {
  struct buf text = BUF_INIT(BUF_NOTEBOOK);
  struct err err = {0};
  if (fs_read_file(place->directory, name, &text, &err) < 0)
    fail_msg("%s", err.text);
  return buf_take(&text);
}

MAYBE_UNUSED static bool has_file(const struct place *place, const char *name) {
  return faccessat(place->directory, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

MAYBE_UNUSED static size_t count_files(const struct place *place,
                                       const char *part_of_name) {
  int copy = openat(place->directory, ".", O_RDONLY | O_DIRECTORY);
  DIR *directory = fdopendir(copy);
  assert_non_null(directory);
  size_t count = 0;
  for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
    count += strstr(entry->d_name, part_of_name) != NULL;
  closedir(directory);
  return count;
}

/* When it is set, notebooks are also synced later. */
MAYBE_UNUSED static struct fs_later *later;

MAYBE_UNUSED static int start_later(void **state) {
  (void)state;
  return fs_later_start(NULL, NULL, &later, NULL);
}

MAYBE_UNUSED static int stop_later(void **state) {
  (void)state;
  fs_later_stop(MEM_STEAL(later));
  return 0;
}

MAYBE_UNUSED static struct notebook *open_notebook(const struct place *place) {
  struct notebook *notebook = NULL;
  struct err err = {0};
  if (notebook_open(place->directory, FS_SYNC_NONE, &notebook, NULL, &err) < 0)
    fail_msg("%s", err.text);
  if (later != NULL)
    notebook_sync_later(notebook, later);
  return notebook;
}

MAYBE_UNUSED static struct json *parse_text(const char *text) {
  struct json *value = NULL;
  struct err err = {0};
  if (json_parse(text, strlen(text), &JSON_RULES_STORE, &value, &err) < 0)
    fail_msg("%s: %s", err.text, text);
  return value;
}

/* Strict: a torn file fails the test. */
MAYBE_UNUSED static struct json *parse_notebook(const struct place *place) {
  CLEANUP(mem_free_pointer) char *text = get_file(place, NOTEBOOK);
  struct json *value = parse_text(text);
  assert_int_equal(json_get_integer(value, "nbformat", 0), 4);
  assert_int_equal(json_get_integer(value, "nbformat_minor", 0), 5);
  assert_int_equal(json_kind(json_get(value, "cells")), JSON_ARRAY);
  assert_int_equal(json_kind(json_get(value, "metadata")), JSON_OBJECT);
  return value;
}

MAYBE_UNUSED static struct code_cell
code_cell(const char *id, const char *source, const struct json *outputs) {
  return (struct code_cell){.id = id,
                            .source = source,
                            .source_length = strlen(source),
                            .execution_count = 1,
                            .outputs = outputs,
                            .run = id,
                            .status = "ok"};
}

MAYBE_UNUSED static struct json *stream(const char *text) {
  struct json *outputs = json_array(), *output = json_object();
  json_set_text(output, "output_type", "stream");
  json_set_text(output, "name", "stdout");
  json_set_text(output, "text", text);
  json_push(outputs, output);
  return outputs;
}

/* nbformat's own judgement over a file. */
MAYBE_UNUSED static void check_with_nbformat(const struct place *place) {
  CLEANUP(mem_free_pointer)
  char *command = mem_format(
      "/usr/bin/python3 tests/unit/check_notebook.py --same %s/" NOTEBOOK,
      place->path);
  assert_int_equal(system(command), 0);
}

#endif
