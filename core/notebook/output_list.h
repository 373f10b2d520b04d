/* The outputs of a run within their caps. Pure. */
#ifndef CELLPOST_NOTEBOOK_OUTPUT_LIST_H
#define CELLPOST_NOTEBOOK_OUTPUT_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "core/notebook/output.h"
#include "core/notebook/output_entry.h"

struct output_list {
  struct output_limits limits;
  struct output_entry *entries;
  size_t count, capacity;
  bool has_gap;               /* one entry is an OUTPUT_GAP */
  size_t kept;                /* bytes of all entries */
  struct output_dropped gone; /* all but what the present streams dropped */
};

void output_list_free(struct output_list *list);

/* The newest entry, or NULL. */
struct output_entry *output_list_last(const struct output_list *list);

/* Appends the entry, whose content the list then owns. */
void output_list_append(struct output_list *list,
                        const struct output_entry *entry);

/* Notes that the size of entry `index` was `size` before. */
void output_list_changed(struct output_list *list, size_t index, size_t size);

/* Shrinks and drops until the caps hold. */
void output_list_settle(struct output_list *list);

/* Removes all: what clear_output does. */
void output_list_clear(struct output_list *list);

void output_list_left_out(struct output_list *list,
                          const struct mimebundle_left_out *left_out);
void output_list_dropped(const struct output_list *list,
                         struct output_dropped *ret);

#endif
