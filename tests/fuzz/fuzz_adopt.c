/* libFuzzer target: any bytes as a notebook file. What is taken for one becomes
 * a file of our layout: strict JSON, and, looked at again, fine as it is. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/json/json.h"
#include "core/notebook/writer/scan.h"

static void require(bool good) {
  if (!good)
    abort();
}

static void check_file(const char *text, size_t length,
                       const struct scan *scan) {
  CLEANUP(json_done) struct json *root = NULL;
  require(json_parse(text, length, &JSON_RULES_STORE, &root, NULL) == 0);
  const struct json *cells = json_get(root, "cells");
  require(json_length(cells) == scan->table.count);
  require(table_is_sound(&scan->table, scan->preamble, length));
  for (size_t i = 0; i < scan->table.count; i++) {
    const char *id = json_get_text(json_at(cells, i), "id");
    require(id != NULL && strcmp(id, scan->table.cells[i].id) == 0);
    require(memcmp(text + scan->table.cells[i].offset, "  {\n", 4) == 0);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  CLEANUP(scan_free) struct scan first = {.bytes = BUF_INIT(0)};
  if (!scan_notebook((const char *)data, size, &first))
    return 0;
  if (first.bytes.length == 0) {
    check_file((const char *)data, size, &first);
    return 0;
  }
  CLEANUP(scan_free) struct scan second = {.bytes = BUF_INIT(0)};
  check_file(first.bytes.data, first.bytes.length, &first);
  require(scan_notebook(first.bytes.data, first.bytes.length, &second));
  require(second.bytes.length == 0 && !second.lossy);
  require(second.preamble == first.preamble &&
          second.table.count == first.table.count);
  return 0;
}
