#include "core/notebook/collector.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/notebook/area.h"
#include "core/notebook/display_update.h"
#include "core/notebook/fold.h"
#include "core/notebook/output_entry.h"
#include "core/notebook/output_list.h"
#include "core/notebook/outputs.h"

enum { MOST_KEPT = 1000 };

struct collector {
  struct output_list list;
  struct areas areas;
  struct media_spill spill; /* its media's `output` is an entry's serial */
  bool keeps;               /* spill is in use */
  uint64_t received;        /* bytes */
  struct display_updates updates;
};

static size_t keep_evicted(void *context, const struct output_entry *entry);

struct collector *collector_new(const struct output_limits *limits) {
  struct collector *collector = mem_new(sizeof *collector);
  collector->list.limits = *limits;
  collector->list.evicted = keep_evicted;
  collector->list.context = collector;
  area_init(&collector->areas);
  return collector;
}

void collector_keep_artifacts(struct collector *collector, int task_directory,
                              const char *task, enum fs_sync sync) {
  collector->keeps = true;
  collector->spill = (struct media_spill){
      .task_directory = task_directory,
      .task = task,
      .sync = sync,
      .most = MOST_KEPT,
  };
}

void collector_free(struct collector *collector) {
  if (collector == NULL)
    return;
  output_list_free(&collector->list);
  media_spill_free(&collector->spill);
  area_free(&collector->areas);
  display_updates_free(&collector->updates);
  free(collector);
}

void collector_done(struct collector **collector) {
  collector_free(*collector);
  *collector = NULL;
}

static size_t error_limit(const struct collector *collector) {
  return collector->list.limits.bytes / 8;
}

/* The file of an output that is no more is not told of. */
static void forget_kept(struct collector *collector, uint64_t serial) {
  for (size_t i = 0; i < collector->spill.count; i++)
    if (collector->spill.media[i].output == serial)
      collector->spill.media[i].output = 0;
}

static void clear_area(struct collector *collector, unsigned area) {
  struct output_list *list = &collector->list;
  for (size_t i = 0; i < list->count && collector->spill.count > 0; i++)
    if (area == 0 || list->entries[i].area == area)
      forget_kept(collector, list->entries[i].serial);
  size_t place = output_list_clear(list, area);
  for (unsigned i = 1; i < collector->areas.count && area == 0; i++)
    collector->areas.list[i].place = SIZE_MAX;
  collector->areas.list[area].place = place;
}

/* Puts the entry into the area that captures. */
static struct output_entry *append(struct collector *collector,
                                   struct output_entry *entry) {
  entry->area = area_capturing(&collector->areas);
  struct area *area = &collector->areas.list[entry->area];
  struct output_entry *added =
      output_list_append(&collector->list, entry, area->place);
  area->place = SIZE_MAX;
  return added;
}

static void clear_if_pending(struct collector *collector) {
  unsigned area = area_capturing(&collector->areas);
  if (collector->areas.list[area].clear_pending)
    clear_area(collector, area);
  collector->areas.list[area].clear_pending = false;
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
  struct output_entry *last =
      output_list_last(list, area_capturing(&collector->areas));
  if (last == NULL || last->kind != OUTPUT_STREAM ||
      strcmp(last->name, name) != 0) {
    struct output_entry entry;
    output_entry_stream(&entry, name, list->limits.bytes);
    last = append(collector, &entry);
  }
  size_t before = last->size;
  output_entry_write(last, json_text(text), length);
  output_list_changed(list, last, before, 0);
  output_list_settle(list, last->serial);
  return true;
}

static const char *display_id_of(const struct json *content) {
  return json_get_text(json_get(content, "transient"), "display_id");
}

/* Hands a change on to earlier cells. */
static void note_update(struct collector *collector, const char *display_id,
                        const struct output_entry *entry) {
  const struct display_update update = {.display_id =
                                            (char *)(uintptr_t)display_id,
                                        .data = entry->data,
                                        .metadata = entry->metadata};
  display_updates_note(&collector->updates, &update,
                       entry->size + entry->artifacts,
                       collector->list.limits.bytes);
}

