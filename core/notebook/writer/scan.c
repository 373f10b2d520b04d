#include "core/notebook/writer/scan.h"

#include <string.h>

#include "core/base/id.h"
#include "core/base/mem.h"
#include "core/notebook/cell.h"
#include "core/notebook/cell_clean.h"
#include "core/notebook/writer/notebook_state.h"

/* No line of a JSON string can look like these: it has no raw line ends. */
#define CELLS_LINE "\n \"cells\": ["
#define CELL_START "\n  {\n"
#define CELL_END "\n  }"

void scan_free(struct scan *scan) {
  buf_free(&scan->bytes);
  table_free(&scan->table);
}

static bool parse(const char *text, size_t length, struct json **ret) {
  return json_parse(text, length, &JSON_RULES_NOTEBOOK, ret, NULL) == 0;
}

static bool starts_with(const char *text, size_t length, const char *prefix) {
  size_t size = strlen(prefix);
  return length >= size && memcmp(text, prefix, size) == 0;
}

/* The length of the preamble when it is, byte for byte, one that we write. */
static size_t scan_preamble(const char *text, size_t length) {
  const char *line = memmem(text, length, CELLS_LINE, strlen(CELLS_LINE));
  if (line == NULL)
    return 0;
  size_t preamble = (size_t)(line - text) + strlen(CELLS_LINE);
  CLEANUP(buf_free) struct buf bytes = BUF_INIT(BUF_NOTEBOOK);
  CLEANUP(json_done) struct json *root = NULL;
  if (buf_append(&bytes, text, preamble) < 0 || buf_text(&bytes, "]}") < 0 ||
      !parse(bytes.data, bytes.length, &root))
    return 0;
  CLEANUP(json_done)
  struct json *metadata = cell_clean_notebook(json_get(root, "metadata"));
  buf_reset(&bytes);
  bool same = cell_write_metadata(metadata, &bytes) == 0 &&
              bytes.length == preamble &&
              memcmp(bytes.data, text, preamble) == 0;
  return same ? preamble : 0;
}

/* Adds the cell when its bytes are what we would write for a valid cell with a
 * new id. */
static bool scan_cell(struct scan *scan, const char *text, size_t length,
                      size_t offset) {
  CLEANUP(json_done) struct json *cell = NULL;
  CLEANUP(buf_free) struct buf bytes = BUF_INIT(BUF_NOTEBOOK);
  if (!parse(text, length, &cell))
    return false;
  CLEANUP(json_done) struct json *clean = cell_clean(cell);
  const char *id = json_get_text(clean, "id");
  if (id == NULL || cell_write_json(clean, &bytes) < 0 ||
      bytes.length != length || memcmp(bytes.data, text, length) != 0 ||
      table_find(&scan->table, id) != TABLE_NONE)
    return false;
  table_add(&scan->table, id, offset);
  return true;
}

/* Reads one cell and its separator or the end of the file at `at`. Returns
 * where the cell ends, 0 when something is wrong. */
static size_t scan_next(struct scan *scan, const char *text, size_t length,
                        size_t at) {
  size_t left = length - at;
  const char *end = memmem(text + at, left, CELL_END, strlen(CELL_END));
  if (end == NULL || !starts_with(text + at, left, CELL_START))
    return 0;
  size_t start = at + 1; /* behind the line end */
  size_t stop = (size_t)(end - text) + strlen(CELL_END);
  return scan_cell(scan, text + start, stop - start, start) ? stop : 0;
}

static bool ends_here(const char *text, size_t length, size_t at,
                      const char *end) {
  return length - at == strlen(end) && starts_with(text + at, length - at, end);
}

/* Walks over the cells of our layout from the preamble on. Returns `length`
 * when all is well to the end, else where the last good cell ends. */
static size_t scan_cells(struct scan *scan, const char *text, size_t length) {
  if (ends_here(text, length, scan->preamble, NOTEBOOK_EMPTY_END))
    return length;
  size_t good = scan->preamble, next = good, end;
  while ((end = scan_next(scan, text, length, next)) != 0) {
    good = end;
    if (ends_here(text, length, end, NOTEBOOK_END))
      return length;
    if (end == length || text[end] != ',')
      break;
    next = end + 1;
  }
  return good;
}

static void append_cell(struct scan *scan, struct json *cell) {
  const char *id = json_get_text(cell, "id");
  if (id == NULL || table_find(&scan->table, id) != TABLE_NONE) {
    char fresh[17];
    id_random_hex(fresh, 8);
    json_set_text(cell, "id", fresh);
  }
  buf_text(&scan->bytes, scan->table.count == 0 ? "\n" : ",\n");
  table_add(&scan->table, json_get_text(cell, "id"), scan->bytes.length);
  cell_write_json(cell, &scan->bytes);
}

static void append_end(struct scan *scan) {
  buf_text(&scan->bytes,
           scan->table.count == 0 ? NOTEBOOK_EMPTY_END : NOTEBOOK_END);
}

/* Any notebook of format 4, written anew. */
static bool rewrite(const struct json *root, struct scan *scan) {
  const struct json *cells = json_get(root, "cells");
  if (json_get_integer(root, "nbformat", 0) != 4 ||
      json_kind(cells) != JSON_ARRAY)
    return false;
  CLEANUP(json_done)
  struct json *metadata = cell_clean_notebook(json_get(root, "metadata"));
  cell_write_metadata(metadata, &scan->bytes);
  scan->preamble = scan->bytes.length;
  for (size_t i = 0; i < json_length(cells); i++) {
    CLEANUP(json_done) struct json *cell = cell_clean(json_at(cells, i));
    size_t outputs = json_length(json_get(json_at(cells, i), "outputs"));
    if (cell == NULL || json_length(json_get(cell, "outputs")) < outputs)
      scan->lossy = true;
    if (cell != NULL)
      append_cell(scan, cell);
  }
  append_end(scan);
  return !scan->bytes.overflowed;
}

/* A file of ours of which the end is damaged: what stands in front is kept. */
static bool salvage(const char *text, size_t good, struct scan *scan) {
  if (scan->table.count == 0)
    return false;
  buf_append(&scan->bytes, text, good);
  append_end(scan);
  scan->lossy = true;
  return !scan->bytes.overflowed;
}

bool scan_notebook(const char *text, size_t length, struct scan *ret) {
  struct scan scan = {.bytes = BUF_INIT(BUF_NOTEBOOK)};
  scan.preamble = scan_preamble(text, length);
  size_t good = scan.preamble > 0 ? scan_cells(&scan, text, length) : 0;
  if (scan.preamble > 0 && good == length) {
    *ret = scan;
    return true;
  }
  CLEANUP(json_done) struct json *root = NULL;
  struct scan fresh = {.bytes = BUF_INIT(BUF_NOTEBOOK)};
  if (parse(text, length, &root) ? rewrite(root, &fresh)
                                 : salvage(text, good, &scan)) {
    *ret = root != NULL ? fresh : scan;
    scan_free(root != NULL ? &scan : &fresh);
    return true;
  }
  scan_free(&fresh);
  scan_free(&scan);
  return false;
}

void scan_empty(struct scan *ret) {
  *ret = (struct scan){.bytes = BUF_INIT(BUF_NOTEBOOK)};
  CLEANUP(json_done) struct json *metadata = json_object();
  cell_write_metadata(metadata, &ret->bytes);
  ret->preamble = ret->bytes.length;
  append_end(ret);
}
