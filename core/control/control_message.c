#include "core/control/control_message.h"

#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/json/json.h"

enum member { MEMBER_TASK, MEMBER_KERNEL, MEMBER_END, MEMBER_REASON };
#define BIT(member) (1U << (member))

/* The static table of verbs: what each is called, needs and may carry. */
static const struct {
  const char *name;
  unsigned needs, takes;
} verbs[] = {
    [CONTROL_START] = {"start", BIT(MEMBER_TASK), 0},
    [CONTROL_INTERRUPT] = {"interrupt", BIT(MEMBER_KERNEL), 0},
    [CONTROL_STACK] = {"stack", BIT(MEMBER_KERNEL), 0},
    [CONTROL_STOP] = {"stop", BIT(MEMBER_TASK) | BIT(MEMBER_END),
                      BIT(MEMBER_KERNEL) | BIT(MEMBER_REASON)},
    [CONTROL_RESTART] = {"restart", BIT(MEMBER_TASK), BIT(MEMBER_REASON)},
    [CONTROL_STATUS] = {"status", 0, BIT(MEMBER_KERNEL)},
    [CONTROL_SHUTDOWN] = {"shutdown", 0, 0},
};

static const struct {
  const char *name;
  size_t offset, size;
} members[] = {
    [MEMBER_TASK] = {"task", offsetof(struct control_request, task),
                     ID_TASK_SIZE},
    [MEMBER_KERNEL] = {"kernel", offsetof(struct control_request, kernel),
                       ID_UUID_SIZE},
    [MEMBER_END] = {"end", offsetof(struct control_request, end),
                    sizeof((struct control_request *)0)->end},
    [MEMBER_REASON] = {"reason", offsetof(struct control_request, reason),
                       sizeof((struct control_request *)0)->reason},
};

static const struct {
  const char *name;
  enum err_kind kind;
} kinds[] = {
    {"invalid", ERR_INVALID},         {"denied", ERR_DENIED},
    {"not_found", ERR_NOT_FOUND},     {"conflict", ERR_CONFLICT},
    {"too_large", ERR_TOO_LARGE},     {"busy", ERR_BUSY},
    {"unavailable", ERR_UNAVAILABLE}, {"timeout", ERR_TIMEOUT},
    {"no_space", ERR_NO_SPACE},       {"io", ERR_IO},
    {"protocol", ERR_PROTOCOL},       {"internal", ERR_INTERNAL},
};

int control_verb_parse(const char *name) {
  for (size_t i = 0; name != NULL && i < COUNT_OF(verbs); i++)
    if (strcmp(name, verbs[i].name) == 0)
      return (int)i;
  return -1;
}

int control_request_encode(const struct control_request *request,
                           struct buf *out) {
  CLEANUP(json_done) struct json *object = json_object();
  json_set_text(object, "verb", verbs[request->verb].name);
  if (request->deadline != 0)
    json_set_integer(object, "deadline", request->deadline);
  for (size_t i = 0; i < COUNT_OF(members); i++) {
    const char *value = (const char *)request + members[i].offset;
    if (*value != '\0')
      json_set_text(object, members[i].name, value);
  }
  return json_write(object, out);
}

/* Puts one member where it belongs; its place in the table, or -1. */
static int take_member(struct control_request *request, const char *key,
                       const struct json *value, struct err *err) {
  for (size_t i = 0; i < COUNT_OF(members); i++) {
    if (strcmp(key, members[i].name) != 0)
      continue;
    const char *text = json_text(value);
    size_t length = json_text_length(value);
    if (text == NULL || length >= members[i].size || strlen(text) != length)
      return err_set(err, ERR_INVALID, "\"%s\" is no text of at most %zu bytes",
                     members[i].name, members[i].size - 1);
    memcpy((char *)request + members[i].offset, text, length + 1);
    return (int)i;
  }
  return err_set(err, ERR_INVALID, "an unknown member in the request");
}

static int check_members(const struct control_request *request, unsigned found,
                         struct err *err) {
  unsigned needs = verbs[request->verb].needs;
  unsigned takes = needs | verbs[request->verb].takes;
  for (size_t i = 0; i < COUNT_OF(members); i++) {
    if ((needs & ~found & BIT(i)) != 0)
      return err_set(err, ERR_INVALID, "\"%s\" needs \"%s\"",
                     verbs[request->verb].name, members[i].name);
    if ((found & ~takes & BIT(i)) != 0)
      return err_set(err, ERR_INVALID, "\"%s\" takes no \"%s\"",
                     verbs[request->verb].name, members[i].name);
  }
  if ((found & BIT(MEMBER_TASK)) != 0 && !id_is_task(request->task))
    return err_set(err, ERR_INVALID, "\"task\" is no task id");
  if ((found & BIT(MEMBER_KERNEL)) != 0 && !id_is_uuid(request->kernel))
    return err_set(err, ERR_INVALID, "\"kernel\" is no kernel id");
  return 0;
}

