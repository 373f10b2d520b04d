#include "core/notebook/terminal/terminal_store.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/utf8.h"

/* How far a cut may move to reach a line end: a quarter of the head (what it
 * gives up, the tail may keep), and at most a screenful of the tail. */
enum { TAIL_NEAR = 4096, LONGEST_SEQUENCE = 32 };

void terminal_store_init(struct terminal_store *store, size_t head_limit,
                         size_t tail_limit) {
  *store = (struct terminal_store){
      .head_limit = head_limit,
      .limit = head_limit + tail_limit,
      .head = BUF_INIT(SIZE_MAX / 4),
      .tail = BUF_INIT(SIZE_MAX / 4),
  };
}

void terminal_store_free(struct terminal_store *store) {
  buf_free(&store->head);
  buf_free(&store->tail);
}

/* The start of the CSI sequence that reaches across `at`, or `at`. */
static size_t sequence_start(const char *text, size_t at) {
  size_t lowest = at > LONGEST_SEQUENCE ? at - LONGEST_SEQUENCE : 0;
  for (size_t i = at; i-- > lowest;) {
    unsigned char byte = (unsigned char)text[i];
    if (byte == 0x1b)
      return i;
    bool opening = byte == '[' && i > 0 && text[i - 1] == 0x1b;
    if (!opening && (byte < 0x20 || byte > 0x3f))
      return at;
  }
  return at;
}

size_t terminal_store_cut_before(const char *text, size_t length, size_t at) {
  if (at >= length)
    return length;
  size_t cut = at;
  for (int i = 0; i < 3 && cut > 0 && utf8_is_continuation(text[cut]); i++)
    cut--;
  return sequence_start(text, cut);
}

size_t terminal_store_cut_after(const char *text, size_t length, size_t at) {
  size_t cut = at;
  for (int i = 0; i < 3 && cut < length && utf8_is_continuation(text[cut]); i++)
    cut++;
  if (cut >= length || sequence_start(text, cut) == cut)
    return cut < length ? cut : length;
  while (cut < length && (unsigned char)text[cut] < 0x40)
    cut++;
  /* '[' itself lies in the range of final bytes. */
  if (cut < length && text[cut] == '[' && text[cut - 1] == 0x1b)
    return terminal_store_cut_after(text, length, cut + 1);
  return cut < length ? cut + 1 : length;
}

static uint64_t count_newlines(const char *text, size_t length) {
  uint64_t count = 0;
  const char *end = text + length;
  while (text < end && (text = memchr(text, '\n', (size_t)(end - text)))) {
    count++;
    text++;
  }
  return count;
}

/* Closes the head at a line end when one is near; what stood behind it moves
 * to the tail, which is still empty. */
static void close_head(struct terminal_store *store) {
  store->head_closed = true;
  if (store->head.length == 0)
    return;
  const char *text = store->head.data;
  const char *newline = memrchr(text, '\n', store->head.length);
  size_t cut = newline == NULL ? 0 : (size_t)(newline - text) + 1;
  if (store->head.length - cut > store->head_limit / 4)
    return;
  buf_append(&store->tail, text + cut, store->head.length - cut);
  buf_truncate(&store->head, cut);
}

void terminal_store_append(struct terminal_store *store, const char *text,
                           size_t length) {
  if (!store->head_closed) {
    size_t room = store->head_limit - store->head.length;
    size_t part = terminal_store_cut_before(text, length, room);
    buf_append(&store->head, text, part);
    if (part == length)
      return;
    text += part;
    length -= part;
    close_head(store);
  }
  buf_append(&store->tail, text, length);
}

static size_t tail_length(const struct terminal_store *store) {
  return store->tail.length - store->tail_start;
}

/* Drops at least `excess` bytes from the start of the tail. */
static void drop(struct terminal_store *store, size_t excess) {
  const char *text = store->tail.data + store->tail_start;
  size_t length = tail_length(store);
  size_t cut = terminal_store_cut_after(text, length, excess);
  size_t near = store->limit / 8 < TAIL_NEAR ? store->limit / 8 : TAIL_NEAR;
  if (cut < length && text[cut - 1] != '\n') {
    size_t reach = length - cut < near ? length - cut : near;
    const char *newline = memchr(text + cut, '\n', reach);
    if (newline != NULL)
      cut = (size_t)(newline - text) + 1;
  }
  store->dropped_bytes += cut;
  store->dropped_newlines += count_newlines(text, cut);
  store->dropped_part_of_line = text[cut - 1] != '\n';
  store->tail_start += cut;
}

void terminal_store_trim(struct terminal_store *store, size_t reserved) {
  size_t used = store->head.length + reserved;
  size_t allowed = used < store->limit ? store->limit - used : 0;
  if (store->tail_start < store->tail.length && tail_length(store) > allowed)
    drop(store, tail_length(store) - allowed);
  if (store->tail_start > store->limit && store->tail_start != 0) {
    size_t length = tail_length(store);
    memmove(store->tail.data, store->tail.data + store->tail_start, length);
    buf_truncate(&store->tail, length);
    store->tail_start = 0;
  }
}

/* Cuts the head down; the part that goes is next to the gap, or, when there is
 * no gap yet, in front of the tail. */
static void shrink_head(struct terminal_store *store) {
  const char *text = store->head.data;
  size_t cut =
      terminal_store_cut_before(text, store->head.length, store->head_limit);
  const char *newline = cut == 0 ? NULL : memrchr(text, '\n', cut);
  size_t line_end = newline == NULL ? 0 : (size_t)(newline - text) + 1;
  if (cut - line_end <= store->head_limit / 4)
    cut = line_end;
  size_t excess = store->head.length - cut;
  if (store->dropped_bytes == 0) {
    struct buf tail = BUF_INIT(SIZE_MAX / 4);
    buf_append(&tail, text + cut, excess);
    if (store->tail.length > 0)
      buf_append(&tail, store->tail.data, store->tail.length);
    buf_free(&store->tail);
    store->tail = tail;
  } else {
    store->dropped_bytes += excess;
    store->dropped_newlines += count_newlines(text + cut, excess);
  }
  store->head_closed = true;
  buf_truncate(&store->head, cut);
}

void terminal_store_shrink(struct terminal_store *store, size_t head_limit,
                           size_t tail_limit) {
  store->limit = head_limit + tail_limit;
  store->head_limit = head_limit;
  if (store->head.length > head_limit)
    shrink_head(store);
}

size_t terminal_store_size(const struct terminal_store *store) {
  return store->head.length + tail_length(store);
}

uint64_t terminal_store_dropped_lines(const struct terminal_store *store) {
  return store->dropped_newlines + (store->dropped_part_of_line ? 1 : 0);
}

int terminal_store_marker(uint64_t bytes, uint64_t lines, struct buf *out) {
  bool fresh = out->length == 0 || out->data[out->length - 1] == '\n';
  return buf_format(
      out, "%s[… %" PRIu64 " byte%s in %" PRIu64 " line%s left out …]\n",
      fresh ? "" : "\n", bytes, bytes == 1 ? "" : "s", lines,
      lines == 1 ? "" : "s");
}

int terminal_store_write(const struct terminal_store *store, struct buf *out) {
  int result = 0;
  if (store->head.length > 0)
    result |= buf_append(out, store->head.data, store->head.length);
  if (store->dropped_bytes > 0)
    result |= terminal_store_marker(store->dropped_bytes,
                                    terminal_store_dropped_lines(store), out);
  if (tail_length(store) > 0)
    result |= buf_append(out, store->tail.data + store->tail_start,
                         tail_length(store));
  return result;
}
