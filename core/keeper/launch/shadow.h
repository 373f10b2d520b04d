/* Modules among a task's files that come before the system's of the same name:
 * a kernel that is forked has the system's already. */
#ifndef CELLPOST_KEEPER_LAUNCH_SHADOW_H
#define CELLPOST_KEEPER_LAUNCH_SHADOW_H

#include <stdbool.h>

/* True when the task's files, which are its kernel's home and working
 * directory, hold packages of its own (pip puts them into .local/lib), or one
 * of the modules (spaces between). `files` -1: it has none. */
bool shadow_any(int files, const char *modules);

#endif
