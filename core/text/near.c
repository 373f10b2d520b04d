#include "core/text/near.h"

#include <string.h>

#define LONGEST 63

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* Levenshtein's distance, one row of the table at a time. */
static size_t distance(const char *a, const char *b) {
  size_t row[LONGEST + 1];
  size_t columns = strlen(b);
  if (strlen(a) > LONGEST || columns > LONGEST)
    return SIZE_MAX;
  for (size_t j = 0; j <= columns; j++)
    row[j] = j;
  for (size_t i = 1; a[i - 1] != '\0'; i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= columns; j++) {
      size_t changed = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = least(changed, 1 + least(row[j], row[j - 1]));
    }
  }
  return row[columns];
}

void near_consider(struct near *near, const char *name) {
  size_t far = distance(near->wrong, name);
  if (far >= near->distance || far > (strlen(name) + 2) / 3)
    return;
  near->distance = far;
  near->best = name;
}
