/* The HTTP interface in one table. */
#include "core/base/mem.h"
#include "fcgi/router.h"

const struct route routes[] = {
    {"POST", "/v1/tasks/{task}/execute", handle_execute, ROUTE_BODY_CODE,
     "timeout section images silent wait traceback text_limit output_bytes "
     "outputs image_bytes",
     false},
    {"GET", "/v1/tasks", handle_list_tasks, ROUTE_BODY_NONE, "after limit",
     false},
    {"PUT", "/v1/tasks/{task}", handle_put_task, ROUTE_BODY_OBJECT, NULL,
     false},
    {"GET", "/v1/tasks/{task}", handle_describe_task, ROUTE_BODY_NONE, NULL,
     false},
    {"DELETE", "/v1/tasks/{task}", handle_delete_task, ROUTE_BODY_NONE, "purge",
     false},
    {"POST", "/v1/tasks/{task}/interrupt", handle_interrupt_task,
     ROUTE_BODY_NONE, NULL, false},
    {"POST", "/v1/tasks/{task}/restart", handle_restart_task, ROUTE_BODY_OBJECT,
     NULL, false},
    {"POST", "/v1/tasks/{task}/cells", handle_add_cell, ROUTE_BODY_OBJECT, NULL,
     false},
    {"GET", "/v1/tasks/{task}/sections", handle_list_sections, ROUTE_BODY_NONE,
     "before limit text_limit", false},
    {"GET", "/v1/tasks/{task}/runs", handle_list_task_runs, ROUTE_BODY_NONE,
     "before status limit", false},
    {"GET", "/v1/tasks/{task}/events", handle_watch, ROUTE_BODY_NONE,
     "last_event_id", false},
    {"GET", "/v1/events", handle_watch, ROUTE_BODY_NONE, "last_event_id",
     false},
    {"GET", "/v1/runs", handle_list_runs, ROUTE_BODY_NONE,
     "before status limit", false},
    {"GET", "/v1/runs/{run}", handle_describe_run, ROUTE_BODY_NONE, NULL,
     false},
    {"DELETE", "/v1/runs/{run}", handle_cancel_run, ROUTE_BODY_NONE, NULL,
     false},
    {"GET", "/v1/kernelspecs", handle_list_kernelspecs, ROUTE_BODY_NONE, NULL,
     false},
    {"GET", "/v1/capabilities", handle_capabilities, ROUTE_BODY_NONE, NULL,
     false},
    {"GET", "/healthz", handle_health, ROUTE_BODY_NONE, NULL, true},
    {"GET", "/readyz", handle_ready, ROUTE_BODY_NONE, NULL, true},
    {"GET", "/metrics", handle_metrics, ROUTE_BODY_NONE, NULL, true},
};

const size_t route_count = COUNT_OF(routes);
