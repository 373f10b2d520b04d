/* The socket that the web server connects to.
 *
 * Made by ourselves, because FCGX_OpenSocket removes whatever stands at the
 * path, ends the process on failure and sets no CLOEXEC; or inherited: from a
 * service manager (LISTEN_FDS, sd_listen_fds(3)) or as standard input
 * (spawn-fcgi). */
#ifndef CELLPOST_FCGI_TRANSPORT_LISTENER_H
#define CELLPOST_FCGI_TRANSPORT_LISTENER_H

#include <stdbool.h>
#include <sys/types.h>

#include "core/base/err.h"

#define LISTENER_BACKLOG 4096

struct listener {
  int descriptor;
  bool inherited; /* others may listen on it, too: it is left as it is */
  char *path;     /* of our own socket; NULL when inherited */
  dev_t device;   /* of its file, so that no other one is ever removed */
  ino_t inode;
};

/* Takes an inherited socket, or makes one at `path` with mode 0660.
 * ERR_CONFLICT when another process answers there already (for 2 s on end), or
 * when what stands there is no socket; a socket without a process behind it is
 * replaced. Changes the umask for a moment: not while other threads make files.
 */
int listener_open(const char *path, struct listener *ret, struct err *err);

/* Removes the name and wakes every thread that waits in accept: connections
 * that had been made are still handed out, then accept fails with EINVAL.
 * Nothing happens to an inherited socket. */
void listener_stop(struct listener *listener);

void listener_close(struct listener *listener);

#endif
