#include "core/keeper/warm_report.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/layout.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/control/control_report.h"
#include "core/keeper/launch/spare.h"
#include "core/keeper/zygote/zygote.h"

static struct json *describe(const struct keeper *keeper) {
  struct json *report = json_object(), *spares = json_object();
  json_set_integer(spares, "wanted",
                   keeper->conf->warm ? keeper->conf->spares : 0);
  json_set_integer(spares, "ready", (int64_t)spare_ready_count(keeper));
  json_set_boolean(report, "enabled", keeper->conf->warm);
  json_set_text(report, "preload", keeper->conf->preload);
  json_set(report, "spares", spares);
  json_set(report, "zygotes", zygote_describe(keeper));
  return report;
}

void warm_report_turn(struct keeper *keeper) {
  CLEANUP(json_done) struct json *report = describe(keeper);
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_SMALL);
  if (json_write(report, &text) < 0)
    return;
  if (keeper->warm_told != NULL &&
      strcmp(keeper->warm_told, buf_string(&text)) == 0)
    return;
  struct err err;
  if (control_report_write(keeper->places.run_fd, LAYOUT_WARM_REPORT, report,
                           &err) < 0)
    log_warning("how kernels start cannot be told: %s", err.text);
  free(keeper->warm_told);
  keeper->warm_told = buf_take(&text);
}
