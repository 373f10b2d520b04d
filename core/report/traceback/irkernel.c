/* Parse errors say "<text>:2:8: unexpected …". The call stack says "2. stop(…)
 * # at line 2 of file <text>" of any cell, so such a line counts only when the
 * cell that was run has that call in it; the outermost call is in this cell in
 * any case, and counts where the cell has it once, as the message's own call
 * does when the stack is empty. R writes the calls anew, so they are compared
 * by their tokens. */
#include "core/report/traceback/irkernel.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define TOKENS_COMPARED 24

enum token_kind {
  TOKEN_END,
  TOKEN_NAME,
  TOKEN_NUMBER,
  TOKEN_STRING,
  TOKEN_SIGN
};

/* One token; of a string or quoted name, what is between the quotes. */
struct token {
  enum token_kind kind;
  const char *text;
  size_t length;
};

static bool is_name(char byte) {
  return isalnum((unsigned char)byte) || byte == '.' || byte == '_' ||
         (unsigned char)byte >= 0x80;
}

static const char *skip_blanks(const char *at, const char *end) {
  while (at < end && (isspace((unsigned char)*at) || *at == '#'))
    if (*at++ == '#')
      while (at < end && *at != '\n')
        at++;
  return at;
}

/* Takes the token at *at, which is no blank. */
static struct token take_token(const char **at, const char *end) {
  const char *start = *at, *c = start;
  if (c == end)
    return (struct token){TOKEN_END, c, 0};
  if (strchr("\"'`", *c) != NULL) {
    char quote = *c++;
    while (c < end && *c != quote)
      c += *c == '\\' && end - c > 1 ? 2 : 1;
    *at = c < end ? c + 1 : end;
    return (struct token){quote == '`' ? TOKEN_NAME : TOKEN_STRING, start + 1,
                          (size_t)(c - start) - 1};
  }
  if (!is_name(*c)) {
    *at = c + 1;
    /* R writes \(x) as function(x). */
    return *c == '\\' ? (struct token){TOKEN_NAME, "function", 8}
                      : (struct token){TOKEN_SIGN, c, 1};
  }
  bool is_number = isdigit((unsigned char)*c) ||
                   (*c == '.' && end - c > 1 && isdigit((unsigned char)c[1]));
  while (c < end && (is_name(*c) || (is_number && (*c == '+' || *c == '-') &&
                                     (c[-1] == 'e' || c[-1] == 'E'))))
    c++;
  *at = c;
  return (struct token){is_number ? TOKEN_NUMBER : TOKEN_NAME, start,
                        (size_t)(c - start)};
}

/* A quote within a string may have a backslash or not. */
static bool is_same_string(const struct token *a, const struct token *b) {
  size_t i = 0, k = 0;
  while (i < a->length && k < b->length) {
    i += a->text[i] == '\\' && i + 1 < a->length &&
         strchr("\"'", a->text[i + 1]) != NULL;
    k += b->text[k] == '\\' && k + 1 < b->length &&
         strchr("\"'", b->text[k + 1]) != NULL;
    if (a->text[i++] != b->text[k++])
      return false;
  }
  return i == a->length && k == b->length;
}

static double number_of(const struct token *token) {
  char text[40];
  size_t length = token->length < sizeof text ? token->length : sizeof text - 1;
  memcpy(text, token->text, length);
  text[length] = '\0';
  return strtod(text, NULL);
}

static bool is_same_token(const struct token *a, const struct token *b) {
  if (a->kind != b->kind)
    return false;
  if (a->kind == TOKEN_STRING)
    return is_same_string(a, b);
  if (a->length == b->length && memcmp(a->text, b->text, a->length) == 0)
    return true;
  return a->kind == TOKEN_NUMBER && number_of(a) == number_of(b);
}

