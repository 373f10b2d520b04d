/* The parts of an HTML text, one after another, as browsers part them. Pure.
 *
 * Everything is a piece of the text that was given; each byte of it is looked
 * at once, whatever is left open. */
#ifndef CELLPOST_REPORT_HTML_HTML_TAG_H
#define CELLPOST_REPORT_HTML_HTML_TAG_H

#include <stdbool.h>
#include <stddef.h>

enum html_part { HTML_END, HTML_TEXT, HTML_OPEN, HTML_CLOSE };

struct html_tag {
  enum html_part part;
  char name[16];    /* of a tag, in lower case; longer ones are cut */
  const char *text; /* HTML_TEXT: as it is; HTML_OPEN: the attributes */
  size_t length;
};

struct html_reader {
  const char *at, *end;
};

/* Comments, declarations and processing instructions are passed over. */
enum html_part html_next(struct html_reader *reader, struct html_tag *ret);

/* Passes over everything up to the end tag that closes `tag`, which html_next
 * has just given; without one, up to the end. */
void html_skip(struct html_reader *reader, const struct html_tag *tag);

/* The value of an attribute, "" when it has none; NULL when it is not there. */
const char *html_attribute(const struct html_tag *tag, const char *name,
                           size_t *length);

/* The value as a number from 1 to `most`; 1 when it is none. */
size_t html_number(const struct html_tag *tag, const char *name, size_t most);

#endif
