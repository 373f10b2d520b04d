/* /v1/session: a browser's log-in; and what the web server asks for each file.
 */
#include <stdlib.h>
#include <string.h>

#include "core/access/link.h"
#include "core/base/clock.h"
#include "core/base/id.h"
#include "core/base/mem.h"
#include "core/store/access/link_key.h"
#include "core/store/access/token.h"
#include "fcgi/handlers/routes.h"

#define COOKIE_BYTES 32
#define SECOND_US INT64_C(1000000)

static struct store *store_of(const struct call *call) {
  return engine_store(call->engine);
}

static struct json *list_scopes(unsigned scopes) {
  struct json *list = json_array();
  for (unsigned scope = SCOPE_READ; scope <= SCOPE_ADMIN; scope <<= 1)
    if (scopes & scope)
      json_push(list, json_string(scope_name((enum scope)scope)));
  return list;
}

static struct json *describe(const struct caller *caller) {
  static const char *const ways[] = {[CALLER_OPEN] = "nobody is asked",
                                     [CALLER_TOKEN] = "token",
                                     [CALLER_SESSION] = "session",
                                     [CALLER_PROXY] = "web server"};
  struct json *answer = json_object();
  bool known = caller->token.id != 0;
  json_set_text(answer, "name", caller->name);
  json_set_text(answer, "tenant", caller->rights.tenant);
  json_set_text(answer, "by", ways[caller->way]);
  json_set(answer, "scopes", list_scopes(caller->rights.scopes));
  json_set_text(answer, "tasks",
                caller_rights(caller) == NULL ? "*" : caller->rights.tasks);
  json_set(answer, "limits",
           known ? json_copy(caller->token.limits) : json_object());
  json_set_time(answer, "expires", known ? caller->token.expires_at : 0);
  return answer;
}

/* A cookie that is for https only cannot be had on plain http: the page's own
 * origin tells which it is. */
static void set_cookie(struct call *call, const char *value, int64_t seconds) {
  const char *origin = request_header(call->request, "HTTP_ORIGIN");
  bool secure = origin != NULL && strncmp(origin, "https://", 8) == 0;
  CLEANUP(mem_free_pointer)
  char *cookie =
      mem_format("%s=%s; HttpOnly; SameSite=Strict; Path=/; Max-Age=%lld%s",
                 secure ? CALLER_SECURE_COOKIE : CALLER_COOKIE, value,
                 (long long)seconds, secure ? "; Secure" : "");
  reply_header(call->reply, "Set-Cookie", cookie);
}

struct session_body {
  const char *token;
};

static const struct field session_fields[] = {
    {"token", FIELD_TEXT, true, offsetof(struct session_body, token), 1, 200,
     NULL},
};

static void set_origin(struct call *call) {
  call->origin.caller = call->caller.name;
  call->origin.token = call->caller.token.id;
}

int handle_session_describe(struct call *call, struct err *err) {
  (void)err;
  call->answer = describe(&call->caller);
  return 200;
}

int handle_session_open(struct call *call, struct err *err) {
  struct session_body body = {.token = NULL};
  char cookie[2 * COOKIE_BYTES + 1], hash[CRYPTO_SHA256_HEX];
  if (call_read_fields(call, session_fields, COUNT_OF(session_fields), &body,
                       err) < 0)
    return -1;
  int asked = caller_is_asked(store_of(call), call->conf, err);
  if (asked < 0)
    return -1;
  if (asked == 0 && caller_identify(&call->caller, call->request,
                                    store_of(call), call->conf, err) < 0)
    return -1;
  if (asked == 0)
    return handle_session_describe(call, err);
  if (caller_know(&call->caller, body.token, store_of(call), err) < 0)
    return call_refuse_token(call, err);
  set_origin(call);
  id_random_hex(cookie, COOKIE_BYTES);
  crypto_sha256(cookie, strlen(cookie), hash);
  int64_t age = (int64_t)call->conf->session_age;
  if (token_open_session(store_of(call), hash, &call->caller.token,
                         call->caller.hash, call->caller.address,
                         clock_wall_us() + age * SECOND_US, err) < 0)
    return -1;
  set_cookie(call, cookie, age);
  call->answer = describe(&call->caller);
  return 201;
}

