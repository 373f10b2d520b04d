/* The cell as the user wrote it, cut into lines once: each frame of a traceback
 * asks for some. Pure. */
#ifndef CELLPOST_REPORT_TRACEBACK_CODE_H
#define CELLPOST_REPORT_TRACEBACK_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code {
  const char *text; /* borrowed, less than 4 GiB */
  size_t length;
  uint32_t *starts; /* the offset of each line; one more behind the last */
  size_t count;     /* lines; what follows the last line end is one, too */
};

void code_init(struct code *code, const char *text, size_t length);
void code_free(struct code *code); /* also the cleanup function */

/* Line `number` (1-based) without its end; NULL when there is none. */
const char *code_line(const struct code *code, int64_t number, size_t *length);

/* The number of the last line; an empty one behind the last line end does not
 * count. */
int64_t code_last_line(const struct code *code);

bool code_is_blank(const struct code *code, int64_t number);

/* True when the line says the same as `text` but for blanks at both ends. */
bool code_says(const struct code *code, int64_t number, const char *text);

/* The only line that has `part` in it; 0 when there is none or more than one.
 */
int64_t code_only_line_with(const struct code *code, const char *part);

#endif
