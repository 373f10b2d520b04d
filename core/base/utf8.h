/* UTF-8 (RFC 3629): judging, repairing, counting and cutting it. Pure. */
#ifndef CELLPOST_BASE_UTF8_H
#define CELLPOST_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"

#define UTF8_REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */

/* Looks at the character at text[0] (length > 0) and returns its length in
 * bytes. *valid is false when it is not well formed: a stray continuation byte,
 * an overlong form, a surrogate, beyond U+10FFFF, or cut off by the end. The
 * length is then that of the maximal subpart that one U+FFFD replaces (Unicode
 * 15, section 3.9). */
size_t utf8_step(const char *text, size_t length, bool *valid);

/* The length (1 to 4) of the well-formed character at the start of `text`; 0
 * when there is none. */
size_t utf8_length(const char *text, size_t length);

bool utf8_is_valid(const char *text, size_t length);

/* Appends the bytes with every invalid sequence replaced by one U+FFFD each
 * (maximal subparts, as Python's errors="replace" does). -1 when `out` is full;
 * its content is then what it was before. */
int utf8_repair(const char *bytes, size_t length, struct buf *out);

/* The character in UTF-8: 1 to 4 bytes, their number is returned. `point` is
 * at most U+10FFFF. */
size_t utf8_encode(uint32_t point, char bytes[4]);

/* True when the character of `length` bytes moves the cursor, breaks a line or
 * reorders text instead of being seen: C0 and C1 controls, DEL, U+2028, U+2029
 * and the bidirectional embeddings, overrides and isolates. */
bool utf8_is_control(const char *bytes, size_t length);

/* The rest is for valid UTF-8. */

/* True for every byte of a character but its first. */
static inline bool utf8_is_continuation(char byte) {
  return ((unsigned char)byte & 0xC0) == 0x80;
}

/* How many characters (code points) the text has. */
size_t utf8_count(const char *text, size_t length);

/* The byte offset behind the first `count` characters (at most length). */
size_t utf8_offset(const char *text, size_t length, size_t count);

/* The byte offset at or in front of `most` that splits no character: where to
 * cut a text of `length` bytes that may have `most`. */
size_t utf8_cut(const char *text, size_t length, size_t most);

#endif
