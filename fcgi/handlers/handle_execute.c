/* POST /v1/tasks/{task}/execute */
#include <string.h>

#include "core/base/crypto.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/run/run.h"
#include "fcgi/handlers/execute_body.h"
#include "fcgi/handlers/links.h"
#include "fcgi/handlers/routes.h"
#include "fcgi/http/accept.h"
#include "fcgi/http/departure.h"
#include "fcgi/http/problem.h"
#include "fcgi/live/stream.h"

/* *keep owns what `body` borrows and the request does not have. */
static int read_asked(struct call *call, struct execute_body *body,
                      struct json **keep, struct err *err) {
  const struct request *request = call->request;
  if (call->body_is_code)
    return execute_body_code(buf_string(&request->body), request->body.length,
                             body, &call->details, err) < 0
               ? -1
               : execute_body_query(
                     request->parameters, request->parameter_count,
                     call->conf->timeout_max, body, keep, &call->details, err);
  if (request->parameter_count > 0)
    return err_set(err, ERR_FIELD,
                   "query parameter \"%.100s\": beside a JSON body it must be "
                   "one of its fields",
                   request->parameters[0].name);
  return execute_body_read(call->body, call->conf->timeout_max, body,
                           &call->details, err);
}

/* The digest tells a repeated request from another one with the same key. */
static int read_key(const struct call *call, const char **key,
                    char digest[CRYPTO_SHA256_HEX], struct err *err) {
  const struct buf *bytes = &call->request->body;
  *key = request_header(call->request, "HTTP_IDEMPOTENCY_KEY");
  if (*key == NULL)
    return request_has_header(call->request, "HTTP_IDEMPOTENCY_KEY")
               ? execute_body_check_key("", err)
               : 0;
  crypto_sha256(buf_string(bytes), bytes->length, digest);
  const char *query = strchr(call->request->target, '?');
  if (query != NULL) {
    CLEANUP(mem_free_pointer)
    char *both = mem_format("%s%s", digest, query);
    crypto_sha256(both, strlen(both), digest);
  }
  return execute_body_check_key(*key, err);
}

static int submit(struct call *call, struct run_request *request,
                  struct accepted **accepted, struct err *err) {
  char digest[CRYPTO_SHA256_HEX] = "";
  request->task = call->task;
  request->body_sha256 = digest;
  request->caller = call->caller.name;
  request->address = call->caller.address;
  request->request_id = call->request->id;
  if (read_key(call, &request->idempotency_key, digest, err) < 0 ||
      accept_run(call->engine, request, accepted, err) < 0)
    return -1;
  atomic_fetch_add(&call->service->metrics.runs, 1);
  log_set_run(accepted_id(*accepted));
  if (accepted_is_repeat(*accepted))
    reply_header(call->reply, "Idempotent-Replayed", "true");
  return 0;
}

static void tell_accepted(struct call *call, const struct accepted *accepted) {
  struct json *answer = call->answer = json_object();
  CLEANUP(mem_free_pointer)
  char *uri = mem_format("/v1/runs/%s", accepted_id(accepted));
  json_set_text(answer, "run", accepted_id(accepted));
  json_set_text(answer, "task", accepted_task(accepted));
  json_set_text(answer, "status", "queued");
  json_set_integer(answer, "position", accepted_position(accepted));
  json_set_text(answer, "uri", uri);
  reply_header(call->reply, "Location", uri);
}

static int answer_at_end(struct call *call, struct accepted *accepted,
                         struct err *err) {
  if (run_perform(call->engine, accepted, NULL, &call->answer, &call->details,
                  err) < 0 ||
      (call->signs && links_sign_images(call, call->answer, err) < 0))
    return -1;
  call_give_place(call);
  return 200;
}

static void send_event(void *stream, const char *type,
                       const struct json *content) {
  stream_event(stream, type, content);
}

/* A run that fails before its first event is answered by an ordinary problem
 * document; afterwards the document is the last event. */
static int end_stream(struct call *call, struct stream *stream, int result,
                      const struct err *err) {
  if (result == 0) {
    stream_close(stream, "answer", call->answer);
    return 0;
  }
  if (!stream_is_started(stream)) {
    stream_close(stream, NULL, NULL);
    return -1;
  }
  CLEANUP(json_done)
  struct json *problem = problem_document(problem_status(err->kind), err,
                                          call->request->id, call->details);
  stream_close(stream, "problem", problem);
  return 0;
}

static int answer_stream(struct call *call, struct accepted *accepted,
                         enum accept_format format, struct err *err) {
  struct stream *stream = stream_open(
      call->reply, format == ACCEPT_SSE ? &stream_sse : &stream_ndjson);
  struct sink sink = {.context = stream, .event = send_event};
  int result = run_perform(call->engine, accepted, &sink, &call->answer,
                           &call->details, err);
  if (result == 0 && call->signs)
    result = links_sign_images(call, call->answer, err);
  /* A reader may be slow: until it has the end, the thread is held. */
  result = end_stream(call, stream, result, err);
  call_give_place(call);
  return result;
}

static int answer_live(struct call *call, struct accepted *accepted,
                       enum accept_format format, bool ends_with_client,
                       struct err *err) {
  CLEANUP(departure_done) struct departure departure = {.engine = NULL};
  if (ends_with_client && !accepted_is_repeat(accepted))
    departure_watch(&departure, call, accepted_id(accepted));
  return format == ACCEPT_JSON ? answer_at_end(call, accepted, err)
                               : answer_stream(call, accepted, format, err);
}

int handle_execute(struct call *call, struct err *err) {
  struct execute_body body;
  CLEANUP(json_done) struct json *keep = NULL;
  CLEANUP(accepted_done) struct accepted *accepted = NULL;
  if (read_asked(call, &body, &keep, err) < 0 ||
      call_take_run(call, call->task, err) < 0 ||
      submit(call, &body.run, &accepted, err) < 0)
    return -1;
  call->signs = body.images == 2;
  enum accept_format format =
      accept_negotiate(request_header(call->request, "HTTP_ACCEPT"));
  if (body.wait)
    return answer_live(call, accepted, format, body.on_disconnect == 1, err);
  tell_accepted(call, accepted);
  if (!accepted_is_repeat(accepted))
    call->unfinished = MEM_STEAL(accepted);
  return 202;
}
