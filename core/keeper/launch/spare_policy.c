#include "core/keeper/launch/spare_policy.h"

static int64_t pause_after(unsigned failures) {
  int64_t pause = SPARE_PAUSE_NS;
  while (failures-- > 0 && pause < SPARE_PAUSE_MOST_NS)
    pause *= 2;
  return pause < SPARE_PAUSE_MOST_NS ? pause : SPARE_PAUSE_MOST_NS;
}

int64_t spare_policy_due(const struct spare_view *view) {
  if (view->starting > 0 || view->room <= 0 || view->ready >= view->wanted)
    return INT64_MAX;
  int64_t due = 0;
  if (view->started_at != 0)
    due = view->started_at + pause_after(view->failures);
  int64_t respectful =
      view->taken_at == 0 ? 0 : view->taken_at + SPARE_RESPECT_NS;
  return due > respectful ? due : respectful;
}

bool spare_policy_is_old(int64_t ready_at, int64_t now, double most_seconds) {
  return most_seconds > 0 && (double)(now - ready_at) / 1e9 >= most_seconds;
}
