#include "core/keeper/cull.h"

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/keeper/kernels/registry.h"
#include "core/store/kernel.h"

#define SHORTEST_S 0.1
#define LONGEST_S 5.0
#define A_DAY_S 86400.0

int64_t cull_used_at(int64_t used_at, int64_t seen, int64_t last_run_at,
                     int64_t now, int64_t wall, double idle_timeout) {
  if (last_run_at == seen)
    return used_at;
  if (seen >= 0)
    return now;
  double most = idle_timeout > 0 ? idle_timeout / 2 : A_DAY_S;
  double ago = (double)(wall - last_run_at) / 1e6;
  ago = ago < most ? ago : most;
  return ago > 0 ? now - (int64_t)(ago * (double)CLOCK_S) : now;
}

int64_t cull_interval_ns(double idle_timeout) {
  double seconds = idle_timeout / 4;
  seconds = seconds < SHORTEST_S ? SHORTEST_S : seconds;
  seconds = seconds > LONGEST_S ? LONGEST_S : seconds;
  return (int64_t)(seconds * (double)CLOCK_S);
}

/* Whether it is in use now; when it was is kept in the kernel. */
static bool look(struct kernel *kernel) {
  struct keeper *keeper = kernel->keeper;
  int64_t last_at, now = clock_boot_ns();
  bool busy;
  struct err err = {0};
  if (kernel_activity(keeper->store, kernel->task, &last_at, &busy, &err) < 0) {
    log_warning("whether kernel %s is idle is not known: %s", kernel->id,
                err.text);
    return true;
  }
  last_at = last_at > kernel->started_at ? last_at : kernel->started_at;
  kernel->used_at =
      busy ? now
           : cull_used_at(kernel->used_at, kernel->last_run_at, last_at, now,
                          clock_wall_us(), keeper->conf->idle_timeout);
  kernel->last_run_at = last_at;
  return busy;
}

/* Asked twice: a run may have begun between the first look and the turn. The
 * turn is kept until the end of the kernel is recorded. */
static bool cull(struct kernel *kernel, const char *reason) {
  CLEANUP(mem_close_descriptor)
  int turn = places_try_turn(&kernel->keeper->places, kernel->task);
  int64_t used_at = kernel->used_at;
  if (turn < 0 || look(kernel) || kernel->used_at != used_at)
    return false;
  kernel->turn = mem_steal_descriptor(&turn);
  registry_stop(kernel, KERNEL_END_CULLED, reason);
  return true;
}

static bool may_be_culled(const struct kernel *kernel) {
  return !kernel->ended && kernel->listed && kernel->asked == KERNEL_END_NONE;
}

bool cull_make_room(struct keeper *keeper) {
  CLEANUP(mem_free_pointer)
  char *reason = mem_format("Another task needed its place: no more than %lld "
                            "kernels run at once (max_kernels).",
                            (long long)keeper->conf->max_kernels);
  int64_t before = INT64_MIN; /* those used earlier cannot be ended */
  for (;;) {
    struct kernel *oldest = NULL;
    for (struct kernel *kernel = keeper->kernels; kernel != NULL;
         kernel = kernel->next)
      if (may_be_culled(kernel) && !look(kernel) && kernel->used_at > before &&
          (oldest == NULL || kernel->used_at < oldest->used_at))
        oldest = kernel;
    if (oldest == NULL || cull(oldest, reason))
      return oldest != NULL;
    before = oldest->used_at;
  }
}

int64_t cull_turn(struct keeper *keeper) {
  double timeout = keeper->conf->idle_timeout;
  if (timeout <= 0)
    return KEEPER_NEVER;
  int64_t now = clock_monotonic_ns();
  if (now < keeper->cull_at)
    return keeper->cull_at;
  for (struct kernel *kernel = keeper->kernels; kernel != NULL;
       kernel = kernel->next)
    if (may_be_culled(kernel) && !look(kernel) &&
        (double)(clock_boot_ns() - kernel->used_at) > timeout * (double)CLOCK_S)
      cull(kernel, "");
  keeper->cull_at = now + cull_interval_ns(timeout);
  return keeper->cull_at;
}