/* Entries with that id, and the bytes of artifacts in them. */
static size_t count_shown(const struct collector *collector,
                          const char *display_id, size_t *artifacts) {
  const struct output_list *list = &collector->list;
  size_t count = 0;
  *artifacts = 0;
  for (size_t i = 0; i < list->count && display_id != NULL; i++) {
    const struct output_entry *entry = &list->entries[i];
    if (entry->display_id == NULL || strcmp(entry->display_id, display_id) != 0)
      continue;
    count++;
    *artifacts += entry->artifacts;
  }
  return count;
}

/* Puts the bundle into every output with that id; the first one is told as the
 * owner of its files. */
static uint64_t update_shown(struct collector *collector,
                             const char *display_id,
                             const struct output_entry *bundle) {
  struct output_list *list = &collector->list;
  uint64_t first = 0;
  for (size_t i = 0; i < list->count; i++) {
    struct output_entry *entry = &list->entries[i];
    if (entry->display_id == NULL || strcmp(entry->display_id, display_id) != 0)
      continue;
    size_t text = entry->size, artifacts = entry->artifacts;
    forget_kept(collector, entry->serial);
    json_free(entry->data);
    json_free(entry->metadata);
    entry->data = json_share(bundle->data);
    entry->metadata = json_share(bundle->metadata);
    entry->size = bundle->size;
    entry->artifacts = bundle->artifacts;
    output_list_changed(list, entry, text, artifacts);
    first = first == 0 ? entry->serial : first;
  }
  return first;
}

/* Files that were stored since there were `from` of them are that entry's. */
static void own_kept(struct collector *collector, size_t from,
                     uint64_t serial) {
  for (size_t i = from; i < collector->spill.count; i++)
    collector->spill.media[i].output = serial;
}

/* Cleans a message's bundle, so that it fits into all outputs that will show
 * it: those with the id, and one more. */
static struct output_entry take_bundle(struct collector *collector,
                                       enum output_kind kind,
                                       const struct json *content) {
  struct output_entry entry = {.kind = kind, .execution_count = -1};
  const struct output_limits *limits = &collector->list.limits;
  size_t budget = limits->bytes > 2 * limits->image_bytes
                      ? limits->bytes
                      : 2 * limits->image_bytes;
  size_t replaced;
  size_t shown = count_shown(collector, display_id_of(content), &replaced);
  size_t others = collector->list.artifacts - replaced;
  const struct mimebundle_limits most = {
      .text = limits->bytes / 2,
      .artifact = limits->image_bytes,
      .artifacts = others < budget ? (budget - others) / (shown + 1) : 0,
      .keep = collector->keeps ? media_spill : NULL,
      .context = &collector->spill,
  };
  struct mimebundle_left_out left_out = {0, 0};
  output_entry_bundle(&entry, content, &most, &left_out);
  output_list_left_out(&collector->list, &left_out);
  collector->received +=
      entry.size + entry.artifacts + entry.kept + left_out.bytes;
  return entry;
}

/* The artifacts of an output that goes for the caps' sake. */
static size_t keep_evicted(void *context, const struct output_entry *entry) {
  struct collector *collector = context;
  size_t from = collector->spill.count, bytes = 0;
  void *state = NULL;
  const char *mime;
  struct json *value;
  while (collector->keeps && entry->artifacts > 0 &&
         json_next(entry->data, &state, &mime, &value)) {
    size_t length = json_text_length(value);
    if (json_text(value) == NULL || !mimebundle_is_artifact(mime, length))
      continue;
    CLEANUP(mem_free_pointer)
    char *address =
        media_spill(&collector->spill, mime, json_text(value), length);
    bytes += address == NULL ? 0 : length;
  }
  own_kept(collector, from, entry->serial);
  return bytes;
}

