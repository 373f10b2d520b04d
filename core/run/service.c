#include "core/run/service.h"

#include "core/base/log.h"
#include "core/run/engine/engine_private.h"
#include "core/run/late/drain.h"
#include "core/run/recover.h"

int service_open(const struct conf *conf, struct engine **ret,
                 struct err *err) {
  struct engine *engine = NULL;
  if (engine_open(conf, &engine, err) < 0)
    return -1;
  if (recover_after_death(engine, err) < 0) {
    engine_close(engine);
    return -1;
  }
  *ret = engine;
  return 0;
}

static void tell_sync_failure(void *context, const struct err *err) {
  (void)context;
  log_error("%s", err->text);
}

int service_start(struct engine *engine, struct err *err) {
  if (store_maintain(engine->store, err) < 0 ||
      (engine->conf->sync == CONF_SYNC_BACKGROUND &&
       fs_later_start(tell_sync_failure, NULL, &engine->later, err) < 0))
    return -1;
  if (drain_start(engine, err) < 0)
    return -1;
  recover_rest(engine);
  return 0;
}

void service_close(struct engine *engine) {
  if (engine == NULL || !live_is_empty(engine->live))
    return;
  drain_stop(engine);
  engine_close(engine);
}
