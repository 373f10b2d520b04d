/* The HTTP interface: the table of all routes, and their handlers, each in the
 * file of its resource (handle_tasks_put stands in handle_tasks.c). */
#ifndef CELLPOST_FCGI_HANDLERS_ROUTES_H
#define CELLPOST_FCGI_HANDLERS_ROUTES_H

#include "fcgi/http/router.h"

extern const struct route routes[];
extern const size_t routes_count;

handler handle_cells_add, handle_cells_sections;
handler handle_events;
handler handle_execute;
handler handle_links_add;
handler handle_files_list, handle_files_browse, handle_files_put,
    handle_files_unpack, handle_files_delete;
handler handle_runs_list, handle_runs_export, handle_runs_hours,
    handle_runs_describe, handle_runs_request, handle_runs_cancel;
handler handle_service_health, handle_service_ready, handle_service_metrics,
    handle_service_capabilities, handle_service_kernelspecs;
handler handle_session_open, handle_session_describe, handle_session_close,
    handle_session_access;
handler handle_tasks_list, handle_tasks_put, handle_tasks_describe,
    handle_tasks_delete, handle_tasks_interrupt, handle_tasks_restart;

#endif
