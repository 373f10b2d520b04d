#include "core/keeper/cull.h"

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/keeper/kernels/registry.h"
#include "core/store/kernel.h"

#define SHORTEST_S 0.1
#define LONGEST_S 5.0

bool cull_is_idle(int64_t started_at, int64_t last_run_at, int64_t now,
                  double idle_timeout) {
  int64_t used_at = last_run_at > started_at ? last_run_at : started_at;
  return (double)(now - used_at) > idle_timeout * 1e6;
}

int64_t cull_interval_ns(double idle_timeout) {
  double seconds = idle_timeout / 4;
  seconds = seconds < SHORTEST_S ? SHORTEST_S : seconds;
  seconds = seconds > LONGEST_S ? LONGEST_S : seconds;
  return (int64_t)(seconds * (double)CLOCK_S);
}

static bool is_idle(const struct keeper *keeper, const struct kernel *kernel) {
  int64_t last_at;
  bool busy;
  struct err err = {0};
  if (kernel_activity(keeper->store, kernel->task, &last_at, &busy, &err) !=
      0) {
    log_warning("whether kernel %s is idle is not known: %s", kernel->id,
                err.text);
    return false;
  }
  return !busy && cull_is_idle(kernel->started_at, last_at, clock_wall_us(),
                               keeper->conf->idle_timeout);
}

/* Asked twice: a run may have begun between the first look and the turn. The
 * turn is kept until the end of the kernel is recorded. */
static void cull(struct keeper *keeper, struct kernel *kernel) {
  if (!is_idle(keeper, kernel))
    return;
  CLEANUP(mem_close_descriptor)
  int turn = places_try_turn(&keeper->places, kernel->task);
  if (turn < 0 || !is_idle(keeper, kernel))
    return;
  kernel->turn = mem_steal_descriptor(&turn);
  registry_stop(kernel, KERNEL_END_CULLED, "");
}

int64_t cull_turn(struct keeper *keeper) {
  if (keeper->conf->idle_timeout <= 0)
    return KEEPER_NEVER;
  int64_t now = clock_monotonic_ns();
  if (now < keeper->cull_at)
    return keeper->cull_at;
  for (struct kernel *kernel = keeper->kernels; kernel != NULL;
       kernel = kernel->next)
    if (!kernel->ended && kernel->asked == KERNEL_END_NONE)
      cull(keeper, kernel);
  keeper->cull_at = now + cull_interval_ns(keeper->conf->idle_timeout);
  return keeper->cull_at;
}
