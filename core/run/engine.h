/* What one app process holds while it serves: configuration, store, channel
 * cache, turns. Nothing here is truth: the process may be killed at any moment
 * and started again, or run twice beside itself. */
#ifndef CELLPOST_RUN_ENGINE_H
#define CELLPOST_RUN_ENGINE_H

#include <stdbool.h>

#include "core/base/err.h"
#include "core/conf/conf.h"
#include "core/json/json.h"
#include "core/store/store.h"

struct engine;

/* Opens the registry, closes as lost the runs that dead processes left open,
 * makes the ZeroMQ context. Before any thread. `conf` is borrowed. */
int engine_open(const struct conf *conf, struct engine **ret, struct err *err);

/* Starts the janitor thread. After fork, before requests. */
int engine_start(struct engine *engine, struct err *err);

/* Ends the janitor, waits for runs that were answered already and still go on
 * (wait = false) at most `seconds`, releases everything. Kernels stay. */
void engine_close(struct engine *engine, double seconds);

struct store *engine_store(struct engine *engine);
const struct conf *engine_conf(const struct engine *engine);
/* Descriptor of <state>/tasks, borrowed. */
int engine_tasks_directory(const struct engine *engine);

/* True when a keeper answers and the database can be written; else *err tells
 * what is wrong. For /readyz. */
bool engine_is_ready(struct engine *engine, struct err *err);

#endif
