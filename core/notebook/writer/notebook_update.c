/* Changes of displays in older cells, many at once: the file is written anew
 * from the first of these cells to the last, by one version. */
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/notebook/cell_clean.h"
#include "core/notebook/writer/index.h"
#include "core/notebook/writer/notebook.h"
#include "core/notebook/writer/publish.h"

/* Cells that are further apart are written by versions of their own, so that
 * what lies between need not be held in memory (bytes). */
#define FAR ((uint64_t)4 << 20)

/* An update and the cell that it is for. */
struct target {
  size_t cell;
  struct notebook_update *update;
};

/* The bytes that change, as they are composed. */
struct region {
  struct notebook *notebook;
  const struct target *targets;
  size_t count;
  struct buf bytes;
  int64_t *growth; /* of each cell from the first target's on */
};

static int compare_targets(const void *a, const void *b) {
  const struct target *first = a, *second = b;
  if (first->cell != second->cell)
    return first->cell < second->cell ? -1 : 1;
  return first->update < second->update ? -1 : first->update > second->update;
}

static void apply(struct json *cell, struct notebook_update *update) {
  struct json *outputs = json_get(cell, "outputs");
  struct json *output = json_at(outputs, update->position);
  if (!json_has(output, "data"))
    return;
  json_set(output, "data",
           json_kind(update->data) == JSON_OBJECT ? json_share(update->data)
                                                  : json_object());
  json_set(output, "metadata",
           json_kind(update->metadata) == JSON_OBJECT
               ? json_share(update->metadata)
               : json_object());
  json_replace_at(outputs, update->position, cell_clean_output(output));
  update->done = true;
}

/* Appends the cell as its updates leave it; returns how many targets it took.
 */
static int add_cell(struct region *region, size_t next, struct err *err) {
  struct notebook *notebook = region->notebook;
  size_t cell = region->targets[next].cell, end = next;
  uint64_t from = notebook->table.cells[cell].offset;
  size_t length = notebook_cell_end(notebook, cell) - from;
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_NOTEBOOK);
  CLEANUP(json_done) struct json *value = NULL;
  if (publish_read(notebook, from, length, &text, err) < 0 ||
      json_parse(text.data, text.length, &JSON_RULES_NOTEBOOK, &value, err) < 0)
    return -1;
  for (; end < region->count && region->targets[end].cell == cell; end++)
    apply(value, region->targets[end].update);
  size_t before = region->bytes.length;
  if (cell_write_json(value, &region->bytes) < 0)
    return err_set(err, ERR_TOO_LARGE, "the cell is too large");
  region->growth[cell - region->targets[0].cell] =
      (int64_t)(region->bytes.length - before) - (int64_t)length;
  return (int)(end - next);
}

static int compose(struct region *region, struct err *err) {
  struct notebook *notebook = region->notebook;
  for (size_t next = 0; next < region->count;) {
    int took = add_cell(region, next, err);
    if (took < 0)
      return -1;
    size_t end = notebook_cell_end(notebook, region->targets[next].cell);
    next += (size_t)took;
    if (next == region->count)
      break;
    uint64_t from = notebook->table.cells[region->targets[next].cell].offset;
    if (publish_read(notebook, end, from - end, &region->bytes, err) < 0)
      return -1;
  }
  return 0;
}

static int write_region(struct region *region, struct err *err) {
  struct notebook *notebook = region->notebook;
  struct table *table = &notebook->table;
  size_t first = region->targets[0].cell;
  size_t last = region->targets[region->count - 1].cell;
  size_t resume = notebook_cell_end(notebook, last);
  if (last + 1 == table->count) {
    buf_text(&region->bytes, NOTEBOOK_END);
    resume = notebook->published.size;
  }
  const struct change change = {.from = table->cells[first].offset,
                                .bytes = region->bytes.data,
                                .length = region->bytes.length,
                                .resume = resume};
  int result = publish_version(notebook, &change, err);
  if (result < 0)
    return -1;
  int64_t shift = 0;
  for (size_t i = first; i < table->count; i++) {
    table->cells[i].offset += (uint64_t)shift;
    shift += i <= last ? region->growth[i - first] : 0;
  }
  index_save(notebook, first + 1);
  return result == 0 ? 0 : -1;
}

static int update_region(struct notebook *notebook,
                         const struct target *targets, size_t count,
                         struct err *err) {
  size_t cells = targets[count - 1].cell - targets[0].cell + 1;
  CLEANUP(mem_free_pointer)
  int64_t *growth = mem_array(cells, sizeof *growth);
  struct region region = {.notebook = notebook,
                          .targets = targets,
                          .count = count,
                          .bytes = BUF_INIT(BUF_NOTEBOOK),
                          .growth = growth};
  int result = compose(&region, err);
  if (result == 0)
    result = write_region(&region, err);
  buf_free(&region.bytes);
  return result;
}

/* How many of the targets lie near each other. */
static size_t near_ones(const struct notebook *notebook,
                        const struct target *targets, size_t count) {
  size_t near = 1;
  while (near < count &&
         notebook->table.cells[targets[near].cell].offset <
             notebook_cell_end(notebook, targets[near - 1].cell) + FAR)
    near++;
  return near;
}

int notebook_update_outputs(struct notebook *notebook,
                            struct notebook_update *updates, size_t count,
                            struct err *err) {
  CLEANUP(mem_free_pointer)
  struct target *targets = mem_array(count, sizeof *targets);
  size_t found = 0;
  if (notebook_is_stale(notebook))
    return err_set(err, ERR_CONFLICT,
                   "the notebook was changed by another process");
  for (size_t i = 0; i < count; i++) {
    size_t cell = table_find(&notebook->table, updates[i].id);
    updates[i].done = false;
    if (cell != TABLE_NONE)
      targets[found++] = (struct target){cell, &updates[i]};
  }
  if (found > 0)
    qsort(targets, found, sizeof *targets, compare_targets);
  for (size_t i = 0, near; i < found; i += near) {
    near = near_ones(notebook, targets + i, found - i);
    if (update_region(notebook, targets + i, near, err) < 0)
      return -1;
  }
  return 0;
}