static bool add_display(struct collector *collector, enum output_kind kind,
                        const struct json *content) {
  clear_if_pending(collector);
  size_t kept = collector->spill.count;
  struct output_entry entry = take_bundle(collector, kind, content);
  if (kind == OUTPUT_RESULT)
    entry.execution_count = json_get_integer(content, "execution_count", -1);
  const char *display_id = display_id_of(content);
  if (display_id != NULL) {
    if (update_shown(collector, display_id, &entry) == 0)
      note_update(collector, display_id, &entry);
    entry.display_id = mem_copy_text(display_id);
  }
  uint64_t serial = append(collector, &entry)->serial;
  own_kept(collector, kept, serial);
  output_list_settle(&collector->list, serial);
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
  size_t kept = collector->spill.count;
  struct output_entry entry = take_bundle(collector, OUTPUT_DISPLAY, content);
  uint64_t shown =
      display_id == NULL ? 0 : update_shown(collector, display_id, &entry);
  own_kept(collector, kept, shown == 0 ? SIZE_MAX : shown);
  if (display_id != NULL)
    note_update(collector, display_id, &entry);
  output_list_settle(&collector->list, shown);
  output_entry_free(&entry);
  return shown != 0;
}

static bool add_error(struct collector *collector, const struct json *content) {
  clear_if_pending(collector);
  struct output_entry entry;
  struct mimebundle_left_out left_out = {0, 0};
  output_entry_error(&entry, content, error_limit(collector), &left_out);
  output_list_left_out(&collector->list, &left_out);
  collector->received += entry.size + left_out.bytes;
  output_list_settle(&collector->list, append(collector, &entry)->serial);
  return true;
}

static bool clear_output(struct collector *collector,
                         const struct json *content) {
  unsigned area = area_capturing(&collector->areas);
  struct area *cleared = &collector->areas.list[area];
  cleared->clear_pending = json_as_boolean(json_get(content, "wait"), false);
  if (cleared->clear_pending)
    return false;
  size_t before = collector->list.count;
  clear_area(collector, area);
  return collector->list.count != before;
}

static bool set_outputs(struct collector *collector, struct area *area,
                        const struct json *outputs) {
  uint64_t before = area->captures;
  size_t count = collector->list.count;
  clear_area(collector, (unsigned)(area - collector->areas.list));
  if (json_length(outputs) == 0)
    return collector->list.count != count;
  area_capture(&collector->areas, area, true);
  for (size_t i = 0; i < json_length(outputs); i++) {
    const struct json *output = json_at(outputs, i);
    const char *type = json_get_text(output, "output_type");
    if (type != NULL && strncmp(type, "comm_", 5) != 0)
      collector_add(collector, type, output);
  }
  area->captures = before;
  return true;
}

/* The state of a widget's model changes; only Output has a msg_id. While that
 * is set, what answers the message with this id is the widget's; within a run
 * there is no other message than its own. */
static bool set_state(struct collector *collector, const char *comm,
                      const struct json *state) {
  const char *captured = json_get_text(state, "msg_id");
  struct area *area = captured != NULL && *captured != '\0'
                          ? area_have(&collector->areas, comm)
                          : area_find(&collector->areas, comm);
  if (area == NULL)
    return false;
  if (captured != NULL)
    area_capture(&collector->areas, area, *captured != '\0');
  const struct json *outputs = json_get(state, "outputs");
  return json_kind(outputs) == JSON_ARRAY &&
         set_outputs(collector, area, outputs);
}

static bool open_comm(struct collector *collector, const struct json *content) {
  const char *comm = json_get_text(content, "comm_id");
  const struct json *state = json_get(json_get(content, "data"), "state");
  const char *model = json_get_text(state, "_model_name");
  if (comm == NULL || model == NULL || strcmp(model, "OutputModel") != 0 ||
      area_have(&collector->areas, comm) == NULL)
    return false;
  return set_state(collector, comm, state);
}

