#include "core/base/mem.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *checked(void *pointer) {
  if (pointer != NULL)
    return pointer;
  static const char message[] = "cellpost: out of memory\n";
  ssize_t written = write(STDERR_FILENO, message, sizeof message - 1);
  (void)written;
  abort();
}

void *mem_new(size_t size) { return checked(calloc(1, size ? size : 1)); }

void *mem_array(size_t count, size_t size) {
  return checked(calloc(count ? count : 1, size ? size : 1));
}

void *mem_grow(void *old, size_t count, size_t size) {
  if (size != 0 && count > SIZE_MAX / size)
    return checked(NULL);
  return checked(realloc(old, count != 0 && size != 0 ? count * size : 1));
}

char *mem_copy_text(const char *text) {
  return text == NULL ? NULL : checked(strdup(text));
}

char *mem_copy_bytes(const void *bytes, size_t length) {
  char *copy = checked(malloc(length + 1));
  if (length != 0)
    memcpy(copy, bytes, length);
  copy[length] = '\0';
  return copy;
}

char *mem_format(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char *text = NULL;
  int length = vasprintf(&text, format, arguments);
  va_end(arguments);
  return checked(length < 0 ? NULL : text);
}

void mem_free_pointer(void *pointer_address) {
  void *pointer;
  memcpy(&pointer, pointer_address, sizeof pointer);
  free(pointer);
}

void mem_close_descriptor(int *descriptor) {
  if (*descriptor >= 0)
    close(*descriptor);
  *descriptor = -1;
}
