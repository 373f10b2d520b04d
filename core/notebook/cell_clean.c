#include "core/notebook/cell_clean.h"

#include <string.h>

#include "core/base/mem.h"
#include "core/notebook/mimebundle.h"

bool cell_is_id(const char *id) {
  static const char letters[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
  size_t length = id == NULL ? 0 : strlen(id);
  return length >= 1 && length <= 64 && strspn(id, letters) == length;
}

/* The kinds that the schema allows for a key. */
enum allowed {
  A_STRING = 1 << JSON_STRING,
  A_BOOL = 1 << JSON_BOOL,
  A_ARRAY = 1 << JSON_ARRAY,
  A_OBJECT = 1 << JSON_OBJECT,
};

struct rule {
  const char *key;
  int kinds;
};

static bool is_allowed(const struct rule *rules, size_t count, const char *key,
                       const struct json *value) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(rules[i].key, key) == 0)
      return (rules[i].kinds & 1 << json_kind(value)) != 0;
  return true;
}

/* A copy of the object without the members that break a rule. */
static struct json *filtered(const struct json *object,
                             const struct rule *rules, size_t count) {
  struct json *clean = json_object();
  void *state = NULL;
  const char *key;
  struct json *value;
  while (json_next(object, &state, &key, &value))
    if (is_allowed(rules, count, key, value))
      json_set(clean, key, json_share(value));
  return clean;
}

struct json *cell_clean_tags(const struct json *tags) {
  struct json *clean = json_array();
  CLEANUP(json_done) struct json *seen = json_object();
  for (size_t i = 0; i < json_length(tags); i++) {
    const struct json *tag = json_at(tags, i);
    const char *text = json_text(tag);
    if (json_text_length(tag) == 0 || strchr(text, ',') != NULL ||
        strlen(text) != json_text_length(tag) || json_has(seen, text))
      continue;
    json_set_boolean(seen, text, true);
    json_push(clean, json_share(tag));
  }
  return clean;
}

static struct json *clean_times(const struct json *times) {
  struct json *clean = json_object();
  void *state = NULL;
  const char *key;
  struct json *value;
  while (json_next(times, &state, &key, &value))
    if (json_kind(value) == JSON_STRING)
      json_set(clean, key, json_share(value));
  return clean;
}

static struct json *clean_metadata(const struct json *metadata) {
  static const struct rule rules[] = {
      {"tags", A_ARRAY},
      {"name", A_STRING},
      {"jupyter", A_OBJECT},
      {"format", A_STRING},
      {"execution", A_OBJECT},
      {"collapsed", A_BOOL},
      {"scrolled", A_BOOL | A_STRING},
  };
  struct json *clean = filtered(metadata, rules, COUNT_OF(rules));
  const char *scrolled = json_get_text(clean, "scrolled");
  if (scrolled != NULL && strcmp(scrolled, "auto") != 0)
    json_remove(clean, "scrolled");
  /* The pattern of a name is "^.+$", and a dot matches no line end. */
  const char *name = json_get_text(clean, "name");
  if (name != NULL && (*name == '\0' || *name == '\n'))
    json_remove(clean, "name");
  json_remove(clean, "trusted");
  if (json_has(clean, "tags"))
    json_set(clean, "tags", cell_clean_tags(json_get(clean, "tags")));
  if (json_has(clean, "execution"))
    json_set(clean, "execution", clean_times(json_get(clean, "execution")));
  return clean;
}

static struct json *clean_bundle(const struct json *bundle) {
  struct json *clean = json_object();
  void *state = NULL;
  const char *mime;
  struct json *value;
  while (json_next(bundle, &state, &mime, &value)) {
    if (mimebundle_is_json(mime))
      json_set(clean, mime, json_share(value));
    else if (json_kind(value) != JSON_NULL)
      json_set(clean, mime, mimebundle_text(value));
  }
  return clean;
}

static struct json *clean_attachments(const struct json *attachments) {
  struct json *clean = json_object();
  void *state = NULL;
  const char *name;
  struct json *value;
  while (json_next(attachments, &state, &name, &value))
    json_set(clean, name, clean_bundle(value));
  return clean;
}

/* null, or an integer that is not negative. */
static struct json *clean_count(const struct json *count) {
  int64_t value = json_as_integer(count, -1);
  return value < 0 ? NULL : json_integer(value);
}

static void clean_display(const struct json *output, struct json *clean) {
  static const struct rule none[1] = {{"", 0}};
  json_set(clean, "data", clean_bundle(json_get(output, "data")));
  json_set(clean, "metadata", filtered(json_get(output, "metadata"), none, 0));
}

static void clean_result(const struct json *output, struct json *clean) {
  clean_display(output, clean);
  json_set(clean, "execution_count",
           clean_count(json_get(output, "execution_count")));
}

