/* Counting and cutting by characters (code points of valid UTF-8). Pure.
 */
#ifndef CELLPOST_TEXT_CHARACTERS_H
#define CELLPOST_TEXT_CHARACTERS_H

#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/utf8.h"

/* What is left out when a text is cut to a head and a tail. Bytes in front of
 * head_end and from tail_start on are kept. */
struct characters_cut {
  size_t head_end, tail_start;
  size_t total, dropped;             /* characters */
  size_t total_lines, dropped_lines; /* line ends */
};

/* Where to cut so that at most `keep` characters stay: a quarter of them in
 * front, the rest behind; at line ends where one is near, never between a
 * character and what combines with it. `total` is the count of all, and
 * larger than keep. */
void characters_cut(const char *text, size_t length, size_t total, size_t keep,
                    struct characters_cut *ret);

/* Appends the text, or head, marker and tail of at most `limit` characters in
 * all. The marker has a line of its own when the text has lines. */
int characters_append(const char *text, size_t length, size_t limit,
                      struct buf *out);

/* Appends the first `limit` characters of the first line; an ellipsis tells
 * that there was more. */
int characters_append_line(const char *text, size_t length, size_t limit,
                           struct buf *out);

#endif
