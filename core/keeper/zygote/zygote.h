/* Zygotes: Python processes that have imported what kernels import, and of
 * which a kernel is a copy. It starts in a tenth of the time, and shares the
 * memory of the libraries with all its siblings.
 *
 * How it fits in with the shim (shim.h), which must be the kernel's parent, in
 * a pid namespace of its own, and outlive the keeper: the keeper sends the
 * whole order to the zygote (shim_order.h), with descriptors. The zygote makes
 * one process of its own likeness as its sibling (clone3(2), CLONE_PARENT, and
 * the namespaces that jail_namespaces_fork would ask for), so that it is the
 * keeper's child like any other shim. That process is the shim: it runs the
 * same code as every other (zygote_fork.h) and never returns into Python. It
 * forks the kernel, by fork(3), which the libraries have prepared themselves
 * for; the kernel enters its jail by the same code and then goes on in Python,
 * where other kernels would run their program. So zygote and keeper may die at
 * any time, and nothing but the way into Python is different in a kernel that
 * was forked.
 *
 * Kernels of one zygote share the layout of their address space and the seed of
 * Python's string hashes. A task that must not (setting "strict") starts by
 * execve(2), as do other programs than Python's ipykernel, virtual
 * environments, and environments with variables that are read when a program
 * starts.
 *
 * Since the copies of a root keeper's zygote begin as root, only interpreters
 * that nobody but root (and the keeper's user) can change get one. */
#ifndef CELLPOST_KEEPER_ZYGOTE_ZYGOTE_H
#define CELLPOST_KEEPER_ZYGOTE_ZYGOTE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/json/json.h"
#include "core/jupyter/kernelspec.h"
#include "core/keeper/kernels/keeper.h"
#include "core/keeper/shim/shim.h"

struct zygote;

/* The zygote for kernels of this kind, or NULL: then a kernel starts by
 * execve(2). One that is missing is started, one whose packages or program have
 * changed is replaced, both in the background. `environment` is the kernel's.
 */
struct zygote *zygote_find(struct keeper *keeper, const struct kernelspec *spec,
                           char *const *environment);

/* Zygotes are numbered: a later one has other packages. */
int64_t zygote_number(const struct zygote *zygote);
/* True when that one is still in use and up to date. */
bool zygote_is_current(const struct keeper *keeper, int64_t number);

/* As shim_start, for an order that is in_place. On failure nothing is left, and
 * the kernel may be started by execve(2). */
int zygote_start(struct zygote *zygote, const struct shim_order *order,
                 struct shim_process *ret, struct err *err);

/* [{"kernelspec", "state", "note"}, …] for control_report.h; the caller's. */
struct json *zygote_describe(const struct keeper *keeper);

/* Starts again what has failed, ends what hangs; when to be called next. */
int64_t zygote_turn(struct keeper *keeper);

/* Ends all; kernels go on. */
void zygote_close(struct keeper *keeper);

/* Pure. True for a kernelspec that runs ipykernel in a plain interpreter:
 * "PROGRAM [-Xfrozen_modules=off] -m ipykernel_launcher …". */
bool zygote_suits(char *const *argv);

/* Pure. True when what is read as a program starts, or as one of the preloaded
 * libraries is imported, is the same in both environments. */
bool zygote_agrees(char *const *one, char *const *other, const char *preload);

/* Pure. How long a zygote that has failed so often in a row is left alone. */
int64_t zygote_pause_ns(unsigned failures);

#endif
