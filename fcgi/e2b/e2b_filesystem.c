/* envd's remote procedure calls on files: Connect's unary calls in JSON
 * (connectrpc.com, "Protocol reference"). */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/run/files/files.h"
#include "core/run/files/files_tree.h"
#include "fcgi/e2b/e2b.h"
#include "fcgi/e2b/e2b_path.h"

#define DEPTH_MOST 8
#define ENTRIES_MOST 10000

static const char *type_of(mode_t mode) {
  if (S_ISDIR(mode))
    return "FILE_TYPE_DIRECTORY";
  return S_ISLNK(mode) ? "FILE_TYPE_SYMLINK" : "FILE_TYPE_FILE";
}

/* "-rw-r--r--" */
static void write_permissions(mode_t mode, char text[11]) {
  static const char letters[] = "rwxrwxrwx";
  text[0] = S_ISDIR(mode) ? 'd' : S_ISLNK(mode) ? 'l' : '-';
  for (int i = 0; i < 9; i++)
    text[i + 1] = (mode & (1U << (8 - i))) != 0 ? letters[i] : '-';
  text[10] = '\0';
}

static struct json *describe(const char *path, const struct stat *status) {
  struct json *entry = json_object();
  const char *slash = strrchr(path, '/');
  char permissions[11], size[24], time[CLOCK_ISO_SIZE];
  CLEANUP(mem_free_pointer)
  char *shown = mem_format(E2B_HOME "%s%s", *path == '\0' ? "" : "/", path);
  write_permissions(status->st_mode, permissions);
  snprintf(size, sizeof size, "%lld", (long long)status->st_size);
  clock_format_iso((int64_t)status->st_mtim.tv_sec * 1000000 +
                       status->st_mtim.tv_nsec / 1000,
                   time);
  json_set_text(entry, "name", slash == NULL ? path : slash + 1);
  json_set_text(entry, "type", type_of(status->st_mode));
  json_set_text(entry, "path", shown);
  json_set_text(entry, "size", size);
  json_set_integer(entry, "mode", status->st_mode & 07777);
  json_set_text(entry, "permissions", permissions);
  json_set_text(entry, "owner", "user");
  json_set_text(entry, "group", "user");
  json_set_text(entry, "modifiedTime", time);
  return entry;
}

/* The sandbox, the body, and its member `name` as a path of the workspace. */
static int read_call(struct call *call, const char *name, struct json **body,
                     struct buf *path, struct err *err) {
  if (e2b_sandbox(call, err) < 0 || e2b_body(call, body, err) < 0)
    return -1;
  const char *given = json_get_text(*body, name);
  return e2b_path_read(given == NULL ? "" : given, path, err);
}

static int answer_entry(struct call *call, const char *path, struct err *err) {
  struct stat status;
  if (files_tree_stat(call->engine, call->task, path, &status, err) < 0)
    return -1;
  call->answer = json_object();
  json_set(call->answer, "entry", describe(path, &status));
  return 200;
}

int e2b_stat(struct call *call, struct err *err) {
  CLEANUP(json_done) struct json *body = NULL;
  CLEANUP(buf_free) struct buf path = BUF_INIT(BUF_SMALL);
  return read_call(call, "path", &body, &path, err) < 0
             ? -1
             : answer_entry(call, buf_string(&path), err);
}

/* One directory, a page at a time; its directories in turn, as deep as asked.
 */
static int add_directory(struct call *call, const char *path, int64_t depth,
                         struct json *entries, struct err *err) {
  CLEANUP(mem_free_pointer) char *after = NULL;
  do {
    CLEANUP(json_done) struct json *page = NULL;
    struct files_query query = {
        .path = path, .after = after, .limit = 1000, .hidden = true};
    if (files_list(call->engine, call->task, &query, &page, err) < 0)
      return -1;
    const struct json *list = json_get(page, "entries");
    for (size_t i = 0; i < json_length(list); i++) {
      CLEANUP(mem_free_pointer)
      char *whole = mem_format("%s%s%s", path, *path == '\0' ? "" : "/",
                               json_get_text(json_at(list, i), "name"));
      struct stat status;
      if (json_length(entries) >= ENTRIES_MOST ||
          files_tree_stat(call->engine, call->task, whole, &status, NULL) < 0)
        continue;
      json_push(entries, describe(whole, &status));
      if (S_ISDIR(status.st_mode) && depth > 1)
        add_directory(call, whole, depth - 1, entries, NULL);
    }
    mem_free_pointer(&after);
    after = mem_copy_text(json_get_text(page, "next"));
  } while (after != NULL);
  return 0;
}

int e2b_list_directory(struct call *call, struct err *err) {
  CLEANUP(json_done) struct json *body = NULL;
  CLEANUP(json_done) struct json *entries = json_array();
  CLEANUP(buf_free) struct buf path = BUF_INIT(BUF_SMALL);
  if (read_call(call, "path", &body, &path, err) < 0)
    return -1;
  int64_t depth = json_get_integer(body, "depth", 1);
  if (depth < 1 || depth > DEPTH_MOST)
    return err_set(err, ERR_INVALID, "depth must be 1 to %d", DEPTH_MOST);
  if (add_directory(call, buf_string(&path), depth, entries, err) < 0)
    return -1;
  call->answer = json_object();
  json_set(call->answer, "entries", MEM_STEAL(entries));
  return 200;
}

int e2b_make_directory(struct call *call, struct err *err) {
  CLEANUP(json_done) struct json *body = NULL;
  CLEANUP(buf_free) struct buf path = BUF_INIT(BUF_SMALL);
  if (read_call(call, "path", &body, &path, err) < 0 ||
      files_tree_make(call->engine, call->task, buf_string(&path), err) < 0)
    return -1;
  return answer_entry(call, buf_string(&path), err);
}

int e2b_move(struct call *call, struct err *err) {
  CLEANUP(json_done) struct json *body = NULL;
  CLEANUP(buf_free) struct buf from = BUF_INIT(BUF_SMALL);
  CLEANUP(buf_free) struct buf to = BUF_INIT(BUF_SMALL);
  if (read_call(call, "source", &body, &from, err) < 0)
    return -1;
  const char *target = json_get_text(body, "destination");
  if (e2b_path_read(target == NULL ? "" : target, &to, err) < 0 ||
      files_tree_move(call->engine, call->task, buf_string(&from),
                      buf_string(&to), err) < 0)
    return -1;
  return answer_entry(call, buf_string(&to), err);
}

int e2b_remove(struct call *call, struct err *err) {
  CLEANUP(json_done) struct json *body = NULL;
  CLEANUP(json_done) struct json *deleted = NULL;
  CLEANUP(buf_free) struct buf path = BUF_INIT(BUF_SMALL);
  if (read_call(call, "path", &body, &path, err) < 0 ||
      files_delete(call->engine, call->task, buf_string(&path), &deleted, err) <
          0)
    return -1;
  call_note_file(call, "file.deleted", call->task, buf_string(&path), -1);
  call->answer = json_object();
  return 200;
}
