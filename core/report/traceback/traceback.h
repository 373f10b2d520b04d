/* From an error message of the kernel to what a model needs to mend the cell.
 * Pure. Understands IPython 7.x to 9.x tracebacks (Context, Plain, Verbose,
 * Minimal, Docs modes) and degrades to ename, evalue and the plain text for
 * other languages. */
#ifndef CELLPOST_REPORT_TRACEBACK_TRACEBACK_H
#define CELLPOST_REPORT_TRACEBACK_TRACEBACK_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/json/json.h"

enum traceback_style {
  TRACEBACK_CONTEXT, /* user frames with neighbours, library frames folded */
  TRACEBACK_PLAIN,   /* one line a frame, library frames folded */
  TRACEBACK_MINIMAL, /* the exception line only */
};

struct traceback_source {
  const struct json
      *error;       /* {ename, evalue, traceback[]} as the kernel sent it */
  const char *code; /* the cell, as the user wrote it */
  size_t code_length;
  const char *language;    /* "python", "R", … */
  int64_t execution_count; /* of this cell; -1 unknown */
  enum traceback_style style;
  const char *hint; /* made by hint.h, or NULL */
  /* What the probe of hint.h saw, or NULL. IPython 9 shows for some frames the
   * line that was reached last (in a finally or except block) instead of the
   * one that raised, and no frames at all for SystemExit, exception groups and
   * xmode Minimal; with the probe line and source are right in all of these. */
  const struct json *probe;
};

/* The answer's "error": {ename, evalue, traceback: [lines without ANSI],
 * line: number|null, source: text|null (the failing line of the user's cell
 * with neighbours, numbered, the line itself marked "->"), column (number,
 * SyntaxError only), cell (execution count of the earlier cell when the deepest
 * user frame lies there; null when the kernel does not tell which cell; absent
 * when it is this cell), called_line (the line of this cell that led into the
 * earlier one), function (that the line is in; absent at the top level), calls
 * (the lines of cells that led there, the nearest first: {line, function, cell}
 * with the same meaning; of more than 5 the nearest and the outermost), causes:
 * ["KeyError: 'b'", …] (outermost first, that is the nearest to the exception
 * itself), hint: text|null}. Lines are numbered as the user wrote the cell,
 * with blank lines at its top and %% magics counted. Chained exceptions: the
 * traceback shows the last one in full and a line for each of the others. Caps:
 * evalue 2,000 characters, traceback 200 lines and 16,000 characters, head and
 * tail kept. */
struct json *traceback_report(const struct traceback_source *source);

/* Sets line and source of a report whose place is known from elsewhere (a stack
 * dump); a line below 1 sets nothing. */
void traceback_set_place(struct json *report, const char *code,
                         size_t code_length, int64_t line);

#endif
