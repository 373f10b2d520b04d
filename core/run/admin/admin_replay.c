/* A new kernel with the variables of the old one. */
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/run/accept.h"
#include "core/run/admin/admin.h"
#include "core/run/engine/engine_private.h"
#include "core/run/replay.h"

/* Ours is the turn: unless a run that stood before us has had it done, the
 * replay is made now. */
static int make_replay(struct engine *engine, const char *task, const char *id,
                       struct replay_record *ret, struct err *err) {
  struct session session;
  CLEANUP(mem_free_pointer) char *stderr_tail = NULL;
  if (replay_get(engine->store, id, ret, err) < 0)
    return -1;
  if (ret->status != REPLAY_ASKED)
    return 0;
  replay_record_free(ret);
  if (replay_open_session(engine, task, &session, &stderr_tail, err) < 0)
    return -1;
  session_close(engine, &session, true);
  return replay_get(engine->store, id, ret, err);
}

static int restart(struct engine *engine, const char *task, const char *by,
                   const char *id, struct json **ret, struct err *err) {
  struct replay_record record = {.id = (char *)(uintptr_t)id,
                                 .task = (char *)(uintptr_t)task,
                                 .asked_at = clock_wall_us(),
                                 .asked_by = (char *)(uintptr_t)by};
  if (replay_insert(engine->store, &record, err) < 0)
    return -1;
  return admin_restart_task(engine, task, by, ret, err);
}

static int restart_and_replay(struct engine *engine, const char *task,
                              const char *by, struct queue_entry *entry,
                              struct json **ret, struct err *err) {
  char id[ID_UUID_SIZE];
  id_new(id);
  CLEANUP(json_done) struct json *answer = NULL;
  CLEANUP(replay_record_free) struct replay_record record = {0};
  if (restart(engine, task, by, id, &answer, err) < 0 ||
      queue_wait(entry, err) < 0 ||
      make_replay(engine, task, id, &record, err) < 0) {
    replay_cancel_asked(engine->store, id, NULL);
    return -1;
  }
  json_set(answer, "replay", replay_describe(&record));
  *ret = MEM_STEAL(answer);
  return 0;
}

/* The place in the queue first: what cannot be replayed is not restarted. */
int admin_replay_task(struct engine *engine, const char *task, const char *by,
                      struct json **ret, struct err *err) {
  struct queue_entry *entry = NULL;
  if (queue_join(engine->queues, task, &entry, err) < 0)
    return -1;
  int result = restart_and_replay(engine, task, by, entry, ret, err);
  queue_leave(entry);
  return result;
}
