/* Frames of streamed answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/mem.h"
#include "fcgi/live/stream.h"

static void assert_frame(const struct stream_form *form, const char *type,
                         const struct json *content, const char *expected) {
  CLEANUP(buf_free) struct buf out = BUF_INIT(1000);
  assert_int_equal(form->frame(type, content, &out), 0);
  assert_string_equal(buf_string(&out), expected);
}

static void events_are_framed(void **state) {
  (void)state;
  CLEANUP(json_done) struct json *content = json_object();
  json_set_text(content, "text", "a\nb\r\n\ndata: x");
  assert_frame(&stream_sse, "stream", content,
               "event: stream\ndata: {\"text\":\"a\\nb\\r\\n\\ndata: x\"}\n\n");
  assert_frame(&stream_sse, "keepalive", NULL, ": keepalive\n\n");
  assert_frame(&stream_ndjson, "stream", content,
               "{\"type\":\"stream\",\"content\":"
               "{\"text\":\"a\\nb\\r\\n\\ndata: x\"}}\n");
  assert_frame(&stream_ndjson, "keepalive", NULL, "{\"type\":\"keepalive\"}\n");
}

static void a_frame_that_does_not_fit_leaves_nothing(void **state) {
  (void)state;
  CLEANUP(json_done) struct json *content = json_string("0123456789");
  CLEANUP(buf_free) struct buf out = BUF_INIT(30);
  assert_int_equal(stream_sse.frame("a", NULL, &out), 0);
  size_t before = out.length;
  assert_int_equal(stream_sse.frame("b", content, &out), -1);
  assert_int_equal(out.length, before);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(events_are_framed),
      cmocka_unit_test(a_frame_that_does_not_fit_leaves_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
