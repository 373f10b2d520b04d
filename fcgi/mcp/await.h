/* A run that an MCP client waits for.
 *
 * The request's thread carries the run out; a thread beside it watches the
 * clock and writes: progress every five seconds where the
 * client asked for it, the result at the end, or "still running" when the end
 * takes longer than clients wait. The run then goes on, and the request's
 * thread with it. A modern client that is gone before has cancelled its run
 * (specification 2026-07-28, "Transports", "Cancellation"). */
#ifndef CELLPOST_FCGI_MCP_AWAIT_H
#define CELLPOST_FCGI_MCP_AWAIT_H

#include "core/run/run.h"
#include "fcgi/mcp/mcp.h"

/* Carries the run out and answers: at the end, or with "still running" after
 * the configured tool_wait. Nothing is left to be written. */
void await_run(struct mcp *mcp, struct accepted *accepted);

/* Waits at most so many seconds for a run that somebody else leads, and gives
 * its state then: as history_describe_run. */
int await_end(struct engine *engine, const char *run, double seconds,
              struct json **ret, struct err *err);

#endif
