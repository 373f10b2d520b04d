/* Sees to it that a kernel makes nothing in its directory but its sockets: once
 * they are there, the directory is read-only for it. */
#ifndef CELLPOST_KEEPER_KERNELS_SOCKETS_H
#define CELLPOST_KEEPER_KERNELS_SOCKETS_H

#include "core/keeper/kernels/registry.h"

/* Watches directories (inotify(7)). Without that, or without a jail, nothing is
 * done. */
void sockets_open(struct keeper *keeper);
void sockets_close(struct keeper *keeper);

/* A kernel that was started, or adopted. */
void sockets_await(struct kernel *kernel);

#endif
