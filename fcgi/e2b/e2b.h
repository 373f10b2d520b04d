/* The interface of E2B's SDKs, so that programs written for E2B run here: with
 * E2B_API_URL and E2B_SANDBOX_URL set to …/e2b, a sandbox is a task. Three
 * services of theirs stand under one address: the control plane, the code
 * interpreter and envd (files, commands). Sources: e2b-code-interpreter 2.11
 * and e2b 2.63 of PyPI, which say what is sent and read. */
#ifndef CELLPOST_FCGI_E2B_E2B_H
#define CELLPOST_FCGI_E2B_E2B_H

#include "fcgi/http/router.h"
#include "fcgi/live/stream.h"

/* For every method and path beneath /e2b: finds the route and serves it. */
handler e2b_serve;

/* The routes, as the SDKs ask for them. */
extern const struct route e2b_routes[];
extern const size_t e2b_routes_count;

/* e2b_control.c: sandboxes are made, found, prolonged, ended. */
handler e2b_create, e2b_connect, e2b_describe, e2b_list, e2b_set_timeout,
    e2b_kill;
/* e2b_code.c: cells. */
handler e2b_execute, e2b_contexts_list, e2b_contexts_create,
    e2b_contexts_restart, e2b_contexts_delete;
/* e2b_files.c: files as bytes. */
handler e2b_health, e2b_files_read, e2b_files_write;
/* e2b_filesystem.c, e2b_process.c: envd's remote procedure calls. */
handler e2b_stat, e2b_list_directory, e2b_make_directory, e2b_move, e2b_remove;
handler e2b_start_process, e2b_list_processes;
/* What there is not: 501 with words. */
handler e2b_unsupported;

/* The body as a JSON object; the caller owns *ret. ERR_INVALID. */
int e2b_body(struct call *call, struct json **ret, struct err *err);

/* The living sandbox that the header E2b-Sandbox-Id names, into call->task.
 * ERR_NOT_FOUND. */
int e2b_sandbox(struct call *call, struct err *err);

/* Runs a cell in call->task for as long as the client is there. With a form it
 * streams, and 0 says that all is written; without one call->answer has what
 * came of it. `silent` cells stand in no notebook. */
int e2b_run(struct call *call, const char *code, size_t length, bool silent,
            const struct stream_form *form, struct err *err);

/* Sandboxes end at their time, whoever made them: the thread that sees to it
 * sleeps until then. */
int e2b_start(struct engine *engine, struct err *err);
void e2b_stop(void);
/* One was made or prolonged. */
void e2b_wake(void);

#endif
