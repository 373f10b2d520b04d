/* The workspace of a task as one archive: out, and in. Regular files and
 * directories only; memory does not grow with them. */
#ifndef CELLPOST_RUN_FILES_FILES_ARCHIVE_H
#define CELLPOST_RUN_FILES_FILES_ARCHIVE_H

#include "core/base/err.h"
#include "core/json/json.h"
#include "core/pack/pack.h"
#include "core/run/engine/engine.h"

/* An archive that came in. */
struct files_archive {
  enum pack_format format;
  const void *bytes;
  size_t length;
};

/* Packs what the directory `path` ("": files/ itself) holds, hidden names, too.
 * Links and whatever cannot be read or named are left out. Nothing has gone to
 * the sink when the directory is not there. */
int files_archive_pack(struct engine *engine, const char *task,
                       const char *path, enum pack_format format,
                       pack_sink *sink, void *context, struct err *err);

/* Puts what the archive holds into the directory `path`, which is made when it
 * is missing, and so is the task when it may be made. Files that are there are
 * replaced. Everything is
 * looked at and unpacked elsewhere before anything is put there: a name that
 * leads out, a link or a device (ERR_INVALID), or too much (ERR_NO_SPACE, as
 * files_quota_check) changes nothing. *ret: {"task", "path", "files",
 * "directories", "bytes"}. */
int files_archive_unpack(struct engine *engine, const char *task,
                         const char *path, const char *by,
                         const struct files_archive *archive, struct json **ret,
                         struct json **details, struct err *err);

#endif
