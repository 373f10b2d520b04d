#include "core/base/mem.h"

#include <malloc.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
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

/* What malloc may keep for the next request. */
#define KEPT_MOST ((size_t)24 << 20)

static size_t resident_bytes(void) {
  unsigned long pages = 0;
  FILE *file = fopen("/proc/self/statm", "re");
  if (file == NULL)
    return 0;
  if (fscanf(file, "%*u %lu", &pages) != 1)
    pages = 0;
  fclose(file);
  return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Resident beside what is allocated: the program, its libraries, stacks, and
 * what malloc keeps. */
static size_t other_bytes(void) {
  struct mallinfo2 heap = mallinfo2();
  size_t allocated = heap.uordblks + heap.hblkhd, resident = resident_bytes();
  return resident > allocated ? resident - allocated : 0;
}

void mem_give_back(bool knows) {
  static atomic_long looked;
  static atomic_size_t least =
      SIZE_MAX; /* that there is without malloc's part */
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  if (!knows && atomic_load(&looked) == now.tv_sec)
    return;
  atomic_store(&looked, now.tv_sec);
  size_t others = other_bytes();
  if (others < atomic_load(&least))
    atomic_store(&least, others);
  if (others < atomic_load(&least) + KEPT_MOST)
    return;
  malloc_trim(0);
  atomic_store(&least, other_bytes());
}
