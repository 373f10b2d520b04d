/* Images and other rich outputs as immutable files, stored once:
 * artifacts/<sha256>.<extension>. */
#ifndef CELLPOST_NOTEBOOK_MEDIA_H
#define CELLPOST_NOTEBOOK_MEDIA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/crypto.h"
#include "core/base/err.h"
#include "core/base/fs.h"
#include "core/json/json.h"
#include "core/mime/mime.h"

struct media {
  char sha256[CRYPTO_SHA256_HEX];
  char mime[MIME_SIZE];
  char name[96];          /* "<sha256>.<extension>" */
  int64_t bytes;          /* of the decoded content */
  unsigned width, height; /* 0: unknown or no image */
  bool image;             /* mime type image/... */
  size_t output;          /* index of the output it came from */
};

/* Stores every artifact (mimebundle_is_artifact) of `outputs` (an nbformat
 * array) that is no JSON beneath the task's
 * directory (artifacts/ is made when missing; an artifact that exists already
 * is not written again). *ret is an array of *count entries in order of
 * appearance, one per output and type, freed with free() (NULL when there is
 * none). A value that should be base64 (mimebundle_is_base64) and is not is
 * left out; all others are stored as the text they are. */
int media_store(int task_directory, const struct json *outputs,
                enum fs_sync sync, struct media **ret, size_t *count,
                struct err *err);

/* Stores one text (the full output of a run) the same way. */
int media_store_text(int task_directory, const char *mime, const char *text,
                     size_t length, enum fs_sync sync, struct media *ret,
                     struct err *err);

/* Artifacts that are stored while a run goes on, since they are too large to be
 * kept among its outputs. */
struct media_spill {
  int task_directory; /* borrowed, and so is the next one */
  const char *task;
  enum fs_sync sync;
  size_t most; /* so many are stored */
  struct media *media;
  size_t count;
};

/* Stores one as media_store does, JSON too, and adds it to the list. Gives its
 * address (the caller's): "/tasks/<task>/artifacts/<name>"; NULL when it could
 * not be stored. For mimebundle_limits.keep. */
char *media_spill(void *spill, const char *mime, const char *value,
                  size_t length);
void media_spill_free(struct media_spill *spill);

/* Gives the artifact `name` in the open directory artifacts/ the present time;
 * false when it is not there. */
bool media_renew(int artifacts, const char *name);

/* The content of an artifact as it stood in the mimebundle: base64 for binary
 * types, the text itself for text types. ERR_NOT_FOUND. */
int media_load(int task_directory, const char *name, const char *mime,
               struct buf *out, struct err *err);

#endif
