#include "core/keeper/launch/start.h"

#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/keeper/launch/launch.h"
#include "core/keeper/launch/spare.h"

int start_kernel(struct keeper *keeper, const char *task_id,
                 struct kernel **ret, struct err *err) {
  CLEANUP(task_record_free) struct task_record task = {0};
  if (task_get(keeper->store, task_id, &task, err) < 0)
    return -1;
  struct kernel *spare = spare_take(keeper, &task);
  if (spare != NULL) {
    *ret = spare;
    return 0;
  }
  size_t running = registry_count(keeper) + spare_count(keeper);
  if (running >= (size_t)keeper->conf->max_kernels)
    spare_give_way(keeper);
  struct launch_order order = {.task = &task};
  struct launch_result made = {0};
  struct err fault = {0};
  int result = launch(keeper, &order, &made, &fault);
  if (result < 0 && made.forked) {
    log_warning("a kernel could not be forked: %s", fault.text);
    order.how = LAUNCH_EXECUTED;
    err_clear(&fault);
    result = launch(keeper, &order, &made, &fault);
  }
  if (result < 0) {
    err_set(err, fault.kind, "%s", fault.text);
    return err_wrap(err, "the kernel cannot start");
  }
  *ret = made.kernel;
  return 0;
}
