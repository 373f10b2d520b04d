/* envd's files as bytes. */
#include <string.h>

#include "core/base/mem.h"
#include "core/run/files/files.h"
#include "core/run/files/files_tenant.h"
#include "fcgi/e2b/e2b.h"
#include "fcgi/e2b/e2b_form.h"
#include "fcgi/e2b/e2b_path.h"

#define PARTS_MOST 100

int e2b_health(struct call *call, struct err *err) {
  if (e2b_sandbox(call, err) < 0)
    return -1;
  reply_text(call->reply, 204, "application/json", "", 0);
  return 0;
}

int e2b_files_read(struct call *call, struct err *err) {
  CLEANUP(buf_free) struct buf path = BUF_INIT(BUF_SMALL);
  CLEANUP(buf_free) struct buf bytes = BUF_INIT(BUF_REQUEST_BODY);
  char mime[MIME_SIZE];
  const char *wanted = request_parameter(call->request, "path");
  buf_text(&path, "files/");
  if (e2b_sandbox(call, err) < 0)
    return -1;
  if (wanted == NULL)
    return err_set(err, ERR_INVALID, "the query parameter path is missing");
  if (e2b_path_read(wanted, &path, err) < 0 ||
      files_read(call->engine, call->task, buf_string(&path), &bytes, mime,
                 err) < 0)
    return -1;
  reply_text(call->reply, 200, "application/octet-stream", buf_string(&bytes),
             bytes.length);
  return 0;
}

static int write_part(struct call *call, const struct e2b_form_part *part,
                      const char *asked, struct json *written,
                      struct err *err) {
  CLEANUP(buf_free) struct buf path = BUF_INIT(BUF_SMALL);
  CLEANUP(json_done) struct json *entry = NULL;
  const char *name = asked != NULL ? asked : part->filename;
  if (name == NULL)
    return err_set(err, ERR_INVALID, "a part of the form names no file");
  if (e2b_path_read(name, &path, err) < 0 ||
      (call->caller.quota.file_bytes != 0 &&
       files_tenant_check(call->engine, call->caller.rights.tenant,
                          call->caller.quota.file_bytes, (int64_t)part->length,
                          err) < 0) ||
      files_put(call->engine, call->task, buf_string(&path), call->caller.name,
                part->bytes, part->length, &entry, &call->details, err) < 0)
    return -1;
  call_note_file(call, "file.put", call->task, buf_string(&path),
                 (int64_t)part->length);
  CLEANUP(mem_free_pointer)
  char *shown = mem_format(E2B_HOME "/%s", buf_string(&path));
  struct json *one = json_object();
  json_set_text(one, "name", json_get_text(entry, "name"));
  json_set_text(one, "type", "file");
  json_set_text(one, "path", shown);
  json_push(written, one);
  return 0;
}

int e2b_files_write(struct call *call, struct err *err) {
  const struct buf *body = &call->request->body;
  const char *asked = request_parameter(call->request, "path");
  CLEANUP(mem_free_pointer)
  struct e2b_form_part *parts = mem_array(PARTS_MOST, sizeof *parts);
  if (e2b_sandbox(call, err) < 0)
    return -1;
  int count =
      e2b_form_read(request_header(call->request, "CONTENT_TYPE"),
                    buf_string(body), body->length, parts, PARTS_MOST, err);
  if (count < 0)
    return -1;
  int result = 0;
  call->answer = json_array();
  for (int i = 0; i < count && result == 0; i++)
    result = write_part(call, &parts[i], count == 1 ? asked : NULL,
                        call->answer, err);
  e2b_form_free(parts, (size_t)count);
  return result < 0 ? -1 : 200;
}
