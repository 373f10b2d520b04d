#include "core/jupyter/kernelspec.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/mem.h"

static const struct json_rules rules = {
    .max_bytes = BUF_SMALL, .max_depth = 64, .tolerant = true};

void kernelspec_free(struct kernelspec *spec) {
  if (spec == NULL)
    return;
  free(spec->name);
  free(spec->directory);
  free(spec->display_name);
  free(spec->language);
  kernelspec_free_argv(spec->argv);
  json_free(spec->env);
  json_free(spec->metadata);
  free(spec);
}

void kernelspec_done(struct kernelspec **spec) {
  kernelspec_free(*spec);
  *spec = NULL;
}

void kernelspec_free_list(struct kernelspec **list, size_t count) {
  for (size_t i = 0; i < count; i++)
    kernelspec_free(list[i]);
  free(list);
}

void kernelspec_free_argv(char **argv) {
  for (char **argument = argv; argument != NULL && *argument != NULL;
       argument++)
    free(*argument);
  free(argv);
}

static int wrong(struct err *err, const char *key, const char *expected) {
  return err_set(err, ERR_INVALID, "\"%s\" must be %s", key, expected);
}

/* A string without NUL: it becomes an argument or a name of a process. */
static const char *plain_text(const struct json *value) {
  const char *text = json_text(value);
  return text != NULL && strlen(text) == json_text_length(value) ? text : NULL;
}

static int parse_argv(const struct json *file, struct kernelspec *spec,
                      struct err *err) {
  const struct json *argv = json_get(file, "argv");
  size_t count = json_kind(argv) == JSON_ARRAY ? json_length(argv) : 0;
  if (count == 0)
    return wrong(err, "argv", "an array of strings, not empty");
  spec->argv = mem_array(count + 1, sizeof *spec->argv);
  for (size_t i = 0; i < count; i++) {
    const char *argument = plain_text(json_at(argv, i));
    if (argument == NULL || (i == 0 && *argument == '\0'))
      return wrong(err, "argv",
                   "an array of strings that begins with a "
                   "program");
    spec->argv[i] = mem_copy_text(argument);
  }
  return 0;
}

/* An object, or {} when it is missing or null. */
static int parse_object(const struct json *file, const char *key,
                        struct json **ret, struct err *err) {
  struct json *value = json_get(file, key);
  if (value != NULL && json_kind(value) != JSON_OBJECT)
    return wrong(err, key, "an object");
  *ret = value == NULL ? json_object() : json_share(value);
  return 0;
}

static int parse_env(const struct json *file, struct kernelspec *spec,
                     struct err *err) {
  if (parse_object(file, "env", &spec->env, err) < 0)
    return -1;
  void *state = NULL;
  const char *name;
  struct json *value;
  while (json_next(spec->env, &state, &name, &value))
    if (plain_text(value) == NULL || *name == '\0' || strchr(name, '=') != NULL)
      return wrong(err, "env", "an object of strings, named as variables are");
  return 0;
}

static int parse_text(const struct json *file, const char *key,
                      const char *otherwise, char **ret, struct err *err) {
  const struct json *value = json_get(file, key);
  if (value != NULL && plain_text(value) == NULL)
    return wrong(err, key, "a string");
  *ret = mem_copy_text(value == NULL ? otherwise : json_text(value));
  return 0;
}

static int parse_interrupt_mode(const struct json *file,
                                struct kernelspec *spec, struct err *err) {
  CLEANUP(mem_free_pointer) char *mode = NULL;
  if (parse_text(file, "interrupt_mode", "signal", &mode, err) < 0)
    return -1;
  spec->interrupt_by_message = mode != NULL && strcmp(mode, "message") == 0;
  if (mode == NULL ||
      (!spec->interrupt_by_message && strcmp(mode, "signal") != 0))
    return wrong(err, "interrupt_mode", "\"signal\" or \"message\"");
  return 0;
}

static int parse_members(const struct json *file, struct kernelspec *spec,
                         struct err *err) {
  if (json_kind(file) != JSON_OBJECT)
    return err_set(err, ERR_INVALID, "not a JSON object");
  if (parse_argv(file, spec, err) < 0 || parse_env(file, spec, err) < 0 ||
      parse_text(file, "display_name", spec->name, &spec->display_name, err) <
          0 ||
      parse_text(file, "language", "", &spec->language, err) < 0 ||
      parse_object(file, "metadata", &spec->metadata, err) < 0)
    return -1;
  return parse_interrupt_mode(file, spec, err);
}