static bool take_comm(struct collector *collector, const struct json *content) {
  const char *comm = json_get_text(content, "comm_id");
  const struct json *state = json_get(json_get(content, "data"), "state");
  return comm != NULL && set_state(collector, comm, state);
}

static bool close_comm(struct collector *collector,
                       const struct json *content) {
  const char *comm = json_get_text(content, "comm_id");
  struct area *area = comm == NULL ? NULL : area_find(&collector->areas, comm);
  if (area != NULL)
    area->captures = 0;
  return false;
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
      {"comm_open", open_comm},       {"comm_msg", take_comm},
      {"comm_close", close_comm},
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

static bool is_stderr(const struct output_entry *entry) {
  return entry->kind == OUTPUT_STREAM && strcmp(entry->name, "stderr") == 0;
}

/* Folds what comes again and again in stderr, wherever in the run. */
static void fold_stderr(const struct output_list *list, struct json *outputs) {
  CLEANUP(fold_done) struct fold *fold = fold_new();
  for (size_t i = 0; i < list->count; i++)
    if (is_stderr(&list->entries[i])) {
      const struct json *text = output_entry_text(&list->entries[i]);
      fold_count(fold, json_text(text), json_text_length(text));
    }
  for (size_t i = 0; i < list->count && fold_is_needed(fold); i++)
    if (is_stderr(&list->entries[i])) {
      const struct json *text = output_entry_text(&list->entries[i]);
      CLEANUP(buf_free) struct buf folded = BUF_INIT(BUF_NOTEBOOK);
      fold_write(fold, json_text(text), json_text_length(text), &folded);
      json_set(json_at(outputs, i), "text",
               json_string_n(buf_string(&folded), folded.length));
    }
}

struct json *collector_outputs(const struct collector *collector) {
  const struct output_list *list = &collector->list;
  CLEANUP(json_done) struct json *outputs = json_array();
  for (size_t i = 0; i < list->count; i++)
    json_push(outputs, output_entry_json(&list->entries[i]));
  fold_stderr(list, outputs);
  return outputs_join(outputs);
}

/* Whether the entry and the one in front of it are one output. */
static bool is_joined(const struct output_list *list, size_t index) {
  return index > 0 &&
         output_entry_joins(&list->entries[index - 1], &list->entries[index]);
}

/* Which output the entry with that serial is; one that has gone is told of by
 * the gap. */
static size_t index_of(const struct output_list *list, uint64_t serial) {
  size_t index = 0, gap = SIZE_MAX;
  for (size_t i = 0; i < list->count && serial != SIZE_MAX; i++) {
    index += i > 0 && !is_joined(list, i) ? 1 : 0;
    if (list->entries[i].serial == serial)
      return index;
    if (list->gap == i + 1)
      gap = index;
  }
  return gap;
}

void collector_add_media(const struct collector *collector,
                         struct media **media, size_t *count) {
  const struct media_spill *spill = &collector->spill;
  for (size_t i = 0; i < spill->count; i++) {
    if (spill->media[i].output == 0)
      continue;
    *media = mem_grow(*media, *count + 1, sizeof **media);
    struct media *added = &(*media)[(*count)++];
    *added = spill->media[i];
    added->output = index_of(&collector->list, spill->media[i].output);
    for (; added > *media && added[-1].output > added->output; added--) {
      struct media other = added[-1];
      added[-1] = *added;
      *added = other;
    }
  }
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

void collector_display_ids(const struct collector *collector, const char **ids,
                           size_t count) {
  const struct output_list *list = &collector->list;
  size_t index = 0;
  memset(ids, 0, count * sizeof *ids);
  for (size_t i = 0; i < list->count; i++) {
    index += i > 0 && !is_joined(list, i) ? 1 : 0;
    if (index < count && list->entries[i].display_id != NULL)
      ids[index] = list->entries[i].display_id;
  }
}

int collector_take_update(struct collector *collector,
                          struct display_update *ret) {
  return display_updates_take(&collector->updates, ret);
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
