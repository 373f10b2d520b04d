/* /healthz, /readyz, /metrics, /v1/capabilities and /v1/kernelspecs */
#include "core/base/layout.h"
#include "core/base/mem.h"
#include "core/base/version.h"
#include "core/control/control_report.h"
#include "core/notebook/writer/notebook.h"
#include "core/run/admin/admin.h"
#include "fcgi/handlers/routes.h"

/* This process answers. */
int handle_service_health(struct call *call, struct err *err) {
  (void)err;
  struct json *answer = call->answer = json_object();
  json_set_text(answer, "status", "ok");
  return 200;
}

/* And a run would find a keeper and a registry that can be written. */
int handle_service_ready(struct call *call, struct err *err) {
  struct err reason;
  if (!engine_is_ready(call->engine, &reason))
    return err_set(err, ERR_UNAVAILABLE, "%s", reason.text);
  struct json *answer = call->answer = json_object();
  json_set_text(answer, "status", "ready");
  return 200;
}

static void write_notebooks(struct buf *out) {
  struct notebook_counters counters;
  notebook_counters(&counters);
  buf_format(out,
             "# HELP cellpost_notebook_writes_total Notebook versions put on "
             "disk, by the way it was done.\n"
             "# TYPE cellpost_notebook_writes_total counter\n"
             "cellpost_notebook_writes_total{way=\"append\"} %llu\n"
             "cellpost_notebook_writes_total{way=\"copy\"} %llu\n"
             "# HELP cellpost_notebook_bytes_total Bytes written for them.\n"
             "# TYPE cellpost_notebook_bytes_total counter\n"
             "cellpost_notebook_bytes_total %llu\n",
             (unsigned long long)counters.appended,
             (unsigned long long)counters.copied,
             (unsigned long long)counters.bytes);
}

int handle_service_metrics(struct call *call, struct err *err) {
  (void)err;
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_SMALL);
  metrics_write(&call->service->metrics, &text);
  write_notebooks(&text);
  reply_text(call->reply, 200, "text/plain; version=0.0.4; charset=utf-8",
             buf_string(&text), text.length);
  return 0;
}

static struct json *texts(const char *const *list) {
  struct json *array = json_array();
  for (; *list != NULL; list++)
    json_push(array, json_string(*list));
  return array;
}

static struct json *limits(const struct conf *conf) {
  struct json *object = json_object();
  json_set_integer(object, "body_bytes", conf->body_bytes);
  json_set_integer(object, "code_bytes", conf->code_bytes);
  json_set(object, "timeout", json_number(conf->timeout));
  json_set(object, "timeout_max", json_number(conf->timeout_max));
  json_set_integer(object, "queue", conf->queue);
  json_set_integer(object, "watchers", conf->watchers);
  json_set_integer(object, "kernels", conf->max_kernels);
  json_set_integer(object, "output_bytes", conf->output_bytes);
  json_set_integer(object, "output_bytes_hard", conf->output_bytes_hard);
  json_set_integer(object, "outputs", conf->outputs);
  json_set_integer(object, "image_bytes", conf->image_bytes);
  json_set_integer(object, "inline_image_bytes", conf->inline_image_bytes);
  json_set_integer(object, "text_limit", conf->text_limit);
  json_set_integer(object, "memory", conf->memory);
  json_set_integer(object, "memory_max", conf->memory_max);
  json_set_integer(object, "pids", conf->pids);
  json_set_integer(object, "pids_max", conf->pids_max);
  json_set(object, "cpus", json_number(conf->cpus));
  json_set(object, "cpus_max", json_number(conf->cpus_max));
  json_set_integer(object, "workspace_bytes", conf->workspace_bytes);
  json_set_integer(object, "workspace_bytes_max", conf->workspace_bytes_max);
  json_set_integer(object, "workspace_files", conf->workspace_files);
  json_set_integer(object, "workspace_files_max", conf->workspace_files_max);
  return object;
}

/* What the keeper has told; null: none has run. */
static struct json *told(const struct conf *conf, const char *name) {
  CLEANUP(json_done) struct json *report = NULL;
  control_report_read(conf->run_directory, name, &report, NULL);
  return MEM_STEAL(report);
}

/* What a client may count on here, without trying. */
int handle_service_capabilities(struct call *call, struct err *err) {
  (void)err;
  static const char *const bodies[] = {"application/json", "text/x-python",
                                       NULL};
  static const char *const answers[] = {"application/json", "text/event-stream",
                                        "application/x-ndjson", NULL};
  struct json *answer = call->answer = json_object();
  json_set_text(answer, "version", CELLPOST_VERSION);
  json_set_text(answer, "kernelspec", call->conf->kernelspec);
  json_set_boolean(answer, "auto_create", call->conf->auto_create);
  json_set(answer, "execute_bodies", texts(bodies));
  json_set(answer, "execute_answers", texts(answers));
  json_set(answer, "limits", limits(call->conf));
  json_set(answer, "jail", told(call->conf, LAYOUT_JAIL_REPORT));
  json_set(answer, "warm", told(call->conf, LAYOUT_WARM_REPORT));
  return 200;
}

int handle_service_kernelspecs(struct call *call, struct err *err) {
  return admin_list_kernelspecs(call->engine, &call->answer, err) < 0 ? -1
                                                                      : 200;
}
