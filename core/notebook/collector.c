#include "core/notebook/collector.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/notebook/output_entry.h"
#include "core/notebook/output_list.h"

enum { MOST_UPDATES = 1024 };

struct pending_update {
  struct collector_update update;
  size_t size;
};

struct collector {
  struct output_list list;
  bool clear_pending;             /* clear_output(wait=true) */
  uint64_t received;              /* bytes */
  struct pending_update *updates; /* oldest first */
  size_t update_count;
  size_t update_bytes;
};

struct collector *collector_new(const struct output_limits *limits) {
  struct collector *collector = mem_new(sizeof *collector);
  collector->list.limits = *limits;
  return collector;
}

void collector_free(struct collector *collector) {
  if (collector == NULL)
    return;
  output_list_free(&collector->list);
  for (size_t i = 0; i < collector->update_count; i++)
    collector_update_free(&collector->updates[i].update);
  free(collector->updates);
  free(collector);
}

void collector_done(struct collector **collector) {
  collector_free(*collector);
  *collector = NULL;
}

void collector_update_free(struct collector_update *update) {
  free(update->display_id);
  json_free(update->data);
  json_free(update->metadata);
  *update = (struct collector_update){NULL, NULL, NULL, false};
}

/* No mime value, and no text of an error, may take more than half of all. */
static size_t value_limit(const struct collector *collector) {
  const struct output_limits *limits = &collector->list.limits;
  return limits->image_bytes < limits->bytes / 2 ? limits->image_bytes
                                                 : limits->bytes / 2;
}

static size_t error_limit(const struct collector *collector) {
  return collector->list.limits.bytes / 8;
}

static void clear_if_pending(struct collector *collector) {
  if (collector->clear_pending)
    output_list_clear(&collector->list);
  collector->clear_pending = false;
}

static void append(struct collector *collector,
                   const struct output_entry *entry) {
  output_list_append(&collector->list, entry);
  output_list_settle(&collector->list);
}

static bool add_stream(struct collector *collector,
                       const struct json *content) {
  struct output_list *list = &collector->list;
  const char *name = json_get_text(content, "name");
  CLEANUP(json_done)
  struct json *text = mimebundle_plain_text(json_get(content, "text"));
  size_t length = json_text_length(text);
  collector->received += length;
  if (length == 0)
    return false;
  clear_if_pending(collector);
  if (name == NULL)
    name = "stdout";
  struct output_entry *last = output_list_last(list);
  if (last == NULL || last->kind != OUTPUT_STREAM ||
      strcmp(last->name, name) != 0) {
    struct output_entry entry;
    output_entry_stream(&entry, name, list->limits.bytes);
    output_list_append(list, &entry);
    last = output_list_last(list);
  }
  size_t before = last->size;
  output_entry_write(last, json_text(text), length);
  output_list_changed(list, list->count - 1, before);
  output_list_settle(list);
  return true;
}

static const char *display_id_of(const struct json *content) {
  return json_get_text(json_get(content, "transient"), "display_id");
}

static void forget_update(struct collector *collector, size_t index) {
  struct pending_update *update = &collector->updates[index];
  collector_update_free(&update->update);
  collector->update_bytes -= update->size;
  collector->update_count--;
  memmove(update, update + 1,
          (collector->update_count - index) * sizeof *update);
}

/* Hands a change on to earlier cells; the newest one for an id wins. */
static void note_update(struct collector *collector, const char *display_id,
                        const struct output_entry *entry, bool shown_here) {
  for (size_t i = 0; i < collector->update_count; i++) {
    if (strcmp(collector->updates[i].update.display_id, display_id) == 0) {
      forget_update(collector, i);
      break;
    }
  }
  while (collector->update_count > 0 &&
         (collector->update_count == MOST_UPDATES ||
          collector->update_bytes + entry->size > collector->list.limits.bytes))
    forget_update(collector, 0);
  collector->updates = mem_grow(collector->updates, collector->update_count + 1,
                                sizeof *collector->updates);
  collector->update_bytes += entry->size;
  collector->updates[collector->update_count++] = (struct pending_update){
      .size = entry->size,
      .update = {.display_id = mem_copy_text(display_id),
                 .data = json_share(entry->data),
                 .metadata = json_share(entry->metadata),
                 .shown_here = shown_here},
  };
}

/* Puts the bundle into every output with that id. */
static bool update_shown(struct collector *collector, const char *display_id,
                         const struct output_entry *bundle) {
  struct output_list *list = &collector->list;
  bool any = false;
  for (size_t i = 0; i < list->count; i++) {
    struct output_entry *entry = &list->entries[i];
    if (entry->display_id == NULL || strcmp(entry->display_id, display_id) != 0)
      continue;
    size_t before = entry->size;
    json_free(entry->data);
    json_free(entry->metadata);
    entry->data = json_share(bundle->data);
    entry->metadata = json_share(bundle->metadata);
    entry->size = bundle->size;
    output_list_changed(list, i, before);
    any = true;
  }
  return any;
}

