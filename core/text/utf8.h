/* UTF-8, one character at a time (RFC 3629). Pure. */
#ifndef CELLPOST_TEXT_UTF8_H
#define CELLPOST_TEXT_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* The length in bytes (1 to 4) of the character that starts at `bytes`; 0 when
 * no well-formed character starts there: a stray continuation byte, an overlong
 * form, a surrogate, beyond U+10FFFF, or cut off by the end. */
size_t utf8_length(const char *bytes, size_t size);

/* True when the character of `length` bytes moves the cursor, breaks a line or
 * reorders text instead of being seen: C0 and C1 controls, DEL, U+2028, U+2029
 * and the bidirectional embeddings, overrides and isolates. */
bool utf8_is_control(const char *bytes, size_t length);

#endif
