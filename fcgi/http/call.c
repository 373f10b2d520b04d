#include "fcgi/http/call.h"

#include "core/base/log.h"
#include "core/base/mem.h"

int call_read_fields(struct call *call, const struct field *fields,
                     size_t count, void *target, struct err *err) {
  CLEANUP(json_done) struct json *nothing = json_object();
  return fields_read(call->body == NULL ? nothing : call->body, fields, count,
                     target, &call->details, err);
}

int call_refuse_token(struct call *call, struct err *err) {
  return allowance_note_failure(&call->service->allowances,
                                call->caller.address, &call->reply->retry_s,
                                err);
}

/* Who shows nothing has not failed. */
int call_identify(struct call *call, struct err *err) {
  if (caller_identify(&call->caller, call->request, engine_store(call->engine),
                      call->conf, err) >= 0)
    return 0;
  return err->kind == ERR_UNAUTHENTICATED && caller_shows(call->request)
             ? call_refuse_token(call, err)
             : -1;
}

int call_check_scope(struct call *call, unsigned scope, struct err *err) {
  CLEANUP(buf_free) struct buf challenge = BUF_INIT(BUF_LINE);
  if (caller_has(&call->caller, scope))
    return 0;
  const char *name = scope_name((enum scope)scope);
  caller_challenge(call->request, scope, err, &challenge);
  reply_header(call->reply, "WWW-Authenticate", buf_string(&challenge));
  json_free(call->details);
  call->details = json_object();
  json_set_text(call->details, "scope", name);
  return err_set(err, ERR_DENIED,
                 "the token \"%s\" lacks the scope \"%s\"; whoever looks after "
                 "this host can make one that has it",
                 call->caller.name, name);
}

static int refuse_name(struct call *call, const struct rights *rights,
                       const char *task, struct err *err) {
  json_free(call->details);
  call->details = json_object();
  json_set_text(call->details, "tasks", rights->tasks);
  return err_set(err, ERR_DENIED,
                 "the token \"%s\" may not use the name \"%s\" for a task; its "
                 "tasks are %.200s%s",
                 call->caller.name, task, rights->tasks,
                 rights_have_own(rights)
                     ? " (own: take a name that nobody else has taken)"
                     : "");
}

int call_check_task(struct call *call, const char *task, bool makes,
                    struct err *err) {
  const struct rights *rights = caller_rights(&call->caller);
  struct store *store = engine_store(call->engine);
  int may = rights == NULL ? 1
            : makes        ? token_may_make(store, rights, task, err)
                           : token_may(store, rights, task, err);
  if (may != 0)
    return may < 0 ? -1 : 0;
  return makes ? refuse_name(call, rights, task, err)
               : err_set(err, ERR_NOT_FOUND, "no such task");
}

int call_check_run(struct call *call, const char *run, struct err *err) {
  const struct rights *rights = caller_rights(&call->caller);
  int may = rights == NULL
                ? 1
                : token_may_run(engine_store(call->engine), rights, run, err);
  if (may != 0)
    return may < 0 ? -1 : 0;
  return err_set(err, ERR_NOT_FOUND, "no such run");
}

void call_note_file(const struct call *call, const char *kind, const char *task,
                    const char *path, int64_t bytes) {
  struct err err;
  CLEANUP(json_done) struct json *content = json_object();
  json_set_text(content, "path", path);
  if (bytes >= 0)
    json_set_integer(content, "bytes", bytes);
  if (journal_append(engine_store(call->engine), kind, task, content, &err) < 0)
    log_warning("the journal lacks a %s: %s", kind, err.text);
}

int call_take_place(struct call *call, struct err *err) {
  if (!call->has_place &&
      run_places_take(&call->service->metrics.places, err) < 0)
    return -1;
  call->has_place = true;
  return 0;
}

void call_give_place(struct call *call) {
  if (call->has_place)
    run_places_give(&call->service->metrics.places);
  call->has_place = false;
  if (call->allowed != NULL)
    allowance_give(&call->service->allowances, &call->caller, call->allowed);
  mem_free_pointer(&call->allowed);
  call->allowed = NULL;
}

int call_take_run(struct call *call, const char *task, struct err *err) {
  if (call->caller.token.id != 0) {
    if (allowance_take(&call->service->allowances, &call->caller, task,
                       engine_store(call->engine), &call->reply->retry_s,
                       err) < 0)
      return -1;
    call->allowed = mem_copy_text(task);
  }
  return call_take_place(call, err);
}
