/* The workspace of a task, looked at and changed from outside. Paths are
 * relative to the task's files/, their parts are names that a web server shows:
 * not empty, not hidden, valid UTF-8. Nothing is followed that is a link. */
#ifndef CELLPOST_RUN_ADMIN_FILES_H
#define CELLPOST_RUN_ADMIN_FILES_H

#include "core/base/err.h"
#include "core/json/json.h"
#include "core/mime/mime.h"
#include "core/run/engine/engine.h"

/* {"task", "path", "entries": [{"name", "kind": "file"|"directory", "mime",
 * "bytes", "modified", "uri"}], "next": name|null}: what the directory `path`
 * ("": files/ itself) holds, sorted by name, after the name `after` (NULL: from
 * the start), at most `limit`; mime, bytes of files only. ERR_NOT_FOUND. */
int files_list(struct engine *engine, const char *task, const char *path,
               const char *after, int limit, struct json **ret,
               struct err *err);

/* Reads what the task has on disk at `path` beneath its directory
 * ("notebook.ipynb", "files/…", "artifacts/…"): all of it into `ret`, its type
 * into `mime`. ERR_NOT_FOUND, also for what is no file; ERR_TOO_LARGE names the
 * size when it does not fit. */
#define FILES_READ_MOST ((size_t)16 << 20)
int files_read(struct engine *engine, const char *task, const char *path,
               struct buf *ret, char mime[MIME_SIZE], struct err *err);

/* Writes the file in one step, making missing directories. 1: it is new, 0: it
 * was replaced. *ret: the entry. ERR_CONFLICT: a directory stands there. */
int files_put(struct engine *engine, const char *task, const char *path,
              const void *bytes, size_t length, struct json **ret,
              struct err *err);

/* Removes the file, or the directory with all that it holds. *ret: {"task",
 * "path", "deleted": true}. */
int files_delete(struct engine *engine, const char *task, const char *path,
                 struct json **ret, struct err *err);

#endif