int handle_session_close(struct call *call, struct err *err) {
  char hash[CRYPTO_SHA256_HEX];
  bool there = caller_cookie(call->request, hash);
  if (there &&
      token_of_session(store_of(call), hash, &call->caller.token, NULL) == 0) {
    call->caller.name = call->caller.token.name;
    set_origin(call);
  }
  if (there && token_close_session(store_of(call), hash, err) < 0)
    return -1;
  set_cookie(call, "", 0);
  call->answer = json_object();
  json_set_boolean(call->answer, "closed", call->caller.token.id != 0);
  return 200;
}

/* The name of the task in "/tasks/<task>/…" as the client wrote it; "" for the
 * list of all. What a web server might read otherwise than we do is nothing:
 * empty and dotted parts, encoded letters, fragments. */
static int read_task(const char *path, char task[ID_TASK_SIZE]) {
  static const char prefix[] = "/tasks/";
  if (strncmp(path, prefix, strlen(prefix)) != 0 || strchr(path, '#') != NULL ||
      strstr(path, "//") != NULL || strstr(path, "/.") != NULL ||
      strcasestr(path, "%2e") != NULL || strcasestr(path, "%2f") != NULL)
    return -1;
  const char *name = path + strlen(prefix);
  size_t length = strcspn(name, "/");
  if (length >= ID_TASK_SIZE)
    return -1;
  memcpy(task, name, length);
  task[length] = '\0';
  return *task == '\0' || (name[length] == '/' && id_is_task(task)) ? 0 : -1;
}

static int no_such_file(struct err *err) {
  return err_set(err, ERR_DENIED, "nothing is served under this address");
}

/* 0: the caller may read it. */
static int check_file(struct call *call, const char *path, struct err *err) {
  char task[ID_TASK_SIZE];
  if (caller_identify(&call->caller, call->request, store_of(call), call->conf,
                      err) < 0)
    return -1;
  if (read_task(path, task) < 0)
    return no_such_file(err);
  if (*task == '\0')
    return caller_has(&call->caller, SCOPE_ADMIN) ? 0 : no_such_file(err);
  int may = token_may(store_of(call), caller_rights(&call->caller), task, err);
  if (may < 0)
    return -1;
  return may == 1 && caller_has(&call->caller, SCOPE_READ) ? 0
                                                           : no_such_file(err);
}

/* A link is good by itself, whoever has it. */
static int check_link(const struct call *call, const char *path,
                      struct err *err) {
  struct link_parts link;
  struct link_key key;
  char task[ID_TASK_SIZE];
  if (!link_read(path, &link) || read_task(link.path, task) < 0 ||
      *task == '\0' || link.expires_at * SECOND_US <= clock_wall_us() ||
      link_key_find(store_of(call), link.key, &key, NULL) < 0 ||
      !link_is_signed(&link, key.key))
    return no_such_file(err);
  return 0;
}

/* Before the web server hands out a file it asks: 204, 401 or 403. */
int handle_session_access(struct call *call, struct err *err) {
  const char *asked = request_header(call->request, "ORIGINAL_URI");
  if (asked == NULL)
    return err_set(err, ERR_NOT_FOUND, "there is nothing at this path");
  CLEANUP(mem_free_pointer)
  char *path = mem_copy_bytes(asked, strcspn(asked, "?"));
  bool is_link = strncmp(path, LINK_PREFIX, strlen(LINK_PREFIX)) == 0;
  int result =
      is_link ? check_link(call, path, err) : check_file(call, path, err);
  if (result < 0)
    return -1;
  reply_start(call->reply, 204, "text/plain");
  return 0;
}