int kernelspec_parse(const char *text, size_t length, const char *name,
                     const char *directory, struct kernelspec **ret,
                     struct err *err) {
  CLEANUP(json_done) struct json *file = NULL;
  CLEANUP(kernelspec_done) struct kernelspec *spec = mem_new(sizeof *spec);
  spec->name = mem_copy_text(name);
  spec->directory = mem_copy_text(directory);
  if (json_parse(text, length, &rules, &file, err) < 0 ||
      parse_members(file, spec, err) < 0) {
    if (err != NULL)
      err->kind = ERR_INVALID;
    return err_wrap(err, "%s/kernel.json", directory);
  }
  *ret = MEM_STEAL(spec);
  return 0;
}

/* The installation that a kernelspec belongs to: what stands in front of
 * share/jupyter/kernels/NAME. */
static char *find_prefix(const char *directory) {
  static const char middle[] = "/share/jupyter/kernels";
  const char *name = strrchr(directory, '/');
  size_t length = name == NULL ? 0 : (size_t)(name - directory);
  size_t tail = sizeof middle - 1;
  if (length <= tail || strncmp(name - tail, middle, tail) != 0)
    return NULL;
  return mem_copy_bytes(directory, length - tail);
}

static bool is_python(const char *name) {
  static const char python[] = "python";
  return strncmp(name, python, sizeof python - 1) == 0 &&
         strspn(name + sizeof python - 1, "0123456789.") ==
             strlen(name + sizeof python - 1);
}

/* The first that is there of the name itself, python3 and python. */
static char *find_python(const char *prefix, const char *name) {
  const char *const names[] = {name, "python3", "python"};
  for (size_t i = 0; i < COUNT_OF(names); i++) {
    char *path = mem_format("%s/bin/%s", prefix, names[i]);
    if (access(path, X_OK) == 0)
      return path;
    free(path);
  }
  return NULL;
}

/* Where pip installs for the system's Python, which is elsewhere. */
static bool shares_system_python(const char *prefix) {
  const char *home = getenv("HOME");
  CLEANUP(mem_free_pointer)
  char *local = mem_format("%s/.local", home == NULL ? "" : home);
  return strcmp(prefix, "/usr/local") == 0 || strcmp(prefix, local) == 0;
}

/* The interpreter that a bare "python" means: the one beside the kernelspec,
 * which ipykernel was installed with (jupyter_client has its own interpreter in
 * mind). Only a kernelspec that sets PATH wants it searched for. */
static char *choose_python(const struct kernelspec *spec, const char *prefix,
                           const char *name) {
  if (json_get(spec->env, "PATH") != NULL)
    return mem_copy_text(name);
  char *found = prefix == NULL ? NULL : find_python(prefix, name);
  if (found == NULL && (prefix == NULL || shares_system_python(prefix)))
    found = find_python("/usr", name);
  return found != NULL || prefix == NULL
             ? (found == NULL ? mem_copy_text(name) : found)
             : mem_format("%s/bin/%s", prefix, name);
}

struct placeholder {
  const char *name;
  const char *value;
};

static char *expand(const char *text, const struct placeholder *placeholders,
                    size_t count) {
  CLEANUP(buf_free) struct buf out = BUF_INIT(BUF_REQUEST_BODY);
  const char *home = getenv("HOME");
  if (home != NULL && text[0] == '~' && (text[1] == '/' || text[1] == '\0')) {
    buf_text(&out, home);
    text++;
  }
  while (*text != '\0') {
    size_t i = 0;
    while (i < count && strncmp(text, placeholders[i].name,
                                strlen(placeholders[i].name)) != 0)
      i++;
    if (i < count) {
      buf_text(&out, placeholders[i].value);
      text += strlen(placeholders[i].name);
    } else {
      buf_byte(&out, *text++);
    }
  }
  return buf_take(&out);
}

char **kernelspec_expand_argv(const struct kernelspec *spec,
                              const char *connection_file) {
  CLEANUP(mem_free_pointer) char *prefix = find_prefix(spec->directory);
  const struct placeholder placeholders[] = {
      {"{connection_file}", connection_file},
      {"{resource_dir}", spec->directory},
      {"{prefix}", prefix == NULL ? "/usr" : prefix},
  };
  size_t count = 0;
  while (spec->argv[count] != NULL)
    count++;
  char **argv = mem_array(count + 1, sizeof *argv);
  for (size_t i = 0; i < count; i++)
    argv[i] = expand(spec->argv[i], placeholders, COUNT_OF(placeholders));
  if (is_python(argv[0])) {
    char *name = argv[0];
    argv[0] = choose_python(spec, prefix, name);
    free(name);
  }
  return argv;
}
