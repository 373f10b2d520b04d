/* "Did you mean …?": the name that a wrong one was probably meant to be. Pure.
 *
 *   struct near near = NEAR_INIT("tiemout");
 *   near_consider(&near, "timeout");
 *   near.best is "timeout"
 */
#ifndef CELLPOST_TEXT_NEAR_H
#define CELLPOST_TEXT_NEAR_H

#include <stddef.h>
#include <stdint.h>

struct near {
  const char *wrong;
  const char *best; /* the nearest so far, borrowed; NULL: none is near */
  size_t distance;
};

#define NEAR_INIT(wrong_)                                                      \
  { .wrong = (wrong_), .best = NULL, .distance = SIZE_MAX }

/* Takes `name` for the best when it is nearer (Levenshtein's distance) than the
 * best so far and at most a third of it differs. Of equals the first stays.
 * Names over 63 bytes are never near. */
void near_consider(struct near *near, const char *name);

#endif
