/* Whose outputs are whose: the cell's own, and those of its Output widgets
 * (ipywidgets, "Output widgets"). Pure. */
#ifndef CELLPOST_NOTEBOOK_AREA_H
#define CELLPOST_NOTEBOOK_AREA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { AREA_MOST = 256 }; /* widgets */

struct area {
  char *comm;         /* comm_id of its model; NULL for the cell */
  bool clear_pending; /* clear_output(wait=true) */
  size_t place;       /* where its outputs stood when they were cleared */
  uint64_t captures; /* number of its msg_id among all that were set; 0: none */
};

struct areas {
  struct area list[1 + AREA_MOST]; /* the first one is the cell itself */
  unsigned count;
  uint64_t captures; /* how often a msg_id was set */
};

void area_init(struct areas *areas);
void area_free(struct areas *areas);

/* The index of the widget that captures: of several the one that began last;
 * 0: none, it is the cell. */
unsigned area_capturing(const struct areas *areas);

/* NULL: it is not known. */
struct area *area_find(struct areas *areas, const char *comm);

/* One that is not known was made in an earlier cell. With too many of them the
 * newest are none (NULL): what they capture is the cell's. */
struct area *area_have(struct areas *areas, const char *comm);

/* Its msg_id was set, or emptied. */
void area_capture(struct areas *areas, struct area *area, bool captures);

#endif
