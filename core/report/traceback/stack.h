/* Reads a stack dump of Python's faulthandler. Pure. */
#ifndef CELLPOST_REPORT_TRACEBACK_STACK_H
#define CELLPOST_REPORT_TRACEBACK_STACK_H

#include <stddef.h>
#include <stdint.h>

/* The line of the running cell in the last dump of `text`: the innermost in the
 * file of the outermost cell ("…/ipykernel_<pid>/<hash>.py" or
 * "<ipython-input-…>"), since frames inside it may be functions of earlier
 * cells. -1 when no cell is on the stack. Format: "most recent call first",
 * `  File "NAME", line N in FUNCTION` (docs.python.org, faulthandler). */
int64_t stack_running_line(const char *text, size_t length);

/* How many lines of the code IPython drops before it compiles it: blank ones in
 * front (inputtransformer2, leading_empty_lines). Its line 1 is a later one of
 * the user's. */
int64_t stack_leading_lines(const char *code, size_t length);

#endif
