/* Spare kernels: copies of the default kernelspec's zygote that are jailed and
 * ready before a task asks for them.
 *
 * A spare is a kernel like any other, only that it belongs to no task yet: the
 * registry watches it as a stray, it has no row, and its workspace is
 * <state>/spares/<id>. A new task that wants nothing special takes one: the
 * spare is asked whether it is still there, its workspace is renamed to be the
 * task's files (it stays mounted in the jail, and the kernel's working
 * directory), and it gets its row. It is the task's from then on; none is ever
 * given back. A task whose files are not empty cannot take one.
 *
 * Spares count towards max_kernels, and give way to kernels that tasks need.
 *
 * The attendance: until it is taken a spare holds one end of a pair of sockets
 * (SOCK_SEQPACKET). It says "ready" once its event loop turns; it is asked with
 * "take", followed by variables of the environment that change, each as NUL and
 * NAME=value; it answers "here". When the other end closes, its
 * workspace is in its place, and it closes its own. Nobody's code has run
 * in it before. */
#ifndef CELLPOST_KEEPER_LAUNCH_SPARE_H
#define CELLPOST_KEEPER_LAUNCH_SPARE_H

#include <stdbool.h>

#include "core/keeper/kernels/keeper.h"
#include "core/store/task.h"

struct kernel;

/* Clears away what an earlier keeper left. */
int spare_open(struct keeper *keeper, struct err *err);
/* Ends all of them. */
void spare_close(struct keeper *keeper);

/* A ready kernel for the task, with its row written; or NULL: there is none
 * that it could take. */
struct kernel *spare_take(struct keeper *keeper,
                          const struct task_record *task);

size_t spare_count(const struct keeper *keeper);
size_t spare_ready_count(const struct keeper *keeper);

/* Ends one, if there is any: a task needs the room. */
void spare_give_way(struct keeper *keeper);

/* Makes and ends spares as they are due; when to be called next. */
int64_t spare_turn(struct keeper *keeper);

#endif
