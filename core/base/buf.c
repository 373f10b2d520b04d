#include "core/base/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

static size_t grown_capacity(const struct buf *buf, size_t needed) {
  size_t capacity = buf->capacity < 64 ? 64 : buf->capacity;
  while (capacity < needed)
    capacity += capacity / 2 + 64;
  size_t most = buf->limit + 1;
  return capacity > most ? most : capacity;
}

char *buf_reserve(struct buf *buf, size_t length) {
  if (length > buf->limit - buf->length) {
    buf->overflowed = true;
    return NULL;
  }
  size_t needed = buf->length + length + 1;
  if (needed > buf->capacity) {
    size_t capacity = grown_capacity(buf, needed);
    buf->data = mem_grow(buf->data, capacity, 1);
    buf->capacity = capacity;
  }
  buf->data[buf->length] = '\0';
  return buf->data + buf->length;
}

int buf_append(struct buf *buf, const void *bytes, size_t length) {
  char *end = buf_reserve(buf, length);
  if (end == NULL)
    return -1;
  if (length != 0)
    memcpy(end, bytes, length);
  end[length] = '\0';
  buf->length += length;
  return 0;
}

int buf_text(struct buf *buf, const char *text) {
  return buf_append(buf, text, strlen(text));
}

int buf_byte(struct buf *buf, char byte) { return buf_append(buf, &byte, 1); }

int buf_vformat(struct buf *buf, const char *format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  int length = vsnprintf(NULL, 0, format, again);
  va_end(again);
  if (length < 0)
    return -1;
  char *end = buf_reserve(buf, (size_t)length);
  if (end == NULL)
    return -1;
  vsnprintf(end, (size_t)length + 1, format, arguments);
  buf->length += (size_t)length;
  return 0;
}

int buf_format(struct buf *buf, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int result = buf_vformat(buf, format, arguments);
  va_end(arguments);
  return result;
}

void buf_truncate(struct buf *buf, size_t length) {
  if (length >= buf->length)
    return;
  buf->length = length;
  buf->data[length] = '\0';
}

void buf_reset(struct buf *buf) {
  buf_truncate(buf, 0);
  buf->overflowed = false;
}

void buf_free(struct buf *buf) {
  free(buf->data);
  buf->data = NULL;
  buf->length = 0;
  buf->capacity = 0;
  buf->overflowed = false;
}

const char *buf_string(const struct buf *buf) {
  return buf->data == NULL ? "" : buf->data;
}

char *buf_take(struct buf *buf) {
  char *data = buf->data == NULL ? mem_copy_text("") : buf->data;
  buf->data = NULL;
  buf_free(buf);
  return data;
}
