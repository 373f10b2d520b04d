#include "core/run/session/late_told.h"

#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"

static void push(struct late_told *told, const char *run, struct json *output) {
  if (told->list == NULL)
    told->list = json_array();
  struct json *entry = json_object();
  json_set_text(entry, "run", *run == '\0' ? NULL : run);
  json_set(entry, "output", output);
  json_push(told->list, entry);
}

static size_t room(const struct late_told *told) {
  return json_length(told->list) < LATE_TOLD_MOST
             ? LATE_TOLD_BYTES - told->bytes
             : 0;
}

/* The bytes of an output, or more than `most` when there are more. */
static size_t size_of(const struct json *output, size_t most) {
  const struct json *text = json_get(output, "text");
  if (json_text(text) != NULL)
    return json_text_length(text);
  CLEANUP(buf_free) struct buf written = BUF_INIT(most + 1);
  return json_write(output, &written) == 0 ? written.length : most + 1;
}

/* A copy with as much of the text as there is room for; NULL: none. */
static struct json *beginning(const struct json *output, size_t most) {
  const char *text = json_text(json_get(output, "text"));
  size_t length =
      text == NULL
          ? 0
          : utf8_cut(text, json_text_length(json_get(output, "text")), most);
  if (length == 0)
    return NULL;
  struct json *part = json_object();
  void *state = NULL;
  const char *key;
  struct json *value;
  while (json_next(output, &state, &key, &value))
    if (strcmp(key, "text") != 0)
      json_set(part, key, json_share(value));
  json_set(part, "text", json_string_n(text, length));
  return part;
}

static void add(struct late_told *told, const char *run,
                const struct json *output) {
  size_t most = told->left_out == 0 ? room(told) : 0;
  size_t size = most == 0 ? 1 : size_of(output, most);
  if (size <= most) {
    told->bytes += size;
    push(told, run, json_share(output));
    return;
  }
  struct json *part = beginning(output, most);
  if (part != NULL)
    push(told, run, part);
  told->left_out++;
  snprintf(told->run, sizeof told->run, "%s", run);
}

void late_told_add(struct late_told *told, const char *run,
                   const struct json *outputs, size_t first) {
  for (size_t i = first; i < json_length(outputs); i++)
    add(told, run, json_at(outputs, i));
}

static void tell_left_out(struct late_told *told) {
  CLEANUP(mem_free_pointer)
  char *where = told->run[0] == '\0'
                    ? mem_format("the event log has all of it")
                    : mem_format("all of it is in \"outputs\" of "
                                 "GET /v1/runs/%s and in the notebook",
                                 told->run);
  CLEANUP(mem_free_pointer)
  char *text =
      mem_format("[… %zu more late output%s left out here, in whole "
                 "or in part; %s …]\n",
                 told->left_out, told->left_out == 1 ? " is" : "s are", where);
  struct json *output = json_object();
  json_set_text(output, "output_type", "stream");
  json_set_text(output, "name", "stderr");
  json_set_text(output, "text", text);
  push(told, told->run, output);
}

struct json *late_told_take(struct late_told *told) {
  if (told->left_out != 0)
    tell_left_out(told);
  struct json *list = MEM_STEAL(told->list);
  late_told_free(told);
  return list;
}

void late_told_free(struct late_told *told) {
  json_free(told->list);
  *told = (struct late_told){0};
}
