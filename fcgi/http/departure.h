/* Clients that go away while their run goes on. One thread of the process waits
 * for the departure of all whose run is to end with it; libfcgi itself looks at
 * a connection only when it writes. */
#ifndef CELLPOST_FCGI_HTTP_DEPARTURE_H
#define CELLPOST_FCGI_HTTP_DEPARTURE_H

#include "core/base/id.h"
#include "fcgi/http/call.h"

struct departure {
  struct engine *engine;
  char run[ID_UUID_SIZE];
  char by[256]; /* in whose name the run is interrupted */
  int connection;
  struct departure *next;
};

/* From now on the run is interrupted, or cancelled while it is queued, when the
 * client of the call goes away. Without effect under plain CGI, or when no
 * thread can be had. `departure` must stay where it is until departure_done. */
void departure_watch(struct departure *departure, const struct call *call,
                     const char *run);

/* Before the call's response is finished. Safe for one that is all zero. */
void departure_done(struct departure *departure);

#endif
