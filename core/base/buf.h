/* A growing byte buffer that is born with a cap.
 *
 * Invariants: data is NULL or NUL-terminated at data[length];
 * length <= limit. An append that would pass the limit changes nothing, sets
 * `overflowed` (which stays set until buf_reset) and returns -1, so a caller
 * may append many times and look once at the end.
 *
 *   CLEANUP(buf_free) struct buf body = BUF_INIT(BUF_REQUEST_BODY);
 */
#ifndef CELLPOST_BASE_BUF_H
#define CELLPOST_BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* The caps of all buffers of the house, together, so that the memory a request
 * can cost is visible in one place. Units: bytes. */
#define BUF_LINE ((size_t)4 << 10)             /* a log line, an HTTP header */
#define BUF_SMALL ((size_t)256 << 10)          /* a path list, a CLI message */
#define BUF_CONTROL_MESSAGE ((size_t)60 << 10) /* one keeper message */
#define BUF_REQUEST_BODY ((size_t)64 << 20)    /* conf may set it lower */
#define BUF_KERNEL_MESSAGE ((size_t)512 << 20) /* one frame from a kernel */
#define BUF_ANSWER ((size_t)512 << 20)         /* one JSON answer */
#define BUF_NOTEBOOK ((size_t)2 << 30)         /* a serialised notebook */

struct buf {
  char *data;
  size_t length;
  size_t capacity;
  size_t limit;
  bool overflowed;
};

#define BUF_INIT(limit_)                                                       \
  {                                                                            \
    .data = NULL, .length = 0, .capacity = 0, .limit = (limit_),               \
    .overflowed = false                                                        \
  }

int buf_append(struct buf *buf, const void *bytes, size_t length);
int buf_text(struct buf *buf, const char *text);
int buf_byte(struct buf *buf, char byte);
int buf_format(struct buf *buf, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int buf_vformat(struct buf *buf, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

/* Makes room for `length` more bytes and returns where they start; the caller
 * writes there and then adds to buf->length. NULL when over the limit. */
char *buf_reserve(struct buf *buf, size_t length);

/* Shortens to `length` bytes (no-op when it is shorter already). */
void buf_truncate(struct buf *buf, size_t length);

/* Empties it and clears `overflowed`; keeps the memory. */
void buf_reset(struct buf *buf);

/* Releases the memory; the buffer can be used again. */
void buf_free(struct buf *buf);

/* The content as a C string, never NULL; valid until the next change. */
const char *buf_string(const struct buf *buf);

/* Gives the malloc'ed content away (NUL-terminated, never NULL). */
char *buf_take(struct buf *buf);

#endif
