#include "core/notebook/area.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

void area_init(struct areas *areas) {
  areas->count = 1;
  areas->captures = 0;
  areas->list[0] = (struct area){.place = SIZE_MAX};
}

void area_free(struct areas *areas) {
  while (areas->count > 0)
    free(areas->list[--areas->count].comm);
}

unsigned area_capturing(const struct areas *areas) {
  unsigned found = 0;
  for (unsigned i = 1; i < areas->count; i++)
    if (areas->list[i].captures > areas->list[found].captures)
      found = i;
  return found;
}

struct area *area_find(struct areas *areas, const char *comm) {
  for (unsigned i = 1; i < areas->count; i++)
    if (strcmp(areas->list[i].comm, comm) == 0)
      return &areas->list[i];
  return NULL;
}

struct area *area_have(struct areas *areas, const char *comm) {
  struct area *area = area_find(areas, comm);
  if (area != NULL || areas->count > AREA_MOST)
    return area;
  area = &areas->list[areas->count++];
  *area = (struct area){.comm = mem_copy_text(comm), .place = SIZE_MAX};
  return area;
}

void area_capture(struct areas *areas, struct area *area, bool captures) {
  area->captures = captures ? ++areas->captures : 0;
}
