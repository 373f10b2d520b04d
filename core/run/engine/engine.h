/* What one app process holds while it serves: configuration, store, open
 * channels, queues. Nothing here is truth: the process may be killed at any
 * moment and started again, or run twice beside itself. service.h opens and
 * closes it. */
#ifndef CELLPOST_RUN_ENGINE_ENGINE_H
#define CELLPOST_RUN_ENGINE_ENGINE_H

#include <stdbool.h>

#include "core/base/err.h"
#include "core/conf/conf.h"
#include "core/json/json.h"
#include "core/store/store.h"

struct engine;

/* Opens the registry and makes the ZeroMQ context. `conf` is borrowed. */
int engine_open(const struct conf *conf, struct engine **ret, struct err *err);

/* Releases everything; no run is under way and nobody else uses it. */
void engine_close(struct engine *engine);

struct store *engine_store(struct engine *engine);
const struct conf *engine_conf(const struct engine *engine);
/* Descriptor of <state>/tasks, borrowed. */
int engine_tasks_directory(const struct engine *engine);

/* True when a keeper answers and the database can be written; else *err tells
 * what is wrong. For /readyz. */
bool engine_is_ready(struct engine *engine, struct err *err);

#endif
