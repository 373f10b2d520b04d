/* Table artifacts and run_artifacts: rich outputs stored as files. */
#ifndef CELLPOST_STORE_ARTIFACT_H
#define CELLPOST_STORE_ARTIFACT_H

#include <stddef.h>
#include <stdint.h>

#include "core/store/store.h"

struct artifact_record {
  const char *sha256;
  const char *mime;
  const char *name; /* file name beneath the task's artifacts/ */
  int64_t bytes;
  int64_t width, height; /* 0: none */
  int64_t output;        /* index of the output in the run; -1: the full text */
};

#endif
