/* Who is told of a run while it goes on. */
#ifndef CELLPOST_RUN_SINK_H
#define CELLPOST_RUN_SINK_H

#include "core/json/json.h"

struct sink {
  void *context;
  /* On the run's own thread. type: "run" ({run, task, status}), then the IOPub
   * types "stream", "display_data", "execute_result", "update_display_data",
   * "clear_output", "error" with their content as the kernel sent it, or
   * "keepalive" (content NULL) at least every 15 s of silence. */
  void (*event)(void *context, const char *type, const struct json *content);
};

#endif
