/* The live feed's pure parts: frames, fences, the trail; and a watcher at the
 * end of a socket pair. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/mem.h"
#include "core/feed/event_frame.h"
#include "core/feed/fence.h"
#include "core/run/engine/trail.h"
#include "fcgi/live/watcher.h"

#define RUN "0190a000-0000-7000-8000-00000000000a"
#define OTHER "0190a000-0000-7000-8000-00000000000b"

static struct event_text an_event(int64_t id, const char *run, const char *kind,
                                  const char *content) {
  return (struct event_text){.id = id,
                             .at = 1,
                             .task = (char *)"demo",
                             .run = (char *)run,
                             .kind = (char *)kind,
                             .content = (char *)content};
}

static void an_event_is_one_frame(void **state) {
  (void)state;
  CLEANUP(buf_free) struct buf out = BUF_INIT(BUF_SMALL);
  struct event_text event =
      an_event(7, NULL, "task.created", "{\"a\":\n \"b\\n\"\r}");
  assert_int_equal(event_frame(&event, &out), 0);
  assert_string_equal(
      buf_string(&out),
      "id: 7\nevent: task.created\n"
      "data: "
      "{\"id\":7,\"at\":\"1970-01-01T00:00:00.000001Z\",\"task\":\"demo\","
      "\"run\":null,\"kind\":\"task.created\",\"content\":{\"a\":  \"b\\n\" }}"
      "\n\n");
}

static void a_kind_cannot_add_lines(void **state) {
  (void)state;
  CLEANUP(buf_free) struct buf out = BUF_INIT(BUF_SMALL);
  struct event_text event = an_event(7, RUN, "a.b\ndata: forged", "{}");
  assert_int_equal(event_frame(&event, &out), 0);
  assert_non_null(strstr(buf_string(&out), "event: a.b\ndata: {\"id\":7"));
  assert_null(strstr(buf_string(&out), "\ndata: forged"));
}

static void a_frame_that_finds_no_room_leaves_no_trace(void **state) {
  (void)state;
  CLEANUP(buf_free) struct buf out = BUF_INIT(100);
  buf_text(&out, "before");
  struct event_text event =
      an_event(7, RUN, "a.b", "{\"text\":\"long enough\"}");
  assert_int_equal(event_frame(&event, &out), -1);
  assert_string_equal(buf_string(&out), "before");
}

static void an_event_of_ours_may_have_no_id(void **state) {
  (void)state;
  CLEANUP(buf_free) struct buf out = BUF_INIT(BUF_SMALL);
  CLEANUP(json_done) struct json *content = json_object();
  event_frame_own(0, "gap", content, &out);
  event_frame_own(3, "state", content, &out);
  assert_string_equal(buf_string(&out), "event: gap\ndata: {}\n\n"
                                        "id: 3\nevent: state\ndata: {}\n\n");
}

static bool hides(struct fence *fence, int64_t id, const char *run,
                  const char *kind, const char *content) {
  struct event_text event = an_event(id, run, kind, content);
  return fence_hides(fence, &event);
}

static void a_fence_hides_what_is_known_until_it_is_passed(void **state) {
  (void)state;
  struct fence fence = {.run = RUN, .end = 5};
  assert_false(hides(&fence, 1, RUN, "run.started", "{}"));
  assert_true(hides(&fence, 2, RUN, "run.output", "{\"end\":3}"));
  assert_false(hides(&fence, 3, OTHER, "run.output", "{\"end\":3}"));
  assert_false(hides(&fence, 3, NULL, "kernel.output", "{}"));
  assert_false(fence_is_lifted(&fence, 3));
  assert_true(hides(&fence, 4, RUN, "run.output", "{\"end\":5}"));
  assert_true(fence_is_lifted(&fence, 4));
  assert_false(hides(&fence, 5, RUN, "run.output", "{\"end\":6}"));
}

static void a_fence_ends_where_all_was_recorded(void **state) {
  (void)state;
  struct fence fence = {.run = RUN, .end = 5, .until = 3};
  assert_true(hides(&fence, 2, RUN, "run.output", "{\"end\":5}"));
  assert_true(fence_is_lifted(&fence, 3));
  assert_false(hides(&fence, 4, RUN, "run.output", "{\"end\":6}"));
}

static void a_run_that_ends_lifts_its_fence(void **state) {
  (void)state;
  struct fence fence = {.run = RUN, .end = 5};
  assert_false(hides(&fence, 8, RUN, "run.finished", "{}"));
  assert_true(fence_is_lifted(&fence, 8));
}

static void add_line(struct trail *trail, const char *text, int64_t now) {
  CLEANUP(json_done) struct json *content = json_object();
  json_set_text(content, "name", "stdout");
  json_set_text(content, "text", text);
  trail_add(trail, "stream", content, now);
}

/* The batches as JSON, one a line. */
static char *take(struct trail *trail, int64_t now) {
  struct event_record *events;
  size_t count = trail_take(trail, (char *)"demo", (char *)RUN, now, &events);
  struct buf out = BUF_INIT(BUF_SMALL);
  for (size_t i = 0; i < count; i++) {
    assert_string_equal(events[i].kind, "run.output");
    json_write(events[i].content, &out);
    buf_byte(&out, '\n');
  }
  trail_events_free(events, count);
  return buf_take(&out);
}

