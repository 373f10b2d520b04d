/* The look into the kernel after an error: what to evaluate, and how to read
 * the answer. The look itself is probe.py. */
#include "core/report/hint/hint.h"

#include <pthread.h>
#include <string.h>
#include <strings.h>

#include "core/base/mem.h"
#include "core/ipykernel/ipykernel.h"
#include "embedded.h"

#define ANSWER_LIMIT ((size_t)64 << 10)

/* A Python expression cannot hold statements, so it runs the file in a
 * namespace of its own and calls its answer(). exec comes from the builtins
 * themselves (a module or a dictionary), as the user may have any name. */
#define EXPRESSION_HEAD                                                        \
  "(lambda built, probe: ((built if built.__class__ is {}.__class__ else "     \
  "built.__dict__)['exec']('"
#define EXPRESSION_TAIL                                                        \
  "', probe), probe['answer']())[1])((lambda: 0).__globals__["                 \
  "'__builtins__'], {})"

static char *expression;
static pthread_once_t expression_once = PTHREAD_ONCE_INIT;

/* The body of a single-quoted Python literal; the file is ASCII. */
static void append_literal(const char *text, struct buf *out) {
  for (; *text; text++) {
    if (*text == '\n')
      buf_text(out, "\\n");
    else if (*text == '\'' || *text == '\\')
      buf_format(out, "\\%c", *text);
    else
      buf_byte(out, *text);
  }
}

static void make_expression(void) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_SMALL);
  buf_text(&text, EXPRESSION_HEAD);
  append_literal(embedded_find(IPYKERNEL_PROBE)->text, &text);
  if (buf_text(&text, EXPRESSION_TAIL) == 0)
    expression = buf_take(&text);
}

/* The parser names the place of these itself, and after these nothing should be
 * started in the kernel. */
static bool needs_none(const char *ename) {
  static const char *const names[] = {
      "SyntaxError",       "IndentationError", "TabError",
      "KeyboardInterrupt", "CancelledError",   "MemoryError",
  };
  for (size_t i = 0; i < COUNT_OF(names); i++)
    if (strcmp(names[i], ename) == 0)
      return true;
  return false;
}

const char *hint_probe_expression(const char *language, const char *ename) {
  if (language == NULL || ename == NULL ||
      strcasecmp(language, "python") != 0 || needs_none(ename))
    return NULL;
  pthread_once(&expression_once, make_expression);
  return expression;
}

/* Undoes repr() of an ASCII text without control characters. */
static int read_literal(const char *literal, size_t length, struct buf *out) {
  char quote = literal[0];
  if (length < 2 || (quote != '\'' && quote != '"') ||
      literal[length - 1] != quote)
    return -1;
  for (size_t i = 1; i < length - 1; i++) {
    if (literal[i] == '\\' && ++i == length - 1)
      return -1;
    if (buf_byte(out, literal[i]) < 0)
      return -1;
  }
  return 0;
}

static struct json *read_answer(const struct json *member) {
  const struct json *plain = json_get(json_get(member, "data"), "text/plain");
  CLEANUP(buf_free) struct buf text = BUF_INIT(ANSWER_LIMIT);
  struct json *answer = NULL;
  struct err err;
  if (json_text(plain) == NULL ||
      read_literal(json_text(plain), json_text_length(plain), &text) < 0 ||
      json_parse(buf_string(&text), text.length, &JSON_RULES_KERNEL, &answer,
                 &err) < 0)
    return NULL;
  if (json_kind(answer) == JSON_OBJECT)
    return answer;
  json_free(answer);
  return NULL;
}

struct json *hint_probe_result(const struct json *user_expressions) {
  void *state = NULL;
  const char *name;
  struct json *member, *answer;
  while (json_next(user_expressions, &state, &name, &member))
    if ((answer = read_answer(member)) != NULL)
      return answer;
  return NULL;
}
