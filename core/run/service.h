/* The engine's life: from an opened registry to the last run. */
#ifndef CELLPOST_RUN_SERVICE_H
#define CELLPOST_RUN_SERVICE_H

#include "core/run/engine/engine.h"

/* Opens the engine and makes up for what dead processes left undone
 * (recover.h). Before any thread. `conf` is borrowed. */
int service_open(const struct conf *conf, struct engine **ret, struct err *err);

/* Starts the engine's own threads. After fork, before requests. */
int service_start(struct engine *engine, struct err *err);

/* Ends the threads and releases everything; kernels stay. Nothing is released
 * while runs are still under way: then the process ends without tidying up,
 * which it may do at any time. */
void service_close(struct engine *engine);

#endif
