/* What may stand in one line of text from outside that is shown among others:
 * in a heading of the notebook, in a list, in a terminal. Pure. */
#ifndef CELLPOST_FCGI_HTTP_LINE_H
#define CELLPOST_FCGI_HTTP_LINE_H

#include <stdbool.h>

/* Whether `text` (valid UTF-8) is one line that shows something: no control
 * characters (tabs and line ends among them), no line or paragraph separators,
 * none of the characters that change the direction of the text behind them
 * (UAX #9: embeddings, overrides, isolates), and not only what cannot be seen
 * (white space, joiners, marks without width). */
bool line_is_clean(const char *text);

#endif
