/* Files that come, change and go, as the answer tells them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/notebook/media.h"
#include "core/notebook/workspace.h"
#include "scratch.h"

static struct workspace *scan(int directory, size_t limit) {
  struct workspace *workspace = NULL;
  assert_int_equal(workspace_scan(directory, limit, &workspace, NULL), 0);
  return workspace;
}

static void check(const struct json *list, size_t index, const char *path,
                  const char *change, const char *uri) {
  const struct json *entry = json_at(list, index);
  assert_string_equal(json_get_text(entry, "path"), path);
  assert_string_equal(json_get_text(entry, "change"), change);
  if (uri == NULL)
    assert_false(json_has(entry, "uri"));
  else
    assert_string_equal(json_get_text(entry, "uri"), uri);
}

static void changes_are_told(void **state) {
  int directory = ((struct scratch *)*state)->directory;
  scratch_file(directory, "kept", "same");
  scratch_file(directory, "gone", "x");
  scratch_file(directory, "grows", "x");
  assert_int_equal(mkdirat(directory, "sub", 0755), 0);
  struct workspace *before = scan(directory, 100);
  unlinkat(directory, "gone", 0);
  scratch_file(directory, "grows", "xx");
  scratch_file(directory, "sub/a b%.csv", "a,b\n1,2\n");
  scratch_file(directory, "\xff", "not UTF-8");
  assert_int_equal(symlinkat("/etc/passwd", directory, "link"), 0);
  assert_int_equal(symlinkat("/etc", directory, "tree"), 0);
  assert_int_equal(mkfifoat(directory, "fifo", 0644), 0);
  struct workspace *after = scan(directory, 100);
  size_t omitted = 9;
  struct json *list =
      workspace_compare(before, after, directory, "demo", NULL, 100, &omitted);
  assert_int_equal(omitted, 0);
  assert_int_equal(json_length(list), 4);
  check(list, 0, "gone", "deleted", NULL);
  check(list, 1, "grows", "changed", "/tasks/demo/files/grows");
  check(list, 2, "sub/a b%.csv", "created",
        "/tasks/demo/files/sub/a%20b%25.csv");
  assert_string_equal(json_get_text(json_at(list, 2), "mime"), "text/csv");
  assert_int_equal(json_get_integer(json_at(list, 2), "bytes", -1), 8);
  check(list, 3, "\xef\xbf\xbd", "created", NULL);
  json_free(list);
  list = workspace_compare(before, after, directory, "demo", NULL, 1, &omitted);
  assert_int_equal(json_length(list), 1);
  assert_int_equal(omitted, 3);
  json_free(list);
  workspace_free(before);
  workspace_free(after);
}

static void a_cut_is_told_and_nothing_is_made_up(void **state) {
  int directory = ((struct scratch *)*state)->directory;
  for (int i = 0; i < 30; i++) {
    char name[16];
    snprintf(name, sizeof name, "f%02d", i);
    scratch_file(directory, name, "x");
  }
  struct workspace *whole = scan(directory, 30), *cut = scan(directory, 10);
  assert_false(workspace_was_cut(whole));
  assert_true(workspace_was_cut(cut));
  size_t omitted;
  struct json *list =
      workspace_compare(cut, whole, directory, "t", NULL, 100, &omitted);
  assert_int_equal(json_length(list), 0);
  json_free(list);
  list = workspace_compare(whole, cut, directory, "t", NULL, 100, &omitted);
  assert_int_equal(json_length(list), 0);
  json_free(list);
  workspace_free(whole);
  workspace_free(cut);
}

/* A PNG of 1 x 1 pixel. */
#define PNG                                                                    \
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+"              \
  "M9QDwADhgGAWjR"                                                             \
  "9awAAAABJRU5ErkJggg=="

static void images_become_files_once(void **state) {
  int directory = ((struct scratch *)*state)->directory;
  static const char text[] =
      "[{\"output_type\":\"stream\",\"name\":\"stdout\",\"text\":\"x\"},"
      "{\"output_type\":\"display_data\",\"metadata\":{},\"data\":{"
      "\"text/plain\":\"<Figure>\",\"image/png\":\"" PNG "\\n\"}},"
      "{\"output_type\":\"display_data\",\"metadata\":{},\"data\":{"
      "\"image/png\":\"" PNG "\",\"image/jpeg\":\"!!\","
      "\"text/html\":\"<b>\"}}]";
  struct json *outputs = NULL;
  assert_int_equal(
      json_parse(text, strlen(text), &JSON_RULES_STORE, &outputs, NULL), 0);
  struct media *media = NULL;
  size_t count = 0;
  struct err err = {0};
  assert_int_equal(
      media_store(directory, outputs, FS_SYNC_NONE, &media, &count, &err), 0);
  assert_int_equal(count, 3);
  assert_string_equal(media[0].mime, "image/png");
  assert_int_equal(media[0].output, 1);
  assert_int_equal(media[0].width, 1);
  assert_int_equal(media[0].height, 1);
  assert_int_equal(media[0].bytes, 70);
  assert_true(media[0].image);
  assert_string_equal(media[1].name, media[0].name);
  assert_string_equal(media[2].mime, "text/html");
  struct buf back = BUF_INIT(1000);
  assert_int_equal(
      media_load(directory, media[0].name, media[0].mime, &back, &err), 0);
  assert_string_equal(buf_string(&back), PNG);
  buf_reset(&back);
  assert_int_equal(
      media_load(directory, media[2].name, media[2].mime, &back, &err), 0);
  assert_string_equal(buf_string(&back), "<b>");
  assert_int_equal(
      media_load(directory, "../../etc/passwd", "text/plain", &back, &err), -1);
  buf_free(&back);
  mem_free_pointer(&media);
  json_free(outputs);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(changes_are_told, scratch_make,
                                      scratch_remove),
      cmocka_unit_test_setup_teardown(a_cut_is_told_and_nothing_is_made_up,
                                      scratch_make, scratch_remove),
      cmocka_unit_test_setup_teardown(images_become_files_once, scratch_make,
                                      scratch_remove),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
