/* The workspace of a task, looked at and changed from outside. Paths are
 * relative to the task's files/ (files_place_check). Nothing is followed that
 * is a link. */
#ifndef CELLPOST_RUN_FILES_FILES_H
#define CELLPOST_RUN_FILES_FILES_H

#include <stdbool.h>

#include "core/base/err.h"
#include "core/json/json.h"
#include "core/mime/mime.h"
#include "core/run/engine/engine.h"

struct files_query {
  const char *path;  /* of a directory; "": files/ itself */
  const char *after; /* the name to go on after, or NULL */
  int limit;
  bool hidden; /* names that begin with a dot, too */
  bool stray;  /* also of a task that is not in the registry (any more) */
};

/* {"task", "path", "entries": [{"name", "kind": "file"|"directory", "mime",
 * "bytes", "modified", "uri"}], "next": name|null}: what the directory holds,
 * sorted by name; mime, bytes and uri of files only, no uri of hidden ones.
 * ERR_NOT_FOUND. */
int files_list(struct engine *engine, const char *task,
               const struct files_query *query, struct json **ret,
               struct err *err);

/* Reads what the task has on disk at `path` beneath its directory
 * ("notebook.ipynb", "files/…", "artifacts/…"): all of it into `ret`, its type
 * into `mime`. ERR_NOT_FOUND, also for what is no file; ERR_TOO_LARGE names the
 * size when it does not fit. */
#define FILES_READ_MOST ((size_t)16 << 20)
int files_read(struct engine *engine, const char *task, const char *path,
               struct buf *ret, char mime[MIME_SIZE], struct err *err);

/* Writes the file in one step, making missing directories, and the task when it
 * may be made. 1: it is new, 0: it was replaced. *ret: the entry. ERR_CONFLICT:
 * a directory stands there. ERR_NO_SPACE: it does not fit (files_quota_check).
 */
int files_put(struct engine *engine, const char *task, const char *path,
              const char *by, const void *bytes, size_t length,
              struct json **ret, struct json **details, struct err *err);

/* Removes the file, or the directory with all that it holds. *ret: {"task",
 * "path", "deleted": true}. */
int files_delete(struct engine *engine, const char *task, const char *path,
                 struct json **ret, struct err *err);

#endif