static void neighbours_are_joined_and_counted(void **state) {
  (void)state;
  CLEANUP(trail_done) struct trail trail = {0};
  add_line(&trail, "a\n", 1);
  add_line(&trail, "b\n", 2);
  CLEANUP(mem_free_pointer) char *told = take(&trail, 3);
  assert_string_equal(told, "{\"messages\":[{\"type\":\"stream\",\"content\":"
                            "{\"name\":\"stdout\",\"text\":\"a\\nb\\n\"}}],"
                            "\"end\":2}\n");
  assert_int_equal(trail.recorded, 0);
  trail_note_recorded(&trail);
  assert_int_equal(trail.recorded, 2);
}

static void a_cut_is_never_gone_across(void **state) {
  (void)state;
  CLEANUP(trail_done) struct trail trail = {0};
  trail_cut(&trail);
  add_line(&trail, "a", 1);
  trail_cut(&trail);
  trail_cut(&trail);
  add_line(&trail, "b", 2);
  CLEANUP(mem_free_pointer) char *told = take(&trail, 3);
  assert_non_null(strstr(told, "\"a\"}}],\"end\":1}\n"));
  assert_non_null(strstr(told, "\"b\"}}],\"end\":2}\n"));
  struct event_record *none;
  assert_int_equal(trail_take(&trail, (char *)"demo", (char *)RUN, 4, &none),
                   0);
  trail_events_free(none, 0);
}

static void what_is_too_large_is_counted(void **state) {
  (void)state;
  CLEANUP(trail_done) struct trail trail = {0};
  CLEANUP(mem_free_pointer) char *long_text = mem_new(TRAIL_BATCH_BYTES + 1);
  memset(long_text, 'x', TRAIL_BATCH_BYTES);
  add_line(&trail, long_text, 1);
  CLEANUP(mem_free_pointer) char *told = take(&trail, 2);
  assert_string_equal(told, "{\"messages\":[],\"end\":1,\"left_out\":1}\n");
}

static void a_line_after_a_silence_is_due_at_once(void **state) {
  (void)state;
  CLEANUP(trail_done) struct trail trail = {0};
  trail_begin(&trail, 1000);
  add_line(&trail, "a", 1001);
  assert_int_equal(trail.flush_at, 1000 + TRAIL_INTERVAL_NS);
  int64_t now = 1000 + TRAIL_INTERVAL_NS;
  free(take(&trail, now));
  assert_int_equal(trail.flush_at, 0);
  add_line(&trail, "b", now + 1);
  assert_int_equal(trail.flush_at, now + TRAIL_INTERVAL_NS);
  free(take(&trail, now + TRAIL_INTERVAL_NS));
  add_line(&trail, "c", now + 10 * TRAIL_INTERVAL_NS);
  assert_int_equal(trail.flush_at,
                   now + 10 * TRAIL_INTERVAL_NS + TRAIL_GATHER_NS);
}

struct line {
  struct watcher *watcher;
  int peer;
};

static int open_line(void **state) {
  struct line *line = mem_new(sizeof *line);
  int pair[2];
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  int least = 1; /* the kernel makes it some thousand bytes */
  setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &least, sizeof least);
  line->watcher = watcher_new(pair[0], 258, "demo", 10, NULL, 0, NULL);
  line->peer = pair[1];
  *state = line;
  return 0;
}

static int close_line(void **state) {
  struct line *line = *state;
  if (line->watcher != NULL)
    watcher_free(line->watcher);
  mem_close_descriptor(&line->peer);
  free(line);
  return 0;
}

static bool queue(struct line *line, char letter, size_t length, int64_t last) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_REQUEST_BODY);
  memset(buf_reserve(&text, length), letter, length);
  text.length = length;
  struct frames *frames = watcher_frames_new(&text, last);
  bool queued = watcher_queue(line->watcher, frames);
  watcher_frames_release(frames);
  return queued;
}

/* Reads what there is, and lets the watcher send more, until its end. */
static void read_all(struct line *line, struct buf *bytes) {
  bool stays = true;
  ssize_t got = 0;
  while (stays || got > 0) {
    line->watcher->full = false;
    if (stays)
      stays = watcher_send(line->watcher, 0);
    got = recv(line->peer, buf_reserve(bytes, 1000), 1000, MSG_DONTWAIT);
    if (got > 0)
      bytes->length += (size_t)got;
  }
}

/* The content of all records of standard output; checks their heads, and that
 * the request ends with the last one. */
static char *unwrap(const struct buf *bytes) {
  const unsigned char *at = (const unsigned char *)bytes->data;
  const unsigned char *end = at + bytes->length;
  struct buf text = BUF_INIT(BUF_REQUEST_BODY);
  for (;;) {
    assert_true(end - at >= 8);
    assert_int_equal(at[0], 1);
    assert_int_equal(at[2] << 8 | at[3], 258);
    size_t length = (size_t)(at[4] << 8 | at[5]);
    assert_int_equal(at[6], 0);
    if (at[1] == 3)
      break;
    assert_int_equal(at[1], 6);
    buf_append(&text, at + 8, length);
    at += 8 + length;
  }
  assert_int_equal(end - at, 16);
  return buf_take(&text);
}

