#include "core/run/session/variables.h"

#include <stdio.h>

#include "core/base/mem.h"
#include "core/run/engine/engine_private.h"
#include "core/store/kernel.h"
#include "core/store/task.h"

/* Whether nobody wanted the variables of that life any more: somebody asked for
 * a new kernel, or has deleted the task since and made it anew. */
static bool was_given_up(struct engine *engine,
                         const struct kernel_record *life) {
  CLEANUP(task_record_free) struct task_record task = {0};
  if (life->end == KERNEL_END_RESTARTED)
    return true;
  return task_get(engine->store, life->task, &task, NULL) == 0 &&
         life->ended_at < task.created_at;
}

static const char *meet_new_kernel(struct engine *engine,
                                   const struct kernel_record *kernel,
                                   char *reason, size_t size) {
  for (int64_t life = kernel->generation - 1; life > 0; life--) {
    CLEANUP(kernel_record_free) struct kernel_record before = {0};
    if (kernel_generation(engine->store, kernel->task, life, &before, NULL) < 0)
      break;
    if (before.end == KERNEL_END_START)
      continue;
    snprintf(reason, size,
             "the variables of kernel generation %lld are gone: %.300s",
             (long long)life,
             before.reason == NULL ? kernel_end_name(before.end)
                                   : before.reason);
    return was_given_up(engine, &before) ? "fresh" : "lost";
  }
  return "fresh";
}

const char *variables_meet(struct engine *engine, struct known_kernel *known,
                           char *reason, size_t size) {
  *reason = '\0';
  if (known->replay_was_cut_off) {
    known->replay_was_cut_off = false;
    snprintf(reason, size,
             "the replay that was to bring the variables back was cut off");
    return "lost";
  }
  return known->runs > 0
             ? "kept"
             : meet_new_kernel(engine, &known->kernel, reason, size);
}
