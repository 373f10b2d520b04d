/* Opening what stands in the task's directory: nothing, a notebook of ours, one
 * from elsewhere, or something that is none. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/layout.h"
#include "core/base/mem.h"
#include "core/notebook/writer/index.h"
#include "core/notebook/writer/notebook.h"
#include "core/notebook/writer/publish.h"
#include "core/notebook/writer/scan.h"

/* Makes the scanned file the published one. */
static int write_whole(struct notebook *notebook, struct scan *scan,
                       struct err *err) {
  const struct change change = {
      .from = 0,
      .bytes = scan->bytes.data,
      .length = scan->bytes.length,
      .resume = notebook->published.size,
  };
  int result = publish_version(notebook, &change, err);
  if (result < 0)
    return -1;
  /* The file that was there is none of ours, to be written to piecemeal. */
  if (notebook->spare.inode != 0)
    publish_drop_spare(notebook);
  return result;
}

static void take_over(struct notebook *notebook, struct scan *scan) {
  notebook->preamble = scan->preamble;
  table_free(&notebook->table);
  notebook->table = scan->table;
  scan->table = (struct table){0};
  index_save(notebook, 0);
}

/* A second name for what is there, or, for what cannot have two, another. The
 * microseconds make it unique. */
static int keep_aside(struct notebook *notebook, char **name, struct err *err) {
  int64_t now = clock_wall_us();
  time_t seconds = (time_t)(now / 1000000);
  struct tm parts;
  char date[24];
  gmtime_r(&seconds, &parts);
  strftime(date, sizeof date, "%Y%m%dT%H%M%S", &parts);
  *name =
      mem_format(LAYOUT_NOTEBOOK ".%s.%06dZ.aside", date, (int)(now % 1000000));
  int directory = notebook->directory;
  if (linkat(directory, LAYOUT_NOTEBOOK, directory, *name, 0) == 0)
    return 0;
  if (renameat2(directory, LAYOUT_NOTEBOOK, directory, *name,
                RENAME_NOREPLACE) == 0) {
    notebook->published = (struct fingerprint){0};
    return 0;
  }
  return err_errno(err, ERR_IO, errno,
                   "setting aside the file that stands in the notebook's "
                   "place");
}

/* Writes the scanned file; what was there is kept under another name when not
 * all of it is in the new one. */
static int replace(struct notebook *notebook, struct scan *scan, bool aside,
                   char **set_aside, struct err *err) {
  CLEANUP(mem_free_pointer) char *name = NULL;
  if (aside && keep_aside(notebook, &name, err) < 0)
    return -1;
  int result = write_whole(notebook, scan, err);
  if (result < 0)
    return -1;
  take_over(notebook, scan);
  if (result > 0)
    return -1;
  if (set_aside != NULL)
    *set_aside = MEM_STEAL(name);
  return 0;
}

static int replace_by_empty(struct notebook *notebook, bool aside,
                            char **set_aside, struct err *err) {
  CLEANUP(scan_free) struct scan scan;
  scan_empty(&scan);
  return replace(notebook, &scan, aside, set_aside, err);
}

static int scan_file(struct notebook *notebook, int file, char **set_aside,
                     struct err *err) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_NOTEBOOK);
  struct err fault = {0};
  if (fs_read_all(file, &text, &fault) < 0 && fault.kind != ERR_TOO_LARGE)
    return err_set(err, fault.kind, "reading the notebook: %.400s", fault.text);
  CLEANUP(scan_free) struct scan scan = {.bytes = BUF_INIT(0)};
  if (text.length == 0 || !scan_notebook(text.data, text.length, &scan))
    return replace_by_empty(notebook, notebook->published.size > 0, set_aside,
                            err);
  if (scan.bytes.length > 0)
    return replace(notebook, &scan, scan.lossy, set_aside, err);
  take_over(notebook, &scan);
  return 0;
}

static int load(struct notebook *notebook, char **set_aside, struct err *err) {
  struct stat status;
  if (fstatat(notebook->directory, LAYOUT_NOTEBOOK, &status,
              AT_SYMLINK_NOFOLLOW) < 0) {
    if (errno == ENOENT)
      return replace_by_empty(notebook, false, NULL, err);
    return err_errno(err, ERR_IO, errno, "looking for the notebook");
  }
  notebook->published = publish_fingerprint(&status);
  if (!S_ISREG(status.st_mode))
    return replace_by_empty(notebook, true, set_aside, err);
  if (index_load(notebook))
    return 0;
  CLEANUP(mem_close_descriptor)
  int file = openat(notebook->directory, LAYOUT_NOTEBOOK,
                    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0)
    return err_errno(err, ERR_IO, errno, "opening the notebook");
  return scan_file(notebook, file, set_aside, err);
}

static int load_anew(struct notebook *notebook, char **set_aside,
                     struct err *err) {
  struct stat status;
  bool there = fstatat(notebook->directory, LAYOUT_NOTEBOOK, &status,
                       AT_SYMLINK_NOFOLLOW) == 0;
  if (there)
    notebook->published = publish_fingerprint(&status);
  return replace_by_empty(notebook, there, set_aside, err);
}

static int open_by(int (*loader)(struct notebook *, char **, struct err *),
                   int task_directory, enum fs_sync sync, struct notebook **ret,
                   char **set_aside, struct err *err) {
  if (set_aside != NULL)
    *set_aside = NULL;
  CLEANUP(notebook_done) struct notebook *notebook = mem_new(sizeof *notebook);
  notebook->sync = sync;
  notebook->index = notebook->published_file = notebook->spare_file = -1;
  notebook->directory =
      openat(task_directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (notebook->directory < 0)
    return err_errno(err, ERR_IO, errno, "opening the task's directory");
  index_open(notebook);
  if (loader(notebook, set_aside, err) < 0)
    return -1;
  *ret = MEM_STEAL(notebook);
  return 0;
}

int notebook_open(int task_directory, enum fs_sync sync, struct notebook **ret,
                  char **set_aside, struct err *err) {
  return open_by(load, task_directory, sync, ret, set_aside, err);
}

int notebook_open_anew(int task_directory, enum fs_sync sync,
                       struct notebook **ret, char **set_aside,
                       struct err *err) {
  return open_by(load_anew, task_directory, sync, ret, set_aside, err);
}

void notebook_sync_later(struct notebook *notebook, struct fs_later *later) {
  if (fstat(notebook->directory, &notebook->key) == 0)
    notebook->later = later;
}

void notebook_close(struct notebook *notebook) {
  if (notebook == NULL)
    return;
  mem_close_descriptor(&notebook->published_file);
  mem_close_descriptor(&notebook->spare_file);
  mem_close_descriptor(&notebook->directory);
  mem_close_descriptor(&notebook->index);
  table_free(&notebook->table);
  free(notebook);
}

void notebook_done(struct notebook **notebook) {
  notebook_close(*notebook);
  *notebook = NULL;
}
