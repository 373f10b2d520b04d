/* Outputs as artifacts: which, under what name, and back again. */
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
#include <unistd.h>

#include "core/base/mem.h"
#include "core/notebook/media.h"
#include "core/notebook/mimebundle.h"

/* One red pixel. */
#define PIXEL                                                                  \
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/"  \
  "pLvAAAAAElFTkSuQmCC"

static int task;
static char place[64];

static int make_task(void **state) {
  (void)state;
  strcpy(place, "/tmp/cellpost-test-media-XXXXXX");
  assert_non_null(mkdtemp(place));
  task = open(place, O_RDONLY | O_DIRECTORY);
  return task < 0 ? -1 : 0;
}

static int remove_task(void **state) {
  (void)state;
  close(task);
  int tmp = open("/tmp", O_RDONLY | O_DIRECTORY);
  fs_remove_tree(tmp, place + strlen("/tmp/"), NULL);
  return close(tmp);
}

static struct json *parse(const char *text) {
  struct json *value = NULL;
  struct err err = {0};
  if (json_parse(text, strlen(text), &JSON_RULES_STORE, &value, &err) < 0)
    fail_msg("%s", err.text);
  return value;
}

static void images_and_long_texts_are_stored(void **state) {
  (void)state;
  static const struct {
    const char *mime;
    size_t bytes;
    bool stored;
  } values[] = {
      {"image/png", 1, true},         {"image/svg+xml", 1, true},
      {"application/pdf", 1, true},   {"text/html", 1, true},
      {"text/plain", 1 << 30, false}, {"text/latex", 65536, false},
      {"text/latex", 65537, true},    {"application/javascript", 65537, true},
  };
  for (size_t i = 0; i < COUNT_OF(values); i++)
    assert_int_equal(mimebundle_is_artifact(values[i].mime, values[i].bytes),
                     values[i].stored);
}

static void stores_each_value_once(void **state) {
  (void)state;
  CLEANUP(json_done)
  struct json *outputs = parse(
      "[{\"output_type\": \"stream\", \"name\": \"stdout\", \"text\": \"x\"},"
      "{\"output_type\": \"display_data\", \"metadata\": {}, \"data\": {"
      "\"text/plain\": \"<Figure>\", \"image/png\": \"" PIXEL "\\n\","
      "\"text/html\": \"<b>é</b>\", \"application/json\": {\"a\": 1}}},"
      "{\"output_type\": \"display_data\", \"metadata\": {}, \"data\": {"
      "\"image/png\": \"" PIXEL "\", \"image/jpeg\": \"no base64!\"}}]");
  struct media *media = NULL;
  size_t count = 0;
  struct err err = {0};
  assert_int_equal(
      media_store(task, outputs, FS_SYNC_NONE, &media, &count, &err), 0);
  assert_int_equal(count, 3);
  assert_string_equal(media[0].mime, "image/png");
  assert_int_equal(media[0].bytes, 69);
  assert_int_equal(media[0].width, 1);
  assert_int_equal(media[0].height, 1);
  assert_true(media[0].image);
  assert_int_equal(media[0].output, 1);
  assert_string_equal(
      media[0].sha256,
      "b1ff9c8ea3a780bad09b346c423d2d0e46815926879b18e841d928376a946640");
  assert_string_equal(media[0].name + 64, ".png");
  assert_string_equal(media[1].mime, "text/html");
  assert_int_equal(media[1].bytes, 9);
  assert_int_equal(media[1].width, 0);
  assert_false(media[1].image);
  assert_string_equal(media[1].name + 64, ".html");
  assert_string_equal(media[2].name, media[0].name);
  assert_int_equal(media[2].output, 2);
  struct stat first, again;
  CLEANUP(mem_free_pointer)
  char *path = mem_format("artifacts/%s", media[0].name);
  assert_int_equal(fstatat(task, path, &first, 0), 0);
  assert_int_equal(first.st_mode & 0777, 0644);
  free(media);
  assert_int_equal(
      media_store(task, outputs, FS_SYNC_DATA, &media, &count, &err), 0);
  assert_int_equal(fstatat(task, path, &again, 0), 0);
  assert_int_equal(again.st_ino, first.st_ino);
  /* A file that was cut short by a crash is written again. */
  CLEANUP(mem_close_descriptor) int file = openat(task, path, O_WRONLY);
  assert_int_equal(ftruncate(file, 5), 0);
  free(media);
  assert_int_equal(
      media_store(task, outputs, FS_SYNC_NONE, &media, &count, &err), 0);
  assert_int_equal(fstatat(task, path, &again, 0), 0);
  assert_int_equal(again.st_size, 69);
  free(media);
}

static void gives_back_what_it_got(void **state) {
  (void)state;
  CLEANUP(json_done)
  struct json *outputs =
      parse("[{\"data\": {\"image/png\": \"" PIXEL "\","
            "\"image/svg+xml\": \"<svg width='20' height='10'/>\"}}]");
  struct media *media = NULL;
  size_t count = 0;
  assert_int_equal(
      media_store(task, outputs, FS_SYNC_NONE, &media, &count, NULL), 0);
  assert_int_equal(count, 2);
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_SMALL);
  assert_int_equal(media_load(task, media[0].name, "image/png", &text, NULL),
                   0);
  assert_string_equal(buf_string(&text), PIXEL);
  buf_reset(&text);
  assert_int_equal(
      media_load(task, media[1].name, "image/svg+xml", &text, NULL), 0);
  assert_string_equal(buf_string(&text), "<svg width='20' height='10'/>");
  free(media);
}

static void names_that_are_no_artifacts(void **state) {
  (void)state;
  static const char *const names[] = {"missing.png", "../notebook.ipynb", "..",
                                      "", "a/b"};
  for (size_t i = 0; i < COUNT_OF(names); i++) {
    struct err err = {0};
    CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_SMALL);
    assert_int_equal(media_load(task, names[i], "image/png", &text, &err), -1);
    assert_int_equal(err.kind, ERR_NOT_FOUND);
    assert_int_equal(text.length, 0);
  }
}

static void stores_a_text(void **state) {
  (void)state;
  struct media media;
  struct err err = {0};
  assert_int_equal(media_store_text(task, "text/plain", "all of it", 9,
                                    FS_SYNC_NONE, &media, &err),
                   0);
  assert_string_equal(media.name + 64, ".txt");
  assert_int_equal(media.bytes, 9);
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_SMALL);
  assert_int_equal(media_load(task, media.name, "text/plain", &text, NULL), 0);
  assert_string_equal(buf_string(&text), "all of it");
}

static void nothing_to_store_makes_nothing(void **state) {
  (void)state;
  struct media *media = NULL;
  size_t count = 1;
  CLEANUP(json_done)
  struct json *outputs =
      parse("[{\"data\": {\"text/plain\": \"1\"}}, 5, {\"data\": [1]}]");
  assert_int_equal(
      media_store(task, outputs, FS_SYNC_NONE, &media, &count, NULL), 0);
  assert_int_equal(count, 0);
  assert_null(media);
  assert_int_equal(faccessat(task, "artifacts", F_OK, 0), -1);
}

#define TASK_TEST(test_)                                                       \
  cmocka_unit_test_setup_teardown(test_, make_task, remove_task)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(images_and_long_texts_are_stored),
      TASK_TEST(stores_each_value_once),
      TASK_TEST(gives_back_what_it_got),
      TASK_TEST(names_that_are_no_artifacts),
      TASK_TEST(stores_a_text),
      TASK_TEST(nothing_to_store_makes_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
