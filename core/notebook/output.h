/* What is kept of the outputs of a run, and what is told of the rest. */
#ifndef CELLPOST_NOTEBOOK_OUTPUT_H
#define CELLPOST_NOTEBOOK_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

struct output_limits {
  size_t bytes;       /* of text kept, all outputs of the run together */
  size_t bytes_hard;  /* received; beyond it collector_hard_limit (0: never) */
  size_t outputs;     /* number of outputs kept */
  size_t image_bytes; /* an image (any artifact) among the outputs, decoded */
};

/* What was left out, in the run as a whole. */
struct output_dropped {
  uint64_t stdout_bytes, stdout_lines;
  uint64_t stderr_bytes, stderr_lines;
  uint64_t outputs; /* whole outputs beyond the caps */
  uint64_t values;  /* mime values, errors' texts: left out or cut */
  uint64_t value_bytes;
};

#endif
