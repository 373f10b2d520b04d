#include "core/notebook/cell.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/notebook/cell_clean.h"
#include "core/notebook/mimebundle.h"

/* A cell is an element of the top-level array "cells". */
enum { CELL_DEPTH = 2 };

/* The bytes of the line end (as str.splitlines sees it) at the start of the
 * text, 0 when there is none. */
static size_t line_end(const char *text, size_t length) {
  unsigned char first = (unsigned char)text[0];
  if (first == '\r')
    return length > 1 && text[1] == '\n' ? 2 : 1;
  if ((first >= '\n' && first <= '\f') || (first >= 0x1c && first <= 0x1e))
    return 1;
  if (first == 0xc2 && length > 1 && (unsigned char)text[1] == 0x85)
    return 2;
  bool separator = first == 0xe2 && length > 2 &&
                   (unsigned char)text[1] == 0x80 &&
                   ((unsigned char)text[2] & 0xfe) == 0xa8;
  return separator ? 3 : 0;
}

/* The bytes of the first line with its end. */
static size_t line_length(const char *text, size_t length) {
  static const bool may_end[256] = {
      ['\n'] = true, ['\v'] = true, ['\f'] = true, ['\r'] = true, [0x1c] = true,
      [0x1d] = true, [0x1e] = true, [0xc2] = true, [0xe2] = true};
  for (size_t i = 0; i < length; i++) {
    if (!may_end[(unsigned char)text[i]])
      continue;
    size_t end = line_end(text + i, length - i);
    if (end > 0)
      return i + end;
  }
  return length;
}

static void indent(unsigned depth, struct buf *out) {
  buf_byte(out, '\n');
  for (unsigned i = 0; i < depth; i++)
    buf_byte(out, ' ');
}

static void write_lines(const struct json *value, unsigned depth,
                        struct buf *out) {
  CLEANUP(json_done) struct json *text = mimebundle_text(value);
  const char *at = json_text(text);
  size_t left = json_text_length(text);
  if (left == 0) {
    buf_text(out, "[]");
    return;
  }
  for (char separator = '['; left > 0; separator = ',') {
    size_t length = line_length(at, left);
    buf_byte(out, separator);
    indent(depth + 1, out);
    json_write_string(at, length, out);
    at += length;
    left -= length;
  }
  indent(depth, out);
  buf_byte(out, ']');
}

struct member {
  const char *key;
  const struct json *value;
};

static int compare_keys(const void *a, const void *b) {
  return strcmp(((const struct member *)a)->key,
                ((const struct member *)b)->key);
}

typedef void write_member(const struct member *member, unsigned depth,
                          struct buf *out);

/* Writes an object with sorted keys; `write` writes each member's value. */
static void write_object(const struct json *object, unsigned depth,
                         write_member *write, struct buf *out) {
  size_t count = json_length(object);
  if (count == 0) {
    buf_text(out, "{}");
    return;
  }
  CLEANUP(mem_free_pointer)
  struct member *members = mem_array(count, sizeof *members);
  void *state = NULL;
  struct json *value;
  for (size_t i = 0; json_next(object, &state, &members[i].key, &value); i++)
    members[i].value = value;
  qsort(members, count, sizeof *members, compare_keys);
  for (size_t i = 0; i < count; i++) {
    buf_byte(out, i == 0 ? '{' : ',');
    indent(depth + 1, out);
    json_write_string(members[i].key, strlen(members[i].key), out);
    buf_text(out, ": ");
    write(&members[i], depth + 1, out);
  }
  indent(depth, out);
  buf_byte(out, '}');
}

static void write_mime_value(const struct member *member, unsigned depth,
                             struct buf *out) {
  if (mimebundle_is_json(member->key)) {
    json_write_indented(member->value, true, depth, out);
  } else if (mimebundle_is_lines(member->key)) {
    write_lines(member->value, depth, out);
  } else {
    CLEANUP(json_done) struct json *text = mimebundle_text(member->value);
    json_write_indented(text, true, depth, out);
  }
}

static void write_attachment(const struct member *member, unsigned depth,
                             struct buf *out) {
  write_object(member->value, depth, write_mime_value, out);
}

