/* /v1/tasks and /v1/tasks/{task} but for its runs */
#include <string.h>

#include "core/base/mem.h"
#include "core/process/kernel_limits.h"
#include "core/run/admin/admin.h"
#include "fcgi/handlers/routes.h"

/* What PUT takes. The values are checked here and handed on as they came. */
struct task_settings {
  const char *kernelspec;
  const struct json *environment;
  const struct json *limits;
  struct field_code init_code;
  bool replay_after_death;
  bool strict;
};

#define AT(member) offsetof(struct task_settings, member)

static const struct field settings_fields[] = {
    {"kernelspec", FIELD_TEXT, false, AT(kernelspec), 1, 255, NULL},
    {"env", FIELD_ENVIRONMENT, false, AT(environment), 0, 256, NULL},
    {"limits", FIELD_OBJECT, false, AT(limits), 0, 0, NULL},
    {"init_code", FIELD_CODE, false, AT(init_code), 0, 0, NULL},
    {"replay_after_death", FIELD_BOOLEAN, false, AT(replay_after_death), 0, 0,
     NULL},
    {"strict", FIELD_BOOLEAN, false, AT(strict), 0, 0, NULL},
};

int handle_tasks_list(struct call *call, struct err *err) {
  int64_t limit;
  const char *after = request_parameter(call->request, "after");
  if (request_integer(call->request, "limit", 1, 1000, 100, &limit, err) < 0 ||
      admin_list_tasks(call->engine, caller_rights(&call->caller), after,
                       (int)limit, &call->answer, err) < 0)
    return -1;
  return 200;
}

/* As the keeper will read them. */
static int check_limits(struct call *call, const struct json *limits,
                        struct err *err) {
  struct kernel_limits unused;
  if (kernel_limits_read(call->conf, limits, &unused, err) >= 0)
    return 0;
  json_free(call->details);
  call->details = json_object();
  json_set_text(call->details, "field", "limits");
  return -1;
}

int handle_tasks_put(struct call *call, struct err *err) {
  struct task_settings settings = {.kernelspec = NULL};
  CLEANUP(json_done) struct json *nothing = json_object();
  if (call_read_fields(call, settings_fields, COUNT_OF(settings_fields),
                       &settings, err) < 0 ||
      check_limits(call, settings.limits, err) < 0)
    return -1;
  int made = admin_put_task(call->engine, call->task,
                            call->body == NULL ? nothing : call->body,
                            call->caller.name, &call->answer, err);
  if (made < 0)
    return -1;
  CLEANUP(mem_free_pointer)
  char *uri = mem_format("/v1/tasks/%s", call->task);
  if (made == 1)
    reply_header(call->reply, "Location", uri);
  return made == 1 ? 201 : 200;
}

int handle_tasks_describe(struct call *call, struct err *err) {
  return admin_describe_task(call->engine, call->task, &call->answer, err) < 0
             ? -1
             : 200;
}

int handle_tasks_delete(struct call *call, struct err *err) {
  int64_t purge;
  if (request_integer(call->request, "purge", 0, 1, 0, &purge, err) < 0 ||
      admin_delete_task(call->engine, call->task, purge == 1, call->caller.name,
                        &call->answer, err) < 0)
    return -1;
  return 200;
}

int handle_tasks_interrupt(struct call *call, struct err *err) {
  return admin_interrupt_task(call->engine, call->task, call->caller.name,
                              &call->answer, err) < 0
             ? -1
             : 200;
}

struct restart_body {
  bool replay;
};

static const struct field restart_fields[] = {
    {"replay", FIELD_BOOLEAN, false, offsetof(struct restart_body, replay), 0,
     0, NULL},
};

int handle_tasks_restart(struct call *call, struct err *err) {
  struct restart_body body = {.replay = false};
  if (call_read_fields(call, restart_fields, COUNT_OF(restart_fields), &body,
                       err) < 0 ||
      (body.replay && call_take_place(call, err) < 0))
    return -1;
  int result = body.replay
                   ? admin_replay_task(call->engine, call->task,
                                       call->caller.name, &call->answer, err)
                   : admin_restart_task(call->engine, call->task,
                                        call->caller.name, &call->answer, err);
  call_give_place(call);
  return result < 0 ? -1 : 200;
}