static void clean_stream(const struct json *output, struct json *clean) {
  const char *name = json_get_text(output, "name");
  json_set_text(clean, "name", name == NULL ? "stdout" : name);
  json_set(clean, "text", mimebundle_plain_text(json_get(output, "text")));
}

static void clean_error(const struct json *output, struct json *clean) {
  json_set(clean, "ename", mimebundle_plain_text(json_get(output, "ename")));
  json_set(clean, "evalue", mimebundle_plain_text(json_get(output, "evalue")));
  struct json *traceback = json_array();
  const struct json *parts = json_get(output, "traceback");
  for (size_t i = 0; i < json_length(parts); i++)
    if (json_kind(json_at(parts, i)) == JSON_STRING)
      json_push(traceback, json_share(json_at(parts, i)));
  json_set(clean, "traceback", traceback);
}

struct json *cell_clean_output(const struct json *output) {
  static const struct {
    const char *type;
    void (*clean)(const struct json *output, struct json *clean);
  } outputs[] = {
      {"stream", clean_stream},
      {"display_data", clean_display},
      {"execute_result", clean_result},
      {"error", clean_error},
  };
  const char *type = json_get_text(output, "output_type");
  for (size_t i = 0; type != NULL && i < COUNT_OF(outputs); i++) {
    if (strcmp(outputs[i].type, type) == 0) {
      struct json *clean = json_object();
      json_set_text(clean, "output_type", type);
      outputs[i].clean(output, clean);
      return clean;
    }
  }
  return NULL;
}

struct json *cell_clean_outputs(const struct json *outputs) {
  struct json *clean = json_array();
  for (size_t i = 0; i < json_length(outputs); i++) {
    struct json *output = cell_clean_output(json_at(outputs, i));
    if (output != NULL)
      json_push(clean, output);
  }
  return clean;
}

struct json *cell_clean(const struct json *cell) {
  const char *type = json_get_text(cell, "cell_type");
  const struct json *source = json_get(cell, "source");
  bool code = type != NULL && strcmp(type, "code") == 0;
  bool known = code || (type != NULL && (strcmp(type, "markdown") == 0 ||
                                         strcmp(type, "raw") == 0));
  enum json_kind kind = json_kind(source);
  if (!known || (kind != JSON_STRING && kind != JSON_ARRAY))
    return NULL;
  struct json *clean = json_object();
  json_set_text(clean, "cell_type", type);
  if (cell_is_id(json_get_text(cell, "id")))
    json_set(clean, "id", json_share(json_get(cell, "id")));
  json_set(clean, "metadata", clean_metadata(json_get(cell, "metadata")));
  json_set(clean, "source", mimebundle_text(source));
  if (code) {
    json_set(clean, "execution_count",
             clean_count(json_get(cell, "execution_count")));
    json_set(clean, "outputs", cell_clean_outputs(json_get(cell, "outputs")));
  } else if (json_has(cell, "attachments")) {
    json_set(clean, "attachments",
             clean_attachments(json_get(cell, "attachments")));
  }
  return clean;
}

struct json *cell_kernelspec(const char *name, const char *display_name,
                             const char *language) {
  struct json *kernelspec = json_object();
  json_set_text(kernelspec, "name", name);
  json_set_text(kernelspec, "display_name",
                display_name == NULL ? name : display_name);
  if (language != NULL)
    json_set_text(kernelspec, "language", language);
  return kernelspec;
}

struct json *cell_language_info(const struct json *info, const char *language) {
  static const struct rule rules[] = {
      {"name", A_STRING},           {"codemirror_mode", A_STRING | A_OBJECT},
      {"file_extension", A_STRING}, {"mimetype", A_STRING},
      {"pygments_lexer", A_STRING},
  };
  struct json *clean = filtered(info, rules, COUNT_OF(rules));
  if (!json_has(clean, "name"))
    json_set_text(clean, "name", language == NULL ? "" : language);
  return clean;
}

struct json *cell_clean_notebook(const struct json *metadata) {
  static const struct rule rules[] = {
      {"kernelspec", A_OBJECT}, {"language_info", A_OBJECT},
      {"title", A_STRING},      {"authors", A_ARRAY},
      {"orig_nbformat", 0},     {"signature", 0},
  };
  struct json *clean = filtered(metadata, rules, COUNT_OF(rules));
  const struct json *kernelspec = json_get(clean, "kernelspec");
  const char *name = json_get_text(kernelspec, "name");
  if (name == NULL || json_get_text(kernelspec, "display_name") == NULL)
    json_remove(clean, "kernelspec");
  const struct json *info = json_get(clean, "language_info");
  if (json_get_text(info, "name") != NULL)
    json_set(clean, "language_info", cell_language_info(info, NULL));
  else
    json_remove(clean, "language_info");
  return clean;
}
