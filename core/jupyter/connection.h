/* The connection file: how a client finds a kernel's sockets
 * (jupyter_client, docs/kernels.rst, "Connection files"). */
#ifndef CELLPOST_JUPYTER_CONNECTION_H
#define CELLPOST_JUPYTER_CONNECTION_H

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/jupyter/wire.h"

enum channel_name {
  CHANNEL_SHELL,
  CHANNEL_IOPUB,
  CHANNEL_STDIN,
  CHANNEL_CONTROL,
  CHANNEL_HEARTBEAT, /* bound by the kernel; we never connect to it */
  CHANNEL_COUNT,
};

struct connection {
  char endpoints[CHANNEL_COUNT][128]; /* "ipc:///run/…/ipc-1", "tcp://…" */
  struct wire_key key;
  char kernel_name[128];
};

/* Writes the text of a connection file for ipc sockets `<directory>/ipc-1` …
 * `-5` and a fresh random key. ERR_INVALID when a socket path would pass 107
 * bytes (unix(7)). */
int connection_compose(const char *directory, const char *kernel_name,
                       struct buf *out, struct err *err);

/* Reads one. Refuses a signature scheme other than hmac-sha256 and transports
 * other than ipc and tcp. ERR_INVALID. */
int connection_parse(const char *text, size_t length, struct connection *ret,
                     struct err *err);

#endif
