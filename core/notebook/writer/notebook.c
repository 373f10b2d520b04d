#include "core/notebook/writer/notebook.h"

#include <string.h>

#include "core/base/layout.h"
#include "core/base/mem.h"
#include "core/notebook/cell_clean.h"
#include "core/notebook/mimebundle.h"
#include "core/notebook/outputs.h"
#include "core/notebook/writer/index.h"
#include "core/notebook/writer/publish.h"

bool notebook_is_stale(const struct notebook *notebook) {
  return publish_is_stale(notebook);
}

static int overflow(struct err *err) {
  return err_set(err, ERR_TOO_LARGE, "the cell is too large");
}

/* Appends the bytes of a cell that stand in `text` behind one separator. */
static int append(struct notebook *notebook, const char *id, struct buf *text,
                  struct err *err) {
  struct table *table = &notebook->table;
  if (buf_text(text, NOTEBOOK_END) < 0)
    return overflow(err);
  size_t from = table->count == 0
                    ? notebook->preamble
                    : notebook_cell_end(notebook, table->count - 1);
  const struct change change = {.from = from,
                                .bytes = text->data,
                                .length = text->length,
                                .resume = notebook->published.size};
  int result = publish_version(notebook, &change, err);
  if (result < 0)
    return -1;
  size_t separator = table->count == 0 ? strlen("\n") : strlen(",\n");
  table_add(table, id, from + separator);
  index_save(notebook, table->count - 1);
  return result == 0 ? 0 : -1;
}

static int check_new_id(struct notebook *notebook, const char *id,
                        struct err *err) {
  if (!cell_is_id(id))
    return err_set(err, ERR_INVALID,
                   "not a cell id: 1 to 64 letters, digits, "
                   "\"-\" and \"_\" are allowed");
  if (notebook_has_cell(notebook, id))
    return err_set(err, ERR_CONFLICT, "a cell %s is there already", id);
  return 0;
}

static const char *separator_of(const struct notebook *notebook) {
  return notebook->table.count == 0 ? "\n" : ",\n";
}

int notebook_append_code(struct notebook *notebook,
                         const struct code_cell *cell, struct err *err) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_NOTEBOOK);
  if (check_new_id(notebook, cell->id, err) < 0)
    return -1;
  buf_text(&text, separator_of(notebook));
  if (cell_write_code(cell, &text) < 0)
    return overflow(err);
  return append(notebook, cell->id, &text, err);
}

int notebook_append_markdown(struct notebook *notebook, const char *id,
                             const char *source, size_t length,
                             struct err *err) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_NOTEBOOK);
  if (check_new_id(notebook, id, err) < 0)
    return -1;
  buf_text(&text, separator_of(notebook));
  if (cell_write_markdown(id, source, length, &text) < 0)
    return overflow(err);
  return append(notebook, id, &text, err);
}

static int find(struct notebook *notebook, const char *id, size_t *index,
                struct err *err) {
  *index = table_find(&notebook->table, id);
  if (*index == TABLE_NONE)
    return err_set(err, ERR_NOT_FOUND, "the notebook has no cell %.64s", id);
  return 0;
}

/* Puts other bytes in the place of a cell. The end of the file goes along with
 * the last cell, so that nothing of the old file need be read. */
static int replace(struct notebook *notebook, size_t index, struct buf *text,
                   struct err *err) {
  struct table *table = &notebook->table;
  size_t from = table->cells[index].offset, length = text->length;
  size_t end = notebook_cell_end(notebook, index);
  bool last = index + 1 == table->count;
  if (last && buf_text(text, NOTEBOOK_END) < 0)
    return overflow(err);
  const struct change change = {.from = from,
                                .bytes = text->data,
                                .length = text->length,
                                .resume =
                                    last ? notebook->published.size : end};
  int result = publish_version(notebook, &change, err);
  if (result < 0)
    return -1;
  table_shift(table, index, (int64_t)length - (int64_t)(end - from));
  index_save(notebook, index + 1);
  return result == 0 ? 0 : -1;
}

int notebook_replace_code(struct notebook *notebook,
                          const struct code_cell *cell, struct err *err) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_NOTEBOOK);
  size_t index;
  if (find(notebook, cell->id, &index, err) < 0)
    return -1;
  if (cell_write_code(cell, &text) < 0)
    return overflow(err);
  return replace(notebook, index, &text, err);
}

int notebook_put_code(struct notebook *notebook, const struct code_cell *cell,
                      struct err *err) {
  return notebook_has_cell(notebook, cell->id)
             ? notebook_replace_code(notebook, cell, err)
             : notebook_append_code(notebook, cell, err);
}

/* Reads the cell back from the file. */
static int read_cell(struct notebook *notebook, const char *id, size_t *index,
                     struct json **ret, struct err *err) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_NOTEBOOK);
  if (find(notebook, id, index, err) < 0)
    return -1;
  if (notebook_is_stale(notebook))
    return err_set(err, ERR_CONFLICT,
                   "the notebook was changed by another process");
  size_t from = notebook->table.cells[*index].offset;
  if (publish_read(notebook, from, notebook_cell_end(notebook, *index) - from,
                   &text, err) < 0)
    return -1;
  return json_parse(text.data, text.length, &JSON_RULES_NOTEBOOK, ret, err);
}

static int write_cell(struct notebook *notebook, size_t index,
                      const struct json *cell, struct err *err) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_NOTEBOOK);
  if (cell_write_json(cell, &text) < 0)
    return overflow(err);
  return replace(notebook, index, &text, err);
}