static void a_watcher_sends_all_in_records(void **state) {
  struct line *line = *state;
  assert_true(queue(line, 'a', 200000, 11));
  assert_true(queue(line, 'b', 3, 12));
  assert_true(watcher_send(line->watcher, 0));
  assert_true(line->watcher->full);
  watcher_end(line->watcher);
  CLEANUP(buf_free) struct buf bytes = BUF_INIT(BUF_REQUEST_BODY);
  read_all(line, &bytes);
  CLEANUP(mem_free_pointer) char *text = unwrap(&bytes);
  assert_int_equal(strlen(text), 200003);
  assert_int_equal(strspn(text, "a"), 200000);
  assert_string_equal(text + 200000, "bbb");
}

static void a_watcher_that_is_dropped_ends_with_a_gap(void **state) {
  struct line *line = *state;
  assert_true(queue(line, 'a', 100000, 11));
  watcher_send(line->watcher, 0);
  assert_true(queue(line, 'b', WATCHER_QUEUE, 12));
  assert_false(queue(line, 'c', 1, 13));
  watcher_drop(line->watcher);
  assert_true(queue(line, 'd', 1, 14)); /* it goes nowhere */
  CLEANUP(buf_free) struct buf bytes = BUF_INIT(BUF_REQUEST_BODY);
  read_all(line, &bytes);
  CLEANUP(mem_free_pointer) char *text = unwrap(&bytes);
  assert_int_equal(strspn(text, "a"), 100000);
  const char *gap = text + 100000;
  assert_memory_equal(gap, "event: gap\ndata: {", 18);
  assert_non_null(strstr(gap, "\"reason\":\"slow\""));
  assert_non_null(strstr(gap, "\"resume\":11"));
  assert_null(strstr(gap, "id:"));
  assert_null(strstr(gap, "\n\nd"));
}

static void a_watcher_that_got_nothing_resumes_where_it_began(void **state) {
  struct line *line = *state;
  assert_true(queue(line, 'a', WATCHER_QUEUE, 11));
  watcher_drop(line->watcher);
  CLEANUP(buf_free) struct buf bytes = BUF_INIT(BUF_REQUEST_BODY);
  read_all(line, &bytes);
  CLEANUP(mem_free_pointer) char *text = unwrap(&bytes);
  assert_non_null(strstr(text, "\"resume\":10"));
}

static void the_queue_keeps_its_order_as_it_grows(void **state) {
  struct line *line = *state;
  CLEANUP(buf_free) struct buf bytes = BUF_INIT(BUF_REQUEST_BODY);
  for (char letter = 'a'; letter <= 'z'; letter++) {
    assert_true(queue(line, letter, 1, 0));
    if (letter == 'c')
      watcher_send(line->watcher, 0);
  }
  watcher_end(line->watcher);
  read_all(line, &bytes);
  CLEANUP(mem_free_pointer) char *text = unwrap(&bytes);
  assert_string_equal(text, "abcdefghijklmnopqrstuvwxyz");
}

static void a_peer_that_is_gone_is_noticed(void **state) {
  struct line *line = *state;
  assert_true(watcher_listen(line->watcher));
  assert_int_equal(send(line->peer, "abort", 5, 0), 5);
  assert_true(watcher_listen(line->watcher));
  mem_close_descriptor(&line->peer);
  line->peer = -1;
  assert_false(watcher_listen(line->watcher));
  assert_true(queue(line, 'a', 1, 11));
  assert_false(watcher_send(line->watcher, 0));
}

#define ON_LINE(test_)                                                         \
  cmocka_unit_test_setup_teardown(test_, open_line, close_line)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_event_is_one_frame),
      cmocka_unit_test(a_kind_cannot_add_lines),
      cmocka_unit_test(a_frame_that_finds_no_room_leaves_no_trace),
      cmocka_unit_test(an_event_of_ours_may_have_no_id),
      cmocka_unit_test(a_fence_hides_what_is_known_until_it_is_passed),
      cmocka_unit_test(a_fence_ends_where_all_was_recorded),
      cmocka_unit_test(a_run_that_ends_lifts_its_fence),
      cmocka_unit_test(neighbours_are_joined_and_counted),
      cmocka_unit_test(a_cut_is_never_gone_across),
      cmocka_unit_test(what_is_too_large_is_counted),
      cmocka_unit_test(a_line_after_a_silence_is_due_at_once),
      ON_LINE(a_watcher_sends_all_in_records),
      ON_LINE(a_watcher_that_is_dropped_ends_with_a_gap),
      ON_LINE(a_watcher_that_got_nothing_resumes_where_it_began),
      ON_LINE(the_queue_keeps_its_order_as_it_grows),
      ON_LINE(a_peer_that_is_gone_is_noticed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
