/* What a cell did to the files of its task. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/notebook/workspace.h"

static int files;
static char place[64];

static int make_files(void **state) {
  (void)state;
  strcpy(place, "/tmp/cellpost-test-files-XXXXXX");
  assert_non_null(mkdtemp(place));
  files = open(place, O_RDONLY | O_DIRECTORY);
  return files < 0 ? -1 : 0;
}

static int remove_files(void **state) {
  (void)state;
  close(files);
  int tmp = open("/tmp", O_RDONLY | O_DIRECTORY);
  fs_remove_tree(tmp, place + strlen("/tmp/"), NULL);
  return close(tmp);
}

static void put(const char *path, const char *text) {
  int file = openat(files, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  assert_true(file >= 0);
  assert_int_equal(write(file, text, strlen(text)), strlen(text));
  close(file);
}

static struct workspace *scan(size_t limit) {
  struct workspace *workspace = NULL;
  struct err err = {0};
  if (workspace_scan(files, limit, &workspace, &err) < 0)
    fail_msg("%s", err.text);
  return workspace;
}

/* Compares with how it is now, as text. */
static char *changes(struct workspace *before, size_t scan_limit,
                     size_t tell_limit, size_t *omitted) {
  CLEANUP(workspace_done) struct workspace *after = scan(scan_limit);
  CLEANUP(json_done)
  struct json *list = workspace_compare(before, after, files, "demo", NULL,
                                        tell_limit, omitted);
  struct buf text = BUF_INIT(BUF_NOTEBOOK);
  json_write(list, &text);
  workspace_free(before);
  return buf_take(&text);
}

static void tells_created_changed_and_deleted(void **state) {
  (void)state;
  put("stays.txt", "x");
  put("grows.csv", "a,b\n");
  put("goes.txt", "x");
  put("same size.txt", "x");
  mkdirat(files, "data", 0755);
  struct workspace *before = scan(1000);
  assert_false(workspace_was_cut(before));
  put("new.json", "{}");
  put("grows.csv", "a,b\n1,2\n");
  /* Replaced by another file of the same size. */
  put("other", "y");
  renameat(files, "other", files, "same size.txt");
  put("data/é%.py", "1");
  unlinkat(files, "goes.txt", 0);
  size_t omitted = 9;
  CLEANUP(mem_free_pointer) char *text = changes(before, 1000, 100, &omitted);
  assert_string_equal(
      text,
      "[{\"path\":\"data/é%.py\",\"change\":\"created\","
      "\"mime\":\"text/x-python\",\"bytes\":1,"
      "\"uri\":\"/tasks/demo/files/data/%C3%A9%25.py\"},"
      "{\"path\":\"goes.txt\",\"change\":\"deleted\"},"
      "{\"path\":\"grows.csv\",\"change\":\"changed\",\"mime\":\"text/csv\","
      "\"bytes\":8,\"uri\":\"/tasks/demo/files/grows.csv\"},"
      "{\"path\":\"new.json\",\"change\":\"created\","
      "\"mime\":\"application/json\",\"bytes\":2,"
      "\"uri\":\"/tasks/demo/files/new.json\"},"
      "{\"path\":\"same size.txt\",\"change\":\"changed\","
      "\"mime\":\"text/plain\",\"bytes\":1,"
      "\"uri\":\"/tasks/demo/files/same%20size.txt\"}]");
  assert_int_equal(omitted, 0);
}

static void nothing_happened(void **state) {
  (void)state;
  put("a", "x");
  size_t omitted = 9;
  CLEANUP(mem_free_pointer) char *text = changes(scan(10), 10, 10, &omitted);
  assert_string_equal(text, "[]");
  assert_int_equal(omitted, 0);
}

static void only_regular_files_and_no_way_out(void **state) {
  (void)state;
  struct workspace *before = scan(1000);
  assert_int_equal(symlinkat("/etc", files, "etc"), 0);
  assert_int_equal(symlinkat("/etc/passwd", files, "passwd"), 0);
  assert_int_equal(mkfifoat(files, "pipe", 0644), 0);
  mkdirat(files, ".cache", 0755);
  put(".cache/x", "1");
  mkdirat(files, "__pycache__", 0755);
  put("__pycache__/m.pyc", "1");
  put(".hidden", "1");
  size_t omitted;
  CLEANUP(mem_free_pointer) char *text = changes(before, 1000, 100, &omitted);
  assert_string_equal(text, "[{\"path\":\".hidden\",\"change\":\"created\","
                            "\"mime\":\"application/octet-stream\",\"bytes\":1,"
                            "\"uri\":\"/tasks/demo/files/.hidden\"}]");
}