/* metadata.cellpost of a cell that was read back. */
static struct json *our_metadata(struct json *cell) {
  struct json *metadata = json_get(cell, "metadata");
  if (json_kind(json_get(metadata, "cellpost")) != JSON_OBJECT)
    json_set(metadata, "cellpost", json_object());
  return json_get(metadata, "cellpost");
}

/* Reads a cell back that has outputs. */
static int read_code_cell(struct notebook *notebook, const char *id,
                          size_t *index, struct json **ret, struct err *err) {
  CLEANUP(json_done) struct json *cell = NULL;
  if (read_cell(notebook, id, index, &cell, err) < 0)
    return -1;
  if (json_kind(json_get(cell, "outputs")) != JSON_ARRAY)
    return err_set(err, ERR_NOT_FOUND, "the cell %.64s holds no code", id);
  *ret = MEM_STEAL(cell);
  return 0;
}

int notebook_add_late(struct notebook *notebook, const char *id,
                      const struct json *outputs, struct err *err) {
  CLEANUP(json_done) struct json *cell = NULL;
  size_t index;
  if (read_code_cell(notebook, id, &index, &cell, err) < 0)
    return -1;
  struct json *all = json_get(cell, "outputs");
  CLEANUP(json_done) struct json *late = cell_clean_outputs(outputs);
  for (size_t i = 0; i < json_length(late); i++)
    json_push(all, json_share(json_at(late, i)));
  json_set(cell, "outputs", outputs_join(all));
  json_set_boolean(our_metadata(cell), "late", true);
  return write_cell(notebook, index, cell, err);
}

int notebook_set_outputs(struct notebook *notebook, const char *id,
                         const struct json *outputs, struct err *err) {
  CLEANUP(json_done) struct json *cell = NULL;
  size_t index;
  if (read_code_cell(notebook, id, &index, &cell, err) < 0)
    return -1;
  json_set(cell, "outputs", cell_clean_outputs(outputs));
  return write_cell(notebook, index, cell, err);
}

int notebook_set_status(struct notebook *notebook, const char *id,
                        const char *status, struct err *err) {
  CLEANUP(json_done) struct json *cell = NULL;
  size_t index;
  if (read_code_cell(notebook, id, &index, &cell, err) < 0)
    return -1;
  json_set_text(our_metadata(cell), "status", status);
  return write_cell(notebook, index, cell, err);
}

/* The metadata that is there, with these two keys set. */
static struct json *with_kernel(const struct buf *preamble, const char *name,
                                const char *display_name, const char *language,
                                const struct json *language_info) {
  CLEANUP(json_done) struct json *root = NULL;
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_NOTEBOOK);
  buf_append(&text, preamble->data, preamble->length);
  buf_text(&text, "]}");
  struct json *metadata = NULL;
  if (json_parse(text.data, text.length, &JSON_RULES_NOTEBOOK, &root, NULL) ==
      0)
    metadata = json_share(json_get(root, "metadata"));
  if (json_kind(metadata) != JSON_OBJECT)
    metadata = json_object();
  json_set(metadata, "kernelspec",
           cell_kernelspec(name, display_name, language));
  json_set(metadata, "language_info",
           cell_language_info(language_info, language));
  return metadata;
}

int notebook_set_kernel(struct notebook *notebook, const char *name,
                        const char *display_name, const char *language,
                        const struct json *language_info, struct err *err) {
  CLEANUP(buf_free) struct buf old = BUF_INIT(BUF_NOTEBOOK);
  CLEANUP(buf_free) struct buf new = BUF_INIT(BUF_NOTEBOOK);
  size_t before = notebook->preamble;
  if (publish_read(notebook, 0, before, &old, err) < 0)
    return -1;
  CLEANUP(json_done)
  struct json *metadata =
      with_kernel(&old, name, display_name, language, language_info);
  if (cell_write_metadata(metadata, &new) < 0)
    return overflow(err);
  if (new.length == old.length && memcmp(new.data, old.data, old.length) == 0)
    return 0;
  const struct change change = {
      .from = 0, .bytes = new.data, .length = new.length, .resume = before};
  int result = publish_version(notebook, &change, err);
  if (result < 0)
    return -1;
  notebook->preamble = new.length;
  for (size_t i = 0; i < notebook->table.count; i++)
    notebook->table.cells[i].offset += new.length - before;
  index_save(notebook, 0);
  return result == 0 ? 0 : -1;
}

const char *notebook_last_section(struct notebook *notebook) {
  const struct table *table = &notebook->table;
  size_t at = table->count;
  while (at > notebook->section_seen &&
         strncmp(table->cells[at - 1].id, NOTEBOOK_SECTION,
                 strlen(NOTEBOOK_SECTION)) != 0)
    at--;
  if (at > notebook->section_seen)
    notebook->section = at;
  notebook->section_seen = table->count;
  return notebook->section == 0 ? NULL : table->cells[notebook->section - 1].id;
}

bool notebook_has_cell(const struct notebook *notebook, const char *id) {
  return table_find((struct table *)&notebook->table, id) != TABLE_NONE;
}

int64_t notebook_cells(const struct notebook *notebook) {
  return (int64_t)notebook->table.count;
}

int64_t notebook_size(const struct notebook *notebook) {
  return (int64_t)notebook->published.size;
}

void notebook_counters(struct notebook_counters *ret) {
  publish_counts(&ret->appended, &ret->copied, &ret->bytes);
}
