/* What E2B's SDK reads of a cell, made of what our sinks are told: a JSON
 * object a line. Pure. */
#ifndef CELLPOST_FCGI_E2B_E2B_LINES_H
#define CELLPOST_FCGI_E2B_E2B_LINES_H

#include "core/json/json.h"
#include "fcgi/live/stream.h"

/* "stream", "display_data", "execute_result", "error" become lines; "answer",
 * the last, tells the execution count and an end that the kernel does not tell
 * (time, death). Others become nothing. */
extern const struct stream_form e2b_lines_form;

/* The members of a result for a mimebundle: "text", "png", … and the rest in
 * "extra". The caller owns it. */
struct json *e2b_lines_result(const struct json *data, bool is_main);

#endif
