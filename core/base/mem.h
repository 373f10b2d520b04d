/* Memory and ownership: allocation that cannot fail, and cleanup attributes.
 *
 * A small allocation that fails ends the process with one line on stderr.
 * That is safe by design: the process holds no truth in memory and may be
 * killed at any instant. Large memory comes from struct buf, which is capped.
 *
 *   CLEANUP(mem_free_pointer) char *name = mem_copy_text("x");
 */
#ifndef CELLPOST_BASE_MEM_H
#define CELLPOST_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>

#define CLEANUP(function) __attribute__((cleanup(function)))
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* All return memory that free() releases, zeroed in mem_new and mem_array. */
void *mem_new(size_t size);
void *mem_array(size_t count, size_t size);
void *mem_grow(void *old, size_t count, size_t size);
char *mem_copy_text(const char *text);                  /* NULL gives NULL */
char *mem_copy_bytes(const void *bytes, size_t length); /* adds a NUL */
char *mem_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Gives memory back to the system when much of what was freed is still kept, as
 * malloc likes to. Looks once a second at most, unless the caller `knows` that
 * it has just freed much. */
void mem_give_back(bool knows);

/* Cleanup functions: each takes the address of the variable. */
void mem_free_pointer(void *pointer_address); /* for any `T *` from above */
void mem_close_descriptor(int *descriptor);   /* closes unless negative */

/* Gives the pointer away and leaves NULL behind, so that no cleanup runs. */
#define MEM_STEAL(variable)                                                    \
  __extension__({                                                              \
    __typeof__(variable) stolen_ = (variable);                                 \
    (variable) = NULL;                                                         \
    stolen_;                                                                   \
  })

/* The same for a file descriptor: leaves -1 behind. */
static inline int mem_steal_descriptor(int *descriptor) {
  int stolen = *descriptor;
  *descriptor = -1;
  return stolen;
}

#endif