static void write_output_member(const struct member *member, unsigned depth,
                                struct buf *out) {
  if (strcmp(member->key, "text") == 0)
    write_lines(member->value, depth, out);
  else if (strcmp(member->key, "data") == 0)
    write_object(member->value, depth, write_mime_value, out);
  else
    json_write_indented(member->value, true, depth, out);
}

static void write_outputs(const struct json *outputs, unsigned depth,
                          struct buf *out) {
  size_t count = json_length(outputs);
  if (count == 0) {
    buf_text(out, "[]");
    return;
  }
  for (size_t i = 0; i < count; i++) {
    buf_byte(out, i == 0 ? '[' : ',');
    indent(depth + 1, out);
    write_object(json_at(outputs, i), depth + 1, write_output_member, out);
  }
  indent(depth, out);
  buf_byte(out, ']');
}

static void write_cell_member(const struct member *member, unsigned depth,
                              struct buf *out) {
  if (strcmp(member->key, "source") == 0)
    write_lines(member->value, depth, out);
  else if (strcmp(member->key, "outputs") == 0)
    write_outputs(member->value, depth, out);
  else if (strcmp(member->key, "attachments") == 0)
    write_object(member->value, depth, write_attachment, out);
  else
    json_write_indented(member->value, true, depth, out);
}

int cell_write_json(const struct json *cell, struct buf *out) {
  buf_text(out, "  ");
  write_object(cell, CELL_DEPTH, write_cell_member, out);
  return out->overflowed ? -1 : 0;
}

static struct json *cellpost_metadata(const struct code_cell *cell) {
  struct json *metadata = json_object();
  if (cell->run != NULL)
    json_set_text(metadata, "run", cell->run);
  if (cell->status != NULL)
    json_set_text(metadata, "status", cell->status);
  if (cell->late)
    json_set_boolean(metadata, "late", true);
  return metadata;
}

static void set_time(struct json *times, const char *key, int64_t wall_us) {
  if (wall_us != 0)
    json_set_time(times, key, wall_us);
}

static struct json *execution_times(const struct code_cell *cell) {
  struct json *times = json_object();
  set_time(times, "iopub.execute_input", cell->input_at);
  set_time(times, "iopub.status.busy", cell->busy_at);
  set_time(times, "iopub.status.idle", cell->idle_at);
  set_time(times, "shell.execute_reply", cell->reply_at);
  return times;
}

static void set_unless_empty(struct json *object, const char *key,
                             struct json *value) {
  if (json_length(value) > 0)
    json_set(object, key, value);
  else
    json_free(value);
}

int cell_write_code(const struct code_cell *cell, struct buf *out) {
  struct json *metadata = json_object();
  set_unless_empty(metadata, "cellpost", cellpost_metadata(cell));
  set_unless_empty(metadata, "execution", execution_times(cell));
  set_unless_empty(metadata, "tags", cell_clean_tags(cell->tags));
  CLEANUP(json_done) struct json *value = json_object();
  json_set_text(value, "cell_type", "code");
  json_set(value, "execution_count",
           cell->execution_count < 0 ? NULL
                                     : json_integer(cell->execution_count));
  json_set_text(value, "id", cell->id);
  json_set(value, "metadata", metadata);
  json_set(value, "outputs",
           cell->outputs == NULL ? json_array() : json_share(cell->outputs));
  json_set(value, "source", json_string_n(cell->source, cell->source_length));
  return cell_write_json(value, out);
}

int cell_write_markdown(const char *id, const char *source, size_t length,
                        struct buf *out) {
  CLEANUP(json_done) struct json *value = json_object();
  json_set_text(value, "cell_type", "markdown");
  json_set_text(value, "id", id);
  json_set(value, "metadata", json_object());
  json_set(value, "source", json_string_n(source, length));
  return cell_write_json(value, out);
}

int cell_write_metadata(const struct json *metadata, struct buf *out) {
  buf_text(out, "{\n \"metadata\": ");
  json_write_indented(metadata, true, 1, out);
  return buf_text(out, ",\n \"nbformat\": 4,\n \"nbformat_minor\": 5,\n"
                       " \"cells\": [");
}
