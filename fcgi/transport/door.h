/* The one door to libfcgi: an exchange with the web server, over FastCGI or,
 * for one request, over plain CGI.
 *
 * An exchange belongs to one thread at a time. What is written goes out in the
 * form of a CGI response ("Status: 200 OK", headers, an empty line, the body;
 * RFC 3875, section 6.2), which is the same in both protocols. */
#ifndef CELLPOST_FCGI_TRANSPORT_DOOR_H
#define CELLPOST_FCGI_TRANSPORT_DOOR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct door;

/* Sets the library up. Before threads, and before the mask of signals is set:
 * it takes SIGPIPE, SIGTERM and SIGUSR1 over; writing to a peer that is gone
 * is an error afterwards, not a signal. -1: it cannot be set up. */
int door_init(void);

/* True when the process was started by a web server for one request: standard
 * input is no listening socket and GATEWAY_INTERFACE is set (RFC 3875). */
bool door_is_cgi(void);

/* An exchange fed from a listening socket, or from this process's environment,
 * standard input and standard output. */
struct door *door_open(int listener);
struct door *door_open_cgi(void);
void door_close(struct door *door);

/* Waits for the next request and reads its parameters; an earlier one is
 * finished first. 0; -EINVAL after shutdown(2) of the listener; another
 * negative errno (EMFILE …) that passes. Not for CGI. */
int door_accept(struct door *door);

/* A parameter (REQUEST_METHOD, HTTP_HOST …), or NULL. Valid until
 * door_finish. */
const char *door_param(const struct door *door, const char *name);

/* Reads up to `size` bytes of the body; fewer than asked for only when it has
 * ended or the peer failed. */
size_t door_read(struct door *door, void *bytes, size_t size);

/* Writes, buffered. -1 once the peer is gone or has taken nothing for
 * DOOR_TIMEOUT; every later call then returns -1 at once. */
#define DOOR_TIMEOUT 60 /* seconds */
int door_write(struct door *door, const void *bytes, size_t size);
int door_flush(struct door *door);

/* The connection, for poll(2) alone: POLLRDHUP once the web server has closed
 * its end, which it does when the client is gone (ngx_http_fastcgi_module,
 * fastcgi_ignore_client_abort off). -1: plain CGI, or the exchange is finished.
 */
int door_connection(const struct door *door);

/* Takes the connection out of the library's hands, with what was written so far
 * on its way: the rest of the response is the caller's matter, in FastCGI
 * records for request *request. Returns the socket, which is the caller's; the
 * exchange is finished. -1: the peer is gone, or it is plain CGI. */
int door_detach(struct door *door, int *request);

/* Closes the connection in the middle of a response: the peer sees it broken.
 */
void door_break_off(struct door *door);

/* Ends the response: the peer sees it complete. The parameters are gone. */
void door_finish(struct door *door);

#endif
