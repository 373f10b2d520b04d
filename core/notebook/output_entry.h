/* One output of a run while it is collected. Pure. */
#ifndef CELLPOST_NOTEBOOK_OUTPUT_ENTRY_H
#define CELLPOST_NOTEBOOK_OUTPUT_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/json/json.h"
#include "core/notebook/mimebundle.h"
#include "core/notebook/terminal/terminal.h"

enum output_kind {
  OUTPUT_STREAM,
  OUTPUT_DISPLAY,
  OUTPUT_RESULT,
  OUTPUT_ERROR,
  OUTPUT_GAP, /* tells how many outputs were left out in its place */
};

struct output_entry {
  enum output_kind kind;
  uint64_t serial;  /* names the entry while the run lasts; from 1 */
  unsigned area;    /* whose output it is, see output_list.h */
  size_t size;      /* bytes that count towards output_limits.bytes */
  size_t artifacts; /* bytes of values that are artifacts, too */
  size_t kept;      /* and of those that only are artifacts */
  char *name;       /* OUTPUT_STREAM: "stdout", "stderr" */
  struct terminal *terminal;
  struct json *rendered; /* of the stream or the gap; NULL: to be made */
  char *display_id;      /* or NULL */
  struct json *data;     /* OUTPUT_DISPLAY, OUTPUT_RESULT */
  struct json *metadata;
  int64_t execution_count; /* negative: null */
  struct json *error;      /* the whole nbformat output */
  uint64_t gap;            /* outputs left out */
};

void output_entry_free(struct output_entry *entry);

/* A stream whose text may fill `limit` bytes. */
void output_entry_stream(struct output_entry *entry, const char *name,
                         size_t limit);
void output_entry_write(struct output_entry *entry, const char *text,
                        size_t length);
/* Lowers what the stream may fill. */
void output_entry_shrink(struct output_entry *entry, size_t limit);

/* Fills in data, metadata and sizes from a message's content. */
void output_entry_bundle(struct output_entry *entry, const struct json *content,
                         const struct mimebundle_limits *limits,
                         struct mimebundle_left_out *left_out);

/* Fills in an error; ename, evalue and each part of the traceback are cut at
 * `limit` bytes, the traceback as a whole at twice that. */
void output_entry_error(struct output_entry *entry, const struct json *content,
                        size_t limit, struct mimebundle_left_out *left_out);

/* The output as nbformat has it; the caller's, who shares nothing with the
 * entry. */
struct json *output_entry_json(struct output_entry *entry);

/* True when both are of one stream (a gap is of stderr): put one behind the
 * other, they are one output. */
bool output_entry_joins(const struct output_entry *first,
                        const struct output_entry *second);

/* The text of a stream or gap; borrowed until the entry changes. */
const struct json *output_entry_text(struct output_entry *entry);

#endif