/* True when the text starts with the call, as far as that is compared. */
static bool starts_with_call(const char *at, const char *end, const char *call,
                             const char *call_end) {
  size_t compared = 0;
  for (; compared < TOKENS_COMPARED; compared++) {
    call = skip_blanks(call, call_end);
    if (call == call_end)
      break;
    at = skip_blanks(at, end);
    struct token wanted = take_token(&call, call_end);
    struct token found = take_token(&at, end);
    if (!is_same_token(&found, &wanted))
      return false;
  }
  return compared > 0;
}

/* How often the call starts in the text from..to, and where first. */
static size_t find_call(const struct code *code, const char *from,
                        const char *to, const char *call, const char *call_end,
                        const char **first) {
  const char *end = code->text + code->length;
  size_t count = 0;
  for (const char *at = skip_blanks(from, to); at < to && count < 2;
       at = skip_blanks(at, to)) {
    if (starts_with_call(at, end, call, call_end) && count++ == 0)
      *first = at;
    take_token(&at, to);
  }
  return count;
}

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

/* "2. stop("boom")   # at line 2 of file <text>"; the first line of the call.
 */
static bool read_call(const char *text, const char **call,
                      const char **call_end, int64_t *line) {
  static const char mark[] = "# at line ";
  const char *place = strstr(text, mark);
  char *end;
  *line = strtol(text, &end, 10);
  if (end == text || strncmp(end, ". ", 2) != 0)
    return false;
  *call = end + 2;
  *call_end = *call + strcspn(*call, "\n");
  *line = 0;
  if (place == NULL)
    return true;
  if (place < *call_end)
    *call_end = place;
  int64_t number = strtol(place + strlen(mark), &end, 10);
  if (strncmp(end, " of file <text>", 15) == 0)
    *line = number;
  return true;
}

/* The line that the traceback tells, if the cell has the call there. */
static bool is_at_line(const struct code *code, const char *call,
                       const char *call_end, int64_t line) {
  size_t length;
  const char *text = code_line(code, line, &length), *first;
  return text != NULL &&
         find_call(code, text, text + length, call, call_end, &first) > 0;
}

static int64_t line_of_call(const struct code *code, const char *call,
                            const char *call_end) {
  const char *first = code->text;
  if (find_call(code, code->text, code->text + code->length, call, call_end,
                &first) != 1)
    return 0;
  int64_t line = 1;
  for (const char *at = code->text;
       (at = memchr(at, '\n', (size_t)(first - at))); at++)
    line++;
  return line;
}

/* "Error in log("a"): non-numeric …": what built-in functions say, which leave
 * no call on the stack. The call ends with its last bracket. */
static int64_t line_of_builtin(const char *message, const struct code *code) {
  static const char start[] = "Error in ";
  if (message == NULL || strncmp(message, start, sizeof start - 1) != 0)
    return 0;
  const char *call = message + sizeof start - 1, *at = call;
  const char *end = message + strlen(message);
  for (size_t depth = 0; (at = skip_blanks(at, end)) < end;) {
    struct token token = take_token(&at, end);
    if (token.kind != TOKEN_SIGN)
      continue;
    if (*token.text == '(')
      depth++;
    else if (*token.text == ')' && depth > 0 && --depth == 0)
      return line_of_call(code, call, at);
  }
  return 0;
}

static int64_t line_in_calls(const struct json *error,
                             const struct code *code) {
  const struct json *traceback = json_get(error, "traceback");
  const char *call, *call_end;
  int64_t line, outermost = 0;
  bool has_calls = false;
  for (size_t i = json_length(traceback); i-- > 0;) {
    const char *text = json_text(json_at(traceback, i));
    if (text == NULL || !read_call(text, &call, &call_end, &line))
      continue;
    has_calls = true;
    if (line > 0 && is_at_line(code, call, call_end, line))
      return line;
    if (strncmp(text, "1. ", 3) == 0)
      outermost = line_of_call(code, call, call_end);
  }
  return has_calls ? outermost
                   : line_of_builtin(json_get_text(error, "evalue"), code);
}

bool irkernel_place(const struct json *error, const struct code *code,
                    int64_t *line, int64_t *column) {
  const char *message = json_get_text(error, "evalue");
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
  *line = line_in_calls(error, code);
  return *line > 0;
}
