/* Processes of a kernel whose shim has ended. */
#ifndef CELLPOST_PROCESS_STRAYS_H
#define CELLPOST_PROCESS_STRAYS_H

/* Kills every process whose environment names the kernel's directory, which
 * carries the kernel's id (environment.h puts it there, and children inherit
 * it), until none is left or a quarter of a second has passed. Returns how many
 * are left. */
int strays_kill(const char *kernel_directory);

#endif
