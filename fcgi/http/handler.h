/* What a handler is given, and what it must do. */
#ifndef CELLPOST_FCGI_HTTP_HANDLER_H
#define CELLPOST_FCGI_HTTP_HANDLER_H

#include "core/base/err.h"
#include "core/conf/conf.h"
#include "core/json/json.h"
#include "core/run/engine.h"
#include "core/run/run.h"
#include "fcgi/handlers/metrics.h"
#include "fcgi/http/auth.h"
#include "fcgi/http/reply.h"
#include "fcgi/http/request.h"
#include "fcgi/live/broadcast.h"

struct call {
  struct engine *engine;
  const struct conf *conf;
  struct metrics *metrics;
  struct broadcast *broadcast; /* NULL: this process serves one request */
  struct request *request;
  struct reply *reply;
  struct caller caller;
  const char *task; /* from the path, a valid id; or NULL */
  const char *run;
  const char *path; /* the rest of the path, with slashes; or NULL */
  /* The parsed JSON body, an object; NULL when there was none, or when the body
   * is code. */
  const struct json *body;
  bool body_is_code;
  bool has_place; /* call_take_place */
  /* Set by a handler: a run that goes on after the answer; the call's. */
  struct run_ticket *unfinished;
  /* More members of the problem document, set before a failure; the call's. */
  struct json *details;
};

/* Answers by one function of reply.h or stream.h and returns 0, or returns -1
 * with *err set and nothing written: the caller then writes the problem
 * document. */
typedef int handler(struct call *call, struct err *err);

/* For a handler, before it waits for a kernel or for a task's turn: takes one
 * of the places for that (run_places.h), which is given back when nothing of
 * the call goes on. ERR_UNAVAILABLE: all are taken.
 *
 * It gives the place back before it answers, if nothing goes on then: a client
 * that sends one request after another would else find it taken by the one
 * before. */
int call_take_place(struct call *call, struct err *err);
void call_give_place(struct call *call);

handler handle_execute;
handler handle_list_tasks, handle_put_task, handle_describe_task,
    handle_delete_task, handle_interrupt_task, handle_restart_task;
handler handle_add_cell, handle_list_sections;
handler handle_list_runs, handle_list_task_runs, handle_describe_run,
    handle_cancel_run, handle_export_runs, handle_hours,
    handle_describe_request;
handler handle_list_files, handle_list_directory, handle_put_file,
    handle_delete_file;
handler handle_watch;
handler handle_list_kernelspecs;
handler handle_health, handle_ready, handle_capabilities, handle_metrics;

#endif
