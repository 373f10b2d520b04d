/* The outputs of a run within their caps. Pure.
 *
 * Outputs belong to areas: 0 is the cell's own, any other one a widget's. Those
 * of a widget stand together, where the first of them was put. */
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
  size_t gap;                 /* one more than the index of the OUTPUT_GAP */
  size_t text;                /* bytes of all entries that are no artifacts */
  size_t artifacts;           /* bytes of those that are */
  uint64_t serials;           /* the last one given */
  struct output_dropped gone; /* all but what the present streams dropped */
  /* Told of each display or result before it goes for the caps' sake; returns
   * how many bytes of it are kept elsewhere. */
  size_t (*evicted)(void *context, const struct output_entry *entry);
  void *context;
};

void output_list_free(struct output_list *list);

/* The newest entry of the area, after which its next one is put; NULL. */
struct output_entry *output_list_last(const struct output_list *list,
                                      unsigned area);

/* Puts the entry at the end of its area, or at index `place` when that area is
 * empty; the list then owns its content and gives it a serial. */
struct output_entry *output_list_append(struct output_list *list,
                                        const struct output_entry *entry,
                                        size_t place);

/* Notes that the sizes of an entry were those before. */
void output_list_changed(struct output_list *list,
                         const struct output_entry *entry, size_t text,
                         size_t artifacts);

/* Shrinks and drops until the caps hold; the entry with the serial `newest`
 * stays. */
void output_list_settle(struct output_list *list, uint64_t newest);

/* Removes all of the area, of all areas for 0: what clear_output does. Returns
 * where the first one stood; SIZE_MAX: there was none. */
size_t output_list_clear(struct output_list *list, unsigned area);

void output_list_left_out(struct output_list *list,
                          const struct mimebundle_left_out *left_out);
void output_list_dropped(const struct output_list *list,
                         struct output_dropped *ret);

#endif
