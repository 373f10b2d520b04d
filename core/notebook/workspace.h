/* What a cell did to the files of its task: a bounded scan before and after.
 *
 * The scan looks at most at `limit` directory entries, breadth first, sorted by
 * name, never follows a symlink, and says when it was cut. It sees regular
 * files only, and does not go into hidden directories nor __pycache__. Files
 * are compared by inode, size, mtime and ctime. Where a scan was cut, or could
 * not look at everything (a directory that may not be read, a path longer than
 * PATH_MAX), a file that the other one saw is told as created, changed or
 * deleted only when its own times, or a look at it, say so. */
#ifndef CELLPOST_NOTEBOOK_WORKSPACE_H
#define CELLPOST_NOTEBOOK_WORKSPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/json/json.h"
#include "core/mime/mime.h"

struct workspace; /* one snapshot */

int workspace_scan(int files_directory, size_t limit, struct workspace **ret,
                   struct err *err);
void workspace_free(struct workspace *workspace);
void workspace_done(struct workspace **workspace);
bool workspace_was_cut(const struct workspace *workspace);
/* Something could not be looked at. */
bool workspace_was_barred(const struct workspace *workspace);

/* The answer's "files": an array of {"path", "change": created | changed |
 * deleted, "mime", "bytes", "uri"}, sorted by path, at most `limit` entries;
 * *omitted counts the rest. uri is "/tasks/<task>/files/<path>" percent-encoded
 * (absent for deleted ones). Names that are not UTF-8 are shown repaired and
 * carry no uri. */
struct json *workspace_compare(const struct workspace *before,
                               const struct workspace *after,
                               int files_directory, const char *task,
                               struct mime *mime, size_t limit,
                               size_t *omitted);

/* Sets "uri": where the web server shows the file `path` of the task. */
void workspace_set_uri(struct json *entry, const char *task, const char *path);

#endif
