/* What a person reads of a piece of HTML, as plain text. Pure. */
#ifndef CELLPOST_REPORT_HTML_HTML_H
#define CELLPOST_REPORT_HTML_HTML_H

#include <stddef.h>

#include "core/base/buf.h"

/* Of more than this much HTML, in bytes, only the beginning is read. */
#define HTML_MOST ((size_t)2 << 20)

/* Appends lines: paragraphs and headings apart from each other, lists with
 * their bullets and numbers, tables in aligned columns, entities as characters,
 * pictures and frames by name. Scripts, styles, drawings and what is hidden do
 * not show. Nothing is appended when there is nothing to read. `html` is valid
 * UTF-8; its terminal control stays. The time is proportional to its length. */
void html_to_text(const char *html, size_t length, struct buf *out);

#endif