static struct output_entry take_bundle(struct collector *collector,
                                       enum output_kind kind,
                                       const struct json *content) {
  struct output_entry entry = {.kind = kind, .execution_count = -1};
  struct mimebundle_left_out left_out = {0, 0};
  output_entry_bundle(&entry, content, value_limit(collector), &left_out);
  output_list_left_out(&collector->list, &left_out);
  collector->received += entry.size + left_out.bytes;
  return entry;
}

static bool add_display(struct collector *collector, enum output_kind kind,
                        const struct json *content) {
  clear_if_pending(collector);
  struct output_entry entry = take_bundle(collector, kind, content);
  if (kind == OUTPUT_RESULT)
    entry.execution_count = json_get_integer(content, "execution_count", -1);
  const char *display_id = display_id_of(content);
  if (display_id != NULL) {
    if (!update_shown(collector, display_id, &entry))
      note_update(collector, display_id, &entry, true);
    entry.display_id = mem_copy_text(display_id);
  }
  append(collector, &entry);
  return true;
}

static bool add_result(struct collector *collector,
                       const struct json *content) {
  return add_display(collector, OUTPUT_RESULT, content);
}

static bool add_display_data(struct collector *collector,
                             const struct json *content) {
  return add_display(collector, OUTPUT_DISPLAY, content);
}

static bool add_update(struct collector *collector,
                       const struct json *content) {
  const char *display_id = display_id_of(content);
  struct output_entry entry = take_bundle(collector, OUTPUT_DISPLAY, content);
  bool shown =
      display_id != NULL && update_shown(collector, display_id, &entry);
  if (display_id != NULL)
    note_update(collector, display_id, &entry, shown);
  output_list_settle(&collector->list);
  output_entry_free(&entry);
  return shown;
}

static bool add_error(struct collector *collector, const struct json *content) {
  clear_if_pending(collector);
  struct output_entry entry;
  struct mimebundle_left_out left_out = {0, 0};
  output_entry_error(&entry, content, error_limit(collector), &left_out);
  output_list_left_out(&collector->list, &left_out);
  collector->received += entry.size + left_out.bytes;
  append(collector, &entry);
  return true;
}

static bool clear_output(struct collector *collector,
                         const struct json *content) {
  collector->clear_pending = json_as_boolean(json_get(content, "wait"), false);
  if (collector->clear_pending || collector->list.count == 0)
    return false;
  output_list_clear(&collector->list);
  return true;
}

bool collector_add(struct collector *collector, const char *type,
                   const struct json *content) {
  static const struct {
    const char *type;
    bool (*add)(struct collector *collector, const struct json *content);
  } messages[] = {
      {"stream", add_stream},         {"display_data", add_display_data},
      {"execute_result", add_result}, {"update_display_data", add_update},
      {"error", add_error},           {"clear_output", clear_output},
  };
  for (size_t i = 0; i < COUNT_OF(messages); i++)
    if (strcmp(messages[i].type, type) == 0)
      return messages[i].add(collector, content);
  return false;
}

void collector_add_page(struct collector *collector, const struct json *data) {
  CLEANUP(json_done) struct json *content = json_object();
  json_set(content, "data", json_share(data));
  add_display(collector, OUTPUT_DISPLAY, content);
}

struct json *collector_outputs(const struct collector *collector) {
  struct json *outputs = json_array();
  for (size_t i = 0; i < collector->list.count; i++)
    json_push(outputs, output_entry_json(&collector->list.entries[i]));
  return outputs;
}

bool collector_shows(const struct collector *collector,
                     const struct json *content) {
  const char *display_id = display_id_of(content);
  for (size_t i = 0; display_id != NULL && i < collector->list.count; i++) {
    const char *shown = collector->list.entries[i].display_id;
    if (shown != NULL && strcmp(shown, display_id) == 0)
      return true;
  }
  return false;
}

const char *collector_display_id(const struct collector *collector,
                                 size_t index) {
  return index < collector->list.count
             ? collector->list.entries[index].display_id
             : NULL;
}

int collector_take_update(struct collector *collector,
                          struct collector_update *ret) {
  if (collector->update_count == 0)
    return 0;
  struct pending_update *first = &collector->updates[0];
  *ret = first->update;
  first->update = (struct collector_update){NULL, NULL, NULL, false};
  forget_update(collector, 0);
  return 1;
}

bool collector_hard_limit(const struct collector *collector) {
  uint64_t hard = collector->list.limits.bytes_hard;
  return hard != 0 && collector->received > hard;
}

uint64_t collector_bytes(const struct collector *collector) {
  return collector->received;
}

void collector_dropped(const struct collector *collector,
                       struct output_dropped *ret) {
  output_list_dropped(&collector->list, ret);
}
