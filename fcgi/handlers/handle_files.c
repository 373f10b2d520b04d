/* /v1/tasks/{task}/files, what is beneath, and the lists that people see under
 * /tasks/{task}/files/ */
#include <string.h>

#include "core/base/mem.h"
#include "core/run/files/files.h"
#include "core/run/files/files_archive.h"
#include "core/run/files/files_tenant.h"
#include "fcgi/handlers/routes.h"
#include "fcgi/http/accept.h"

static const struct {
  const char *name, *type;
} formats[] = {[PACK_TAR] = {"tar", "application/x-tar"},
               [PACK_ZIP] = {"zip", "application/zip"}};

static const char *path_of(const struct call *call) {
  return call->path == NULL ? "" : call->path;
}

/* Without the slash that ends it. */
static char *trimmed(const char *path) {
  size_t length = strlen(path);
  return mem_copy_bytes(path, length > 0 && path[length - 1] == '/' ? length - 1
                                                                    : length);
}

static int list(struct call *call, const char *path, bool stray,
                struct err *err) {
  int64_t limit, hidden;
  struct files_query query = {.path = path,
                              .after =
                                  request_parameter(call->request, "after"),
                              .stray = stray};
  if (request_integer(call->request, "limit", 1, 1000, 200, &limit, err) < 0 ||
      request_integer(call->request, "hidden", 0, 1, 0, &hidden, err) < 0)
    return -1;
  query.limit = (int)limit;
  query.hidden = hidden == 1;
  return files_list(call->engine, call->task, &query, &call->answer, err) < 0
             ? -1
             : 200;
}

struct download {
  struct reply *reply;
  const char *type;
};

static int send_piece(void *context, const void *bytes, size_t length) {
  const struct download *download = context;
  if (download->reply->status == 0)
    reply_start(download->reply, 200, download->type);
  return reply_write(download->reply, bytes, length);
}

/* Holds a place as a run does, for a client may be slow. A response that cannot
 * be completed is broken off, so that nobody takes it for whole. */
static int pack(struct call *call, size_t format, struct err *err) {
  struct download download = {call->reply, formats[format].type};
  CLEANUP(mem_free_pointer)
  char *disposition = mem_format("attachment; filename=\"%s.%s\"", call->task,
                                 formats[format].name);
  if (call_take_place(call, err) < 0)
    return -1;
  reply_header(call->reply, "Content-Disposition", disposition);
  int result =
      files_archive_pack(call->engine, call->task, path_of(call),
                         (enum pack_format)format, send_piece, &download, err);
  if (result < 0 && call->reply->status != 0)
    reply_break_off(call->reply);
  return call->reply->status != 0 ? 0 : result;
}

int handle_files_list(struct call *call, struct err *err) {
  const char *wanted = request_parameter(call->request, "archive");
  if (wanted == NULL)
    return list(call, path_of(call), false, err);
  for (size_t i = 0; i < COUNT_OF(formats); i++)
    if (strcmp(wanted, formats[i].name) == 0)
      return pack(call, i, err);
  return err_set(err, ERR_FIELD,
                 "the query parameter \"archive\" must be tar or zip");
}

/* What a person meets who follows an address: the page; programs get JSON. */
int handle_files_browse(struct call *call, struct err *err) {
  CLEANUP(mem_free_pointer) char *path = trimmed(path_of(call));
  if (!accept_is_page(request_header(call->request, "HTTP_ACCEPT")))
    return list(call, path, true, err);
  CLEANUP(buf_free) struct buf address = BUF_INIT(BUF_SMALL);
  buf_format(&address, "/files.html?task=%s&path=", call->task);
  reply_escape(path, &address);
  reply_header(call->reply, "Location", buf_string(&address));
  reply_text(call->reply, 303, "text/plain", "", 0);
  return 0;
}

/* The tenant's files, where the token says how many bytes they may have. */
static int check_tenant(const struct call *call, struct err *err) {
  const struct caller *caller = &call->caller;
  return caller->quota.file_bytes == 0
             ? 0
             : files_tenant_check(call->engine, caller->rights.tenant,
                                  caller->quota.file_bytes,
                                  (int64_t)call->request->body.length, err);
}

int handle_files_put(struct call *call, struct err *err) {
  const struct buf *body = &call->request->body;
  if (check_tenant(call, err) < 0)
    return -1;
  int made = files_put(call->engine, call->task, call->path, call->caller.name,
                       buf_string(body), body->length, &call->answer,
                       &call->details, err);
  if (made < 0)
    return -1;
  call_note_file(call, "file.put", call->task, call->path,
                 (int64_t)body->length);
  if (made == 1 && json_has(call->answer, "uri"))
    reply_header(call->reply, "Location", json_get_text(call->answer, "uri"));
  return made == 1 ? 201 : 200;
}

int handle_files_unpack(struct call *call, struct err *err) {
  const char *type = request_header(call->request, "CONTENT_TYPE");
  const struct buf *body = &call->request->body;
  for (size_t i = 0; i < COUNT_OF(formats); i++) {
    struct files_archive archive = {(enum pack_format)i, buf_string(body),
                                    body->length};
    if (!accept_is_type(type, formats[i].type))
      continue;
    if (check_tenant(call, err) < 0 || call_take_place(call, err) < 0 ||
        files_archive_unpack(call->engine, call->task, path_of(call),
                             call->caller.name, &archive, &call->answer,
                             &call->details, err) < 0)
      return -1;
    call_note_file(call, "file.put", call->task, path_of(call),
                   (int64_t)body->length);
    call_give_place(call);
    return 201;
  }
  return err_set(err, ERR_MEDIA_TYPE,
                 "the body's Content-Type is \"%.100s\"; taken are "
                 "application/x-tar and application/zip",
                 type == NULL ? "" : type);
}

int handle_files_delete(struct call *call, struct err *err) {
  if (files_delete(call->engine, call->task, call->path, &call->answer, err) <
      0)
    return -1;
  call_note_file(call, "file.deleted", call->task, call->path, -1);
  return 200;
}
