/* What people and agents do to a task beside running cells. */
#ifndef CELLPOST_RUN_ADMIN_ADMIN_H
#define CELLPOST_RUN_ADMIN_ADMIN_H

#include <stdbool.h>

#include "core/access/rights.h"
#include "core/base/err.h"
#include "core/json/json.h"
#include "core/run/engine/engine.h"

/* PUT: makes the task with its directories. settings: object of {kernelspec,
 * env, init_code, …} already checked by the caller. Returns 1 when it was made,
 * 0 when it was there with the same settings, or with another init_code, which
 * is taken for kernels to come. ERR_CONFLICT, ERR_FIELD (no such kernelspec).
 * *ret: the task as admin_describe_task gives it, with "notes": what is to be
 * said of it. */
int admin_put_task(struct engine *engine, const char *task,
                   const struct json *settings, const char *by,
                   struct json **ret, struct err *err);

/* {"task", "kernelspec", "settings", "created", "runs", "failures", "last_run",
 * "last_status", "queue", "kernel": {id, generation, state: alive|none|dead,
 * started, reason, memory_bytes: resident now …} | null, "notebook", "files"}.
 */
int admin_describe_task(struct engine *engine, const char *task,
                        struct json **ret, struct err *err);

/* {"tasks": […], "next": id|null}: those within the rights (NULL: all). */
int admin_list_tasks(struct engine *engine, const struct rights *rights,
                     const char *after, int limit, struct json **ret,
                     struct err *err);

/* Stops the kernel, cancels what is queued, marks the task deleted; with purge
 * its directory goes too. *ret: {"task", "deleted": true, "purged": bool}. */
int admin_delete_task(struct engine *engine, const char *task, bool purge,
                      const char *by, struct json **ret, struct err *err);

/* Interrupts the running cell if there is one. *ret: {"task", "interrupted":
 * run id|null, "kernel": …}. ERR_CONFLICT when the task has no live kernel. */
int admin_interrupt_task(struct engine *engine, const char *task,
                         const char *by, struct json **ret, struct err *err);

/* A new kernel: the running cell ends (kernel_died, reason restarted), queued
 * ones run in the new one. *ret: {"task", "kernel": {…}}. */
int admin_restart_task(struct engine *engine, const char *task, const char *by,
                       struct json **ret, struct err *err);

/* The same, and the cells that had gone well are run again in it (replay.h),
 * before any other; waits for that. *ret also has "replay". ERR_BUSY (queue
 * full): nothing was restarted. */
int admin_replay_task(struct engine *engine, const char *task, const char *by,
                      struct json **ret, struct err *err);

/* {"kernelspecs": [{name, display_name, language, default: bool}]} */
int admin_list_kernelspecs(struct engine *engine, struct json **ret,
                           struct err *err);

#endif