static void names_that_are_no_text(void **state) {
  (void)state;
  struct workspace *before = scan(1000);
  put("a\xff.txt", "1");
  size_t omitted;
  CLEANUP(mem_free_pointer) char *text = changes(before, 1000, 100, &omitted);
  assert_string_equal(text,
                      "[{\"path\":\"a\xef\xbf\xbd.txt\",\"change\":\"created\","
                      "\"mime\":\"text/plain\",\"bytes\":1}]");
}

static void a_long_list_is_cut_and_counted(void **state) {
  (void)state;
  struct workspace *before = scan(1000);
  char name[40];
  for (int i = 0; i < 20; i++) {
    snprintf(name, sizeof name, "file-%02d", i);
    put(name, "x");
  }
  size_t omitted;
  CLEANUP(mem_free_pointer) char *text = changes(before, 1000, 3, &omitted);
  assert_int_equal(omitted, 17);
  assert_non_null(strstr(text, "file-02"));
  assert_null(strstr(text, "file-03"));
}

/* The nearest directories first, and never more than `limit` entries. */
static void the_scan_is_bounded(void **state) {
  (void)state;
  mkdirat(files, "a", 0755);
  char name[40];
  for (int i = 0; i < 30; i++) {
    snprintf(name, sizeof name, "a/%d", i);
    put(name, "x");
  }
  put("b", "x");
  put("c", "x");
  CLEANUP(workspace_done) struct workspace *all = scan(33);
  assert_false(workspace_was_cut(all));
  CLEANUP(workspace_done) struct workspace *less = scan(32);
  assert_true(workspace_was_cut(less));
  CLEANUP(workspace_done) struct workspace *top = scan(3);
  assert_true(workspace_was_cut(top));
  struct workspace *nothing = scan(1000);
  workspace_free(nothing);
}

/* File times are those of the last tick of the clock: waits for the next. */
static void wait_for_tick(void) {
  struct timespec now, tick;
  clock_gettime(CLOCK_REALTIME, &now);
  do
    clock_gettime(CLOCK_REALTIME_COARSE, &tick);
  while (tick.tv_sec < now.tv_sec ||
         (tick.tv_sec == now.tv_sec && tick.tv_nsec < now.tv_nsec));
}

static void a_cut_scan_invents_nothing(void **state) {
  (void)state;
  char name[40];
  for (int i = 0; i < 50; i++) {
    snprintf(name, sizeof name, "file-%02d", i);
    put(name, "x");
  }
  size_t omitted;
  CLEANUP(mem_free_pointer) char *none = changes(scan(10), 1000, 100, &omitted);
  assert_string_equal(none, "[]");
  CLEANUP(mem_free_pointer) char *same = changes(scan(1000), 10, 100, &omitted);
  assert_string_equal(same, "[]");
  struct workspace *before = scan(0);
  wait_for_tick();
  put("file-20", "changed");
  put("new", "x");
  CLEANUP(mem_free_pointer) char *text = changes(before, 1000, 100, &omitted);
  CLEANUP(json_done) struct json *list = NULL;
  assert_int_equal(
      json_parse(text, strlen(text), &JSON_RULES_STORE, &list, NULL), 0);
  assert_int_equal(json_length(list), 2);
  assert_string_equal(json_get_text(json_at(list, 0), "path"), "file-20");
  assert_string_equal(json_get_text(json_at(list, 0), "change"), "changed");
  assert_string_equal(json_get_text(json_at(list, 1), "path"), "new");
  assert_string_equal(json_get_text(json_at(list, 1), "change"), "created");
  before = scan(1000);
  unlinkat(files, "new", 0);
  CLEANUP(mem_free_pointer) char *gone = changes(before, 0, 100, &omitted);
  assert_string_equal(gone, "[{\"path\":\"new\",\"change\":\"deleted\"}]");
}

#define FILES_TEST(test_)                                                      \
  cmocka_unit_test_setup_teardown(test_, make_files, remove_files)

int main(void) {
  const struct CMUnitTest tests[] = {
      FILES_TEST(tells_created_changed_and_deleted),
      FILES_TEST(nothing_happened),
      FILES_TEST(only_regular_files_and_no_way_out),
      FILES_TEST(names_that_are_no_text),
      FILES_TEST(a_long_list_is_cut_and_counted),
      FILES_TEST(the_scan_is_bounded),
      FILES_TEST(a_cut_scan_invents_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
