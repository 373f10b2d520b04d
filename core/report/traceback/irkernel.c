/* Parse errors say "<text>:2:8: unexpected …". The call stack says "2. stop(…)
 * # at line 2 of file <text>" of any cell, so such a line counts only when the
 * cell that was run has that call in it. */
#include "core/report/traceback/irkernel.h"

#include <stdlib.h>
#include <string.h>

#define CALL_COMPARED 40

static bool is_parse_error(const char *message, int64_t *line,
                           int64_t *column) {
  const char *place = strstr(message, "<text>:");
  char *end;
  if (strncmp(message, "Error in parse(", 15) != 0 || place == NULL)
    return false;
  *line = strtol(place + strlen("<text>:"), &end, 10);
  if (*line <= 0 || *end != ':')
    return false;
  *column = strtol(end + 1, NULL, 10);
  return true;
}

/* "2. stop("boom")   # at line 2 of file <text>" */
static bool read_call(const struct code *code, const char *text,
                      int64_t *line) {
  static const char mark[] = "# at line ";
  const char *place = strstr(text, mark);
  const char *call = strstr(text, ". ");
  size_t length, compared;
  char *end;
  if (place == NULL || call == NULL || call > place)
    return false;
  int64_t number = strtol(place + strlen(mark), &end, 10);
  if (strncmp(end, " of file <text>", 15) != 0)
    return false;
  call += 2;
  compared = (size_t)(place - call);
  while (compared > 0 && call[compared - 1] == ' ')
    compared--;
  if (compared > CALL_COMPARED)
    compared = CALL_COMPARED;
  const char *written = code_line(code, number, &length);
  if (written == NULL || compared == 0 ||
      memmem(written, length, call, compared) == NULL)
    return false;
  *line = number;
  return true;
}

bool irkernel_place(const struct json *error, const struct code *code,
                    int64_t *line, int64_t *column) {
  const char *message = json_get_text(error, "evalue");
  const struct json *traceback = json_get(error, "traceback");
  *line = *column = 0;
  if (message != NULL && is_parse_error(message, line, column)) {
    /* R counts the end of the text as a line of its own. */
    int64_t last = code_last_line(code);
    if (*line > last) {
      *line = last;
      *column = 0;
    }
    return true;
  }
  for (size_t i = json_length(traceback); i-- > 0;) {
    const char *text = json_text(json_at(traceback, i));
    if (text != NULL && read_call(code, text, line))
      return true;
  }
  return false;
}
