/* What kernels sent for the objects of real libraries, and how `text` shows it:
 * tests/fixtures/outputs/gallery.json. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/json/json.h"
#include "core/report/text.h"

#define GALLERY "tests/fixtures/outputs/gallery.json"

static struct json *load(void) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_ANSWER);
  CLEANUP(mem_close_descriptor) int file = open(GALLERY, O_RDONLY | O_CLOEXEC);
  struct json *gallery = NULL;
  struct err err = {0};
  if (file < 0 || fs_read_all(file, &text, &err) < 0 ||
      json_parse(buf_string(&text), text.length, &JSON_RULES_KERNEL, &gallery,
                 &err) < 0)
    fail_msg("%s: %s", GALLERY, err.text);
  return gallery;
}

static void every_object_reads_well(void **state) {
  (void)state;
  CLEANUP(json_done) struct json *gallery = load();
  assert_true(json_length(gallery) > 35);
  for (size_t i = 0; i < json_length(gallery); i++) {
    const struct json *entry = json_at(gallery, i);
    struct text_source source = {.status = "ok",
                                 .outputs = json_get(entry, "outputs"),
                                 .images = json_get(entry, "images"),
                                 .limit = 12000};
    CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_SMALL);
    assert_int_equal(text_compose(&source, &text), 0);
    if (strcmp(buf_string(&text), json_get_text(entry, "text")) != 0)
      fail_msg("%s: got\n%s\ninstead of\n%s", json_get_text(entry, "name"),
               buf_string(&text), json_get_text(entry, "text"));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_object_reads_well),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
