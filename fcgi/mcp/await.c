#include "fcgi/mcp/await.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/run/history/history.h"
#include "fcgi/http/departure.h"
#include "fcgi/mcp/content.h"
#include "fcgi/mcp/running.h"

#define PROGRESS_EVERY (5 * CLOCK_S)

/* Shared by the two threads, under the mutex; the rest belongs to the writer.
 */
struct await {
  pthread_mutex_t mutex;
  pthread_cond_t ended;
  bool is_over;
  struct json *answer; /* of the run that was carried out, or NULL */
  struct err err;      /* why it was not */

  struct mcp *mcp;
  struct departure departure;
  const char *run;
  const struct json *token;        /* progressToken, or NULL */
  int64_t started, told, patience; /* nanoseconds */
  bool streams;
};

static void write_event(struct await *await, const struct json *message) {
  CLEANUP(buf_free) struct buf frame = BUF_INIT(BUF_ANSWER);
  struct reply *reply = await->mcp->call->reply;
  if (!await->streams) {
    reply_header(reply, "X-Accel-Buffering", "no");
    reply_start(reply, 200, "text/event-stream");
    await->streams = true;
  }
  buf_text(&frame, "event: message\ndata: ");
  json_write(message, &frame);
  buf_text(&frame, "\n\n");
  reply_write(reply, buf_string(&frame), frame.length);
  reply_flush(reply);
}

/* A client that asked for progress gets events, any other one JSON object. */
static void write_result(struct await *await, struct json *result) {
  CLEANUP(json_done)
  struct json *message = rpc_result(&await->mcp->message, result);
  if (await->token != NULL)
    write_event(await, message);
  else
    mcp_reply(await->mcp, 200, message);
}

static void write_progress(struct await *await, int64_t now) {
  struct json *params = json_object();
  char text[64];
  int64_t seconds = (now - await->started) / CLOCK_S;
  snprintf(text, sizeof text, "running for %lld s", (long long)seconds);
  json_set(params, "progressToken", json_share(await->token));
  json_set_integer(params, "progress", seconds);
  json_set_text(params, "message", text);
  CLEANUP(json_done)
  struct json *message = rpc_notification("notifications/progress", params);
  write_event(await, message);
  await->told = now;
}

static void answer_unfinished(struct await *await) {
  struct err err;
  CLEANUP(json_done) struct json *run = NULL;
  departure_done(&await->departure);
  if (history_describe_run(await->mcp->call->engine, await->run, &run, &err) <
      0)
    write_result(await, content_of_text(err.text, true));
  else
    write_result(await, content_of_unfinished(run));
  reply_finish(await->mcp->call->reply);
}

/* Without the mutex: the run goes on meanwhile. True: nothing is left to do. */
static bool look(struct await *await) {
  int64_t now = clock_monotonic_ns();
  if (now - await->started >= await->patience) {
    answer_unfinished(await);
    return true;
  }
  if (await->token != NULL && now - await->told >= PROGRESS_EVERY)
    write_progress(await, now);
  return false;
}

static void answer_end(struct await *await) {
  if (await->answer == NULL)
    write_result(await, content_of_text(await->err.text, true));
  else
    write_result(await,
                 content_of_run(await->answer, await->token != NULL
                                                   ? CONTENT_IMAGES_EVENT
                                                   : CONTENT_IMAGES_JSON));
}

/* When there is something to say, if the run has not ended before. */
static struct timespec next_look(const struct await *await) {
  int64_t at = await->started + await->patience;
  if (await->token != NULL && await->told + PROGRESS_EVERY < at)
    at = await->told + PROGRESS_EVERY;
  return (struct timespec){.tv_sec = at / CLOCK_S, .tv_nsec = at % CLOCK_S};
}

static void *write_all(void *context) {
  struct await *await = context;
  bool answered = false;
  pthread_mutex_lock(&await->mutex);
  while (!await->is_over && !answered) {
    struct timespec until = next_look(await);
    pthread_cond_timedwait(&await->ended, &await->mutex, &until);
    if (await->is_over)
      break;
    pthread_mutex_unlock(&await->mutex);
    answered = look(await);
    pthread_mutex_lock(&await->mutex);
  }
  pthread_mutex_unlock(&await->mutex);
  if (!answered)
    answer_end(await);
  return NULL;
}

static void perform(struct await *await, struct accepted *accepted) {
  CLEANUP(json_done) struct json *answer = NULL;
  struct err err;
  int result = run_perform(await->mcp->call->engine, accepted, NULL, &answer,
                           NULL, &err);
  pthread_mutex_lock(&await->mutex);
  if (result < 0)
    await->err = err;
  else
    await->answer = MEM_STEAL(answer);
  await->is_over = true;
  pthread_cond_signal(&await->ended);
  pthread_mutex_unlock(&await->mutex);
}

void await_run(struct mcp *mcp, struct accepted *accepted) {
  const struct json *meta = json_get(mcp->message.params, "_meta");
  struct await await = {
      .mcp = mcp,
      .run = accepted_id(accepted),
      .token = json_get(meta, "progressToken"),
      .started = clock_monotonic_ns(),
      .patience = (int64_t)(mcp->call->conf->tool_wait * (double)CLOCK_S)};
  struct running running = {
      .session = mcp->session, .request = mcp->message.id, .run = await.run};
  pthread_t writer;
  pthread_condattr_t attributes;
  await.told = await.started;
  pthread_mutex_init(&await.mutex, NULL);
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&await.ended, &attributes);
  pthread_condattr_destroy(&attributes);
  running_add(&running);
  if (mcp->message.modern)
    departure_watch(&await.departure, mcp->call, await.run);
  bool watched = pthread_create(&writer, NULL, write_all, &await) == 0;
  perform(&await, accepted);
  departure_done(&await.departure);
  running_remove(&running);
  if (watched)
    pthread_join(writer, NULL);
  else
    answer_end(&await);
  json_free(await.answer);
  pthread_cond_destroy(&await.ended);
  pthread_mutex_destroy(&await.mutex);
}

static bool is_open(const struct json *run) {
  const char *status = json_get_text(run, "status");
  return status != NULL &&
         (strcmp(status, "queued") == 0 || strcmp(status, "running") == 0);
}

int await_end(struct engine *engine, const char *run, double seconds,
              struct json **ret, struct err *err) {
  int64_t until = clock_monotonic_ns() + (int64_t)(seconds * (double)CLOCK_S);
  int64_t pause = 20 * CLOCK_MS;
  for (;;) {
    CLEANUP(json_done) struct json *state = NULL;
    if (history_describe_run(engine, run, &state, err) < 0)
      return -1;
    int64_t left = until - clock_monotonic_ns();
    if (!is_open(state) || left <= 0) {
      *ret = MEM_STEAL(state);
      return 0;
    }
    struct timespec time = {.tv_nsec = pause < left ? pause : left};
    nanosleep(&time, NULL);
    pause = pause < 400 * CLOCK_MS ? pause * 2 : pause;
  }
}
