#include "core/keeper/kernels/environment.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

struct list {
  char **texts; /* NULL-terminated */
  size_t count;
};

static bool is_name(const char *text, size_t length) {
  if (length == 0 || isdigit((unsigned char)*text))
    return false;
  for (size_t i = 0; i < length; i++)
    if (!isalnum((unsigned char)text[i]) && text[i] != '_')
      return false;
  return true;
}

/* The index of "NAME=…", or count when there is none. */
static size_t find(const struct list *list, const char *name, size_t length) {
  for (size_t i = 0; i < list->count; i++)
    if (strncmp(list->texts[i], name, length) == 0 &&
        list->texts[i][length] == '=')
      return i;
  return list->count;
}

static void set(struct list *list, const char *name, size_t length,
                const char *value) {
  if (!is_name(name, length))
    return;
  size_t place = find(list, name, length);
  if (place == list->count) {
    list->texts = mem_grow(list->texts, list->count + 2, sizeof *list->texts);
    list->texts[++list->count] = NULL;
  } else {
    free(list->texts[place]);
  }
  list->texts[place] = mem_format("%.*s=%s", (int)length, name, value);
}

/* Appends the value of what `text` begins with ("$" or "${NAME}") and returns
 * how many bytes of it that took. */
static size_t substitute_one(const struct list *list, const char *text,
                             struct buf *out) {
  const char *close = text[1] == '{' ? strchr(text, '}') : NULL;
  if (close == NULL) {
    buf_byte(out, '$');
    return 1;
  }
  const char *name = text + 2;
  size_t length = (size_t)(close - name);
  size_t place = is_name(name, length) ? find(list, name, length) : list->count;
  if (place == list->count)
    buf_append(out, text, length + 3);
  else
    buf_text(out, list->texts[place] + length + 1);
  return length + 3;
}

static char *substitute(const struct list *list, const char *text) {
  struct buf out = BUF_INIT(BUF_SMALL);
  while (*text != '\0') {
    size_t plain = strcspn(text, "$");
    buf_append(&out, text, plain);
    text += plain;
    if (*text == '$')
      text += substitute_one(list, text, &out);
  }
  return buf_take(&out);
}

static void set_object(struct list *list, const struct json *object,
                       bool substituted) {
  void *state = NULL;
  const char *name;
  struct json *value;
  while (json_next(object, &state, &name, &value)) {
    const char *text = json_text(value);
    if (text == NULL || strlen(text) != json_text_length(value))
      continue;
    CLEANUP(mem_free_pointer)
    char *final = substituted ? substitute(list, text) : mem_copy_text(text);
    set(list, name, strlen(name), final);
  }
}

/* The configuration has checked the pairs when it was read. */
static void set_pairs(struct list *list, const char *pairs) {
  for (pairs += strspn(pairs, " \t"); *pairs != '\0';
       pairs += strspn(pairs, " \t")) {
    size_t length = strcspn(pairs, " \t");
    CLEANUP(mem_free_pointer) char *pair = mem_copy_bytes(pairs, length);
    char *equals = strchr(pair, '=');
    if (equals != NULL)
      set(list, pair, (size_t)(equals - pair), equals + 1);
    pairs += length;
  }
}

static void set_text(struct list *list, const char *name, const char *value) {
  set(list, name, strlen(name), value);
}

static void set_beneath(struct list *list, const char *name,
                        const char *directory, const char *entry) {
  CLEANUP(mem_free_pointer) char *path = mem_format("%s/%s", directory, entry);
  set_text(list, name, path);
}

/* Plots are drawn into the notebook; no .pyc files beside the user's modules;
 * PYTHONUNBUFFERED is not set, ipykernel has streams of its own. */
static void set_ours(struct list *list, const struct environment_order *order) {
  static const char *const fixed[][2] = {
      {"PATH", ENVIRONMENT_PATH},
      {"LANG", "C.UTF-8"},
      {"LC_ALL", "C.UTF-8"},
      {"MPLBACKEND", "module://matplotlib_inline.backend_inline"},
      {"PYTHONDONTWRITEBYTECODE", "1"},
  };
  static const char *const threads[] = {"OMP_NUM_THREADS",
                                        "OPENBLAS_NUM_THREADS"};
  static const char *const beneath[][2] = {
      {"IPYTHONDIR", "ipython"},          {"MPLCONFIGDIR", "matplotlib"},
      {"JUPYTER_RUNTIME_DIR", "jupyter"}, {"XDG_CACHE_HOME", "cache"},
      {"XDG_CONFIG_HOME", "config"},
  };
  char number[16];
  for (size_t i = 0; i < COUNT_OF(fixed); i++)
    set_text(list, fixed[i][0], fixed[i][1]);
  set_text(list, "HOME", order->home);
  if (order->temporary_directory != NULL)
    set_text(list, "TMPDIR", order->temporary_directory);
  set_text(list, "USER", order->user);
  set_text(list, "LOGNAME", order->user);
  snprintf(number, sizeof number, "%d", order->threads);
  for (size_t i = 0; i < COUNT_OF(threads); i++)
    set_text(list, threads[i], number);
  for (size_t i = 0; i < COUNT_OF(beneath); i++)
    set_beneath(list, beneath[i][0], order->private_directory, beneath[i][1]);
}

char **environment_build(const struct environment_order *order) {
  struct list list = {.texts = mem_array(1, sizeof(char *))};
  set_ours(&list, order);
  set_object(&list, order->kernelspec, true);
  set_pairs(&list, order->configured == NULL ? "" : order->configured);
  set_object(&list, order->task, false);
  return list.texts;
}

void environment_add(char ***environment, const char *name, const char *value) {
  struct list list = {.texts = *environment};
  while (list.texts[list.count] != NULL)
    list.count++;
  if (find(&list, name, strlen(name)) == list.count)
    set_text(&list, name, value);
  *environment = list.texts;
}

void environment_free(char **environment) {
  for (char **text = environment; text != NULL && *text != NULL; text++)
    free(*text);
  free(environment);
}

void environment_done(char ***environment) { environment_free(*environment); }
