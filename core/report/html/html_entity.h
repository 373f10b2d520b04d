/* Character references of HTML: "&lt;", "&#60;", "&#x3c;". Pure. */
#ifndef CELLPOST_REPORT_HTML_HTML_ENTITY_H
#define CELLPOST_REPORT_HTML_HTML_ENTITY_H

#include <stddef.h>

/* Reads the reference at the start of the text, whose first byte is `&`, and
 * writes its character in UTF-8, 0 to 4 bytes of `ret`. Returns how many bytes
 * of the text it takes; 0 when it is none that is known, and the `&` stands for
 * itself. A reference to a control character gives nothing. */
size_t html_entity(const char *text, size_t length, char ret[4],
                   size_t *ret_length);

#endif
