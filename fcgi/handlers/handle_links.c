/* POST /v1/tasks/{task}/links */
#include <string.h>
#include <time.h>

#include "core/access/link.h"
#include "core/base/fs.h"
#include "core/base/layout.h"
#include "core/base/mem.h"
#include "core/run/admin/admin.h"
#include "core/store/access/link_key.h"
#include "core/store/journal.h"
#include "fcgi/handlers/links.h"
#include "fcgi/handlers/routes.h"

#define HOUR 3600
#define WEEK (7 * 24 * HOUR)
#define SECOND_US INT64_C(1000000)

struct link_body {
  const char *path;
  int64_t expires_in;
};

static const struct field link_fields[] = {
    {"path", FIELD_TEXT, true, offsetof(struct link_body, path), 1, 4096, NULL},
    {"expires_in", FIELD_INTEGER, false, offsetof(struct link_body, expires_in),
     60, WEEK, NULL},
};

/* "notebook.ipynb", "artifacts/NAME" or "files/…": names that the web server
 * shows. */
static int check_path(const char *path, struct err *err) {
  bool right = strcmp(path, LAYOUT_NOTEBOOK) == 0 ||
               strncmp(path, LAYOUT_ARTIFACTS "/", 10) == 0 ||
               strncmp(path, LAYOUT_FILES "/", 6) == 0;
  CLEANUP(mem_free_pointer) char *parts = mem_copy_text(path);
  char *rest = parts;
  for (char *part; right && (part = strsep(&rest, "/")) != NULL;)
    right = part[0] != '.' && fs_is_name(part);
  return right ? 0
               : err_set(err, ERR_FIELD,
                         "field \"path\": wanted is \"notebook.ipynb\", "
                         "\"files/…\" or \"artifacts/…\"");
}

/* `address` is percent-encoded and begins with "/tasks/". */
static int sign(struct call *call, const char *address, int64_t seconds,
                struct buf *out, int64_t *expires_at, struct err *err) {
  struct link_key key;
  if (link_key_newest(engine_store(call->engine), &key, err) < 0)
    return -1;
  *expires_at = link_expiry(time(NULL), seconds);
  link_write(address, *expires_at, key.number, key.key, out);
  return 0;
}

int links_sign_images(struct call *call, const struct json *answer,
                      struct err *err) {
  const struct json *images = json_get(answer, "images");
  for (size_t i = 0; i < json_length(images); i++) {
    CLEANUP(buf_free) struct buf link = BUF_INIT(BUF_LINE);
    int64_t unused;
    struct json *image = json_at(images, i);
    const char *address = json_get_text(image, "uri");
    if (address == NULL)
      continue;
    if (sign(call, address, HOUR, &link, &unused, err) < 0)
      return -1;
    json_set_text(image, "uri", buf_string(&link));
  }
  return 0;
}

int handle_links_add(struct call *call, struct err *err) {
  struct link_body body = {.expires_in = HOUR};
  CLEANUP(json_done) struct json *task = NULL;
  CLEANUP(buf_free) struct buf address = BUF_INIT(BUF_SMALL);
  CLEANUP(buf_free) struct buf link = BUF_INIT(BUF_SMALL);
  int64_t expires_at;
  if (call_read_fields(call, link_fields, COUNT_OF(link_fields), &body, err) <
          0 ||
      check_path(body.path, err) < 0 ||
      admin_describe_task(call->engine, call->task, &task, err) < 0)
    return -1;
  buf_format(&address, "/" LAYOUT_TASKS "/%s/", call->task);
  reply_escape(body.path, &address);
  if (sign(call, buf_string(&address), body.expires_in, &link, &expires_at,
           err) < 0)
    return -1;
  call->answer = json_object();
  json_set_text(call->answer, "uri", buf_string(&link));
  json_set_time(call->answer, "expires", expires_at * SECOND_US);
  CLEANUP(json_done) struct json *content = json_object();
  json_set_text(content, "path", body.path);
  json_set(content, "expires", json_share(json_get(call->answer, "expires")));
  return journal_append(engine_store(call->engine), "link.made", call->task,
                        content, err) < 0
             ? -1
             : 201;
}
