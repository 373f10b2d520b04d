#include "core/keeper/warm_report.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"
#include "core/base/layout.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/keeper/zygote/spare.h"
#include "core/keeper/zygote/zygote_private.h"

static struct json *describe(const struct zygote *zygote) {
  static const char *const states[] = {[ZYGOTE_REFUSED] = "refused",
                                       [ZYGOTE_STARTING] = "starting",
                                       [ZYGOTE_READY] = "ready",
                                       [ZYGOTE_FAILED] = "failed"};
  struct json *object = json_object();
  json_set_text(object, "kernelspec", zygote->name);
  json_set_text(object, "state", states[zygote->state]);
  json_set_text(object, "note", zygote->note == NULL ? "" : zygote->note);
  return object;
}

static struct json *describe_spares(const struct keeper *keeper) {
  struct json *object = json_object();
  json_set_integer(object, "wanted",
                   keeper->conf->warm ? keeper->conf->spares : 0);
  json_set_integer(object, "ready", (int64_t)spare_ready_count(keeper));
  return object;
}

static struct json *report(const struct keeper *keeper) {
  struct json *object = json_object(), *zygotes = json_array();
  for (const struct zygote *zygote = keeper->zygotes; zygote != NULL;
       zygote = zygote->next)
    if (zygote->state != ZYGOTE_LEAVING)
      json_push(zygotes, describe(zygote));
  json_set_boolean(object, "enabled", keeper->conf->warm);
  json_set_text(object, "preload", keeper->conf->preload);
  json_set(object, "spares", describe_spares(keeper));
  json_set(object, "zygotes", zygotes);
  return object;
}

void warm_report_turn(struct keeper *keeper) {
  CLEANUP(json_done) struct json *object = report(keeper);
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_SMALL);
  if (json_write(object, &text) != 0 || buf_byte(&text, '\n') != 0)
    return;
  if (keeper->warm_told != NULL &&
      strcmp(keeper->warm_told, buf_string(&text)) == 0)
    return;
  struct iovec part = {text.data, text.length};
  struct err err;
  if (fs_write_atomic(keeper->places.run_fd, LAYOUT_WARM_REPORT, 0644, &part, 1,
                      FS_SYNC_NONE, &err) < 0)
    log_warning("how kernels start cannot be told: %s", err.text);
  free(keeper->warm_told);
  keeper->warm_told = buf_take(&text);
}
