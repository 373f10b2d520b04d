#include "core/run/history/sections.h"

#include <string.h>

#include "core/base/mem.h"
#include "core/report/text.h"
#include "core/run/engine/engine_private.h"
#include "core/store/run.h"
#include "core/store/task.h"

struct section {
  const char *name; /* borrowed from a run; or NULL */
  struct json *runs, *images;
  struct buf text;
};

struct sections {
  struct section *list;
  size_t count;
};

static void sections_free(struct sections *sections) {
  for (size_t i = 0; i < sections->count; i++) {
    json_free(sections->list[i].runs);
    json_free(sections->list[i].images);
    buf_free(&sections->list[i].text);
  }
  mem_free_pointer(&sections->list);
}

static bool is_same(const char *a, const char *b) {
  return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static struct section *find_or_add(struct sections *sections,
                                   const char *name) {
  for (size_t i = 0; i < sections->count; i++)
    if (is_same(sections->list[i].name, name))
      return &sections->list[i];
  sections->list =
      mem_grow(sections->list, sections->count + 1, sizeof *sections->list);
  struct section *section = &sections->list[sections->count++];
  *section = (struct section){.name = name,
                              .runs = json_array(),
                              .images = json_array(),
                              .text = BUF_INIT(BUF_ANSWER)};
  return section;
}

static struct json *refer_to(const struct run_record *run) {
  struct json *entry = json_object();
  json_set_text(entry, "run", run->id);
  json_set_text(entry, "status", run_status_name(run->status));
  json_set(entry, "execution_count",
           run->execution_count < 0 ? NULL
                                    : json_integer(run->execution_count));
  json_set_text(entry, "cell", run->cell);
  return entry;
}

static void add_run(struct section *section, const struct run_record *run) {
  json_push(section->runs, refer_to(run));
  for (size_t i = 0; i < json_length(run->images); i++) {
    struct json *image = json_copy(json_at(run->images, i));
    json_remove(image, "output");
    json_set_text(image, "run", run->id);
    json_push(section->images, image);
  }
  if (run->text == NULL || *run->text == '\0')
    return;
  size_t length = section->text.length;
  if (length > 0)
    buf_text(&section->text,
             section->text.data[length - 1] == '\n' ? "\n" : "\n\n");
  buf_text(&section->text, run->text);
}

/* The report's own way to cut: head, tail and a marker between them. */
static struct json *bounded(const struct buf *text, int64_t limit) {
  CLEANUP(json_done) struct json *outputs = json_array();
  struct json *output = json_object();
  json_set_text(output, "output_type", "stream");
  json_set_text(output, "name", "stdout");
  json_set(output, "text", json_string_n(buf_string(text), text->length));
  json_push(outputs, output);
  struct text_source source = {
      .status = "ok", .outputs = outputs, .limit = (size_t)limit};
  CLEANUP(buf_free) struct buf out = BUF_INIT(BUF_ANSWER);
  text_compose(&source, &out);
  return json_string_n(buf_string(&out), out.length);
}

static struct json *describe(struct section *section, int64_t text_limit) {
  struct json *object = json_object();
  json_set_text(object, "section", section->name);
  json_set(object, "runs", MEM_STEAL(section->runs));
  json_set(object, "text", bounded(&section->text, text_limit));
  json_set(object, "images", MEM_STEAL(section->images));
  return object;
}

int sections_list(struct engine *engine, const char *task, const char *before,
                  int limit, int64_t text_limit, struct json **ret,
                  struct err *err) {
  CLEANUP(task_record_free) struct task_record record = {0};
  struct run_record *runs = NULL;
  size_t count = 0;
  if (task_get(engine->store, task, &record, err) < 0 ||
      run_list(engine->store, task, before, NULL, RUN_SHOWN, limit, &runs,
               &count, err) < 0)
    return -1;
  CLEANUP(sections_free) struct sections sections = {0};
  for (size_t i = count; i-- > 0;)
    if (!runs[i].silent)
      add_run(find_or_add(&sections, runs[i].section), &runs[i]);
  struct json *list = json_array();
  for (size_t i = 0; i < sections.count; i++)
    json_push(list, describe(&sections.list[i], text_limit));
  *ret = json_object();
  json_set_text(*ret, "task", task);
  json_set(*ret, "sections", list);
  json_set_text(*ret, "next",
                count == (size_t)limit ? runs[count - 1].id : NULL);
  run_list_free(runs, count);
  return 0;
}
