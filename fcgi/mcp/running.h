/* The runs that MCP clients of this process wait for, so that
 * `notifications/cancelled` finds them: by the client's session and by the id
 * that it gave its request. */
#ifndef CELLPOST_FCGI_MCP_RUNNING_H
#define CELLPOST_FCGI_MCP_RUNNING_H

#include <stdbool.h>

#include "core/base/id.h"
#include "core/json/json.h"

/* One run; lives with the request that waits for it. */
struct running {
  const char *session;
  const struct json *request; /* its JSON-RPC id */
  const char *run;
  struct running *next;
};

void running_add(struct running *running);
void running_remove(const struct running *running);

/* The run of the session's request. False: none is waited for. */
bool running_find(const char *session, const struct json *request,
                  char run[ID_UUID_SIZE]);

#endif