int control_request_decode(const char *text, size_t length,
                           struct control_request *ret, struct err *err) {
  CLEANUP(json_done) struct json *object = NULL;
  if (json_parse(text, length, &JSON_RULES_REQUEST, &object, err) < 0)
    return -1;
  int verb = control_verb_parse(json_get_text(object, "verb"));
  if (verb < 0)
    return err_set(err, ERR_INVALID, "the request has no known \"verb\"");
  struct control_request request = {
      .verb = (enum control_verb)verb,
      .deadline = json_get_integer(object, "deadline", 0)};
  unsigned found = 0;
  void *state = NULL;
  const char *key;
  struct json *value;
  while (json_next(object, &state, &key, &value)) {
    if (strcmp(key, "verb") == 0 || strcmp(key, "deadline") == 0)
      continue;
    int place = take_member(&request, key, value, err);
    if (place < 0)
      return -1;
    found |= BIT(place);
  }
  if (check_members(&request, found, err) < 0)
    return -1;
  *ret = request;
  return 0;
}

#define TEXT(name_)                                                            \
  {                                                                            \
#name_, offsetof(struct control_kernel, name_), VALUE_TEXT,                \
        sizeof((struct control_kernel *)0)->name_                              \
  }
#define VALUE(name_, kind_)                                                    \
  { #name_, offsetof(struct control_kernel, name_), kind_, 0 }

/* The members of an answer's kernel, for both directions. */
static const struct {
  const char *name;
  size_t offset;
  enum { VALUE_TEXT, VALUE_INTEGER, VALUE_BOOLEAN } kind;
  size_t size;
} fields[] = {
    TEXT(id),
    VALUE(generation, VALUE_INTEGER),
    VALUE(pid, VALUE_INTEGER),
    VALUE(pid_start, VALUE_INTEGER),
    TEXT(directory),
    VALUE(fresh, VALUE_BOOLEAN),
    VALUE(alive, VALUE_BOOLEAN),
    TEXT(end),
    VALUE(exit_code, VALUE_INTEGER),
    VALUE(signal, VALUE_INTEGER),
    TEXT(reason),
    TEXT(stderr_tail),
    VALUE(cpu_us, VALUE_INTEGER),
    VALUE(memory_bytes, VALUE_INTEGER),
    VALUE(memory_peak_bytes, VALUE_INTEGER),
    VALUE(memory_limit_bytes, VALUE_INTEGER),
    VALUE(memory_tight_at, VALUE_INTEGER),
    VALUE(workspace_over_at, VALUE_INTEGER),
};

int control_answer_encode(const struct control_kernel *kernel,
                          struct buf *out) {
  CLEANUP(json_done) struct json *answer = json_object();
  struct json *object = json_object();
  for (size_t i = 0; i < COUNT_OF(fields); i++) {
    const char *place = (const char *)kernel + fields[i].offset;
    if (fields[i].kind == VALUE_TEXT)
      json_set_text(object, fields[i].name, place);
    else if (fields[i].kind == VALUE_INTEGER)
      json_set_integer(object, fields[i].name, *(const int64_t *)place);
    else
      json_set_boolean(object, fields[i].name, *(const bool *)place);
  }
  json_set_boolean(answer, "ok", true);
  json_set(answer, "kernel", object);
  return json_write(answer, out);
}

int control_answer_encode_error(const struct err *fault, struct buf *out) {
  CLEANUP(json_done) struct json *answer = json_object();
  const char *kind = "internal";
  for (size_t i = 0; i < COUNT_OF(kinds); i++)
    if (kinds[i].kind == fault->kind)
      kind = kinds[i].name;
  json_set_boolean(answer, "ok", false);
  json_set_text(answer, "kind", kind);
  json_set_text(answer, "text", fault->text);
  return json_write(answer, out);
}

static void take_kernel(const struct json *object, struct control_kernel *ret) {
  memset(ret, 0, sizeof *ret);
  for (size_t i = 0; i < COUNT_OF(fields); i++) {
    char *place = (char *)ret + fields[i].offset;
    const struct json *value = json_get(object, fields[i].name);
    const char *text = json_text(value);
    if (fields[i].kind == VALUE_TEXT)
      snprintf(place, fields[i].size, "%s", text == NULL ? "" : text);
    else if (fields[i].kind == VALUE_INTEGER)
      *(int64_t *)place = json_as_integer(value, -1);
    else
      *(bool *)place = json_as_boolean(value, false);
  }
}

static int take_fault(const struct json *answer, struct err *err) {
  const char *kind = json_get_text(answer, "kind");
  const char *text = json_get_text(answer, "text");
  for (size_t i = 0; kind != NULL && i < COUNT_OF(kinds); i++)
    if (strcmp(kind, kinds[i].name) == 0)
      return err_set(err, kinds[i].kind, "%s", text == NULL ? "" : text);
  return err_set(err, ERR_PROTOCOL, "the keeper answered with no known fault");
}

int control_answer_decode(const char *text, size_t length,
                          struct control_kernel *ret, struct err *err) {
  CLEANUP(json_done) struct json *answer = NULL;
  struct err fault = {0};
  if (json_parse(text, length, &JSON_RULES_STORE, &answer, &fault) < 0)
    return err_set(err, ERR_PROTOCOL, "the keeper answered with no JSON: %s",
                   fault.text);
  const struct json *ok = json_get(answer, "ok");
  if (json_kind(ok) != JSON_BOOL)
    return err_set(err, ERR_PROTOCOL, "the keeper's answer has no \"ok\"");
  if (!json_as_boolean(ok, false))
    return take_fault(answer, err);
  if (ret != NULL)
    take_kernel(json_get(answer, "kernel"), ret);
  return 0;
}
