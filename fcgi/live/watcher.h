/* One watcher of the live feed: a connection that was taken out of the request
 * threads' hands, with what it has still to be sent. Nothing here waits; a
 * watcher belongs to one thread at a time.
 *
 * What is sent goes out as FastCGI records (FastCGI Specification, 3.3, 5.3 and
 * 5.5), made here: libfcgi only writes and waits. */
#ifndef CELLPOST_FCGI_LIVE_WATCHER_H
#define CELLPOST_FCGI_LIVE_WATCHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/access/rights.h"
#include "core/base/buf.h"
#include "core/base/crypto.h"
#include "core/base/id.h"
#include "core/feed/fence.h"

/* A watcher for which so many bytes wait is too slow. The piece that passes
 * this mark is still queued, whatever its size. */
#define WATCHER_QUEUE ((size_t)1 << 20)

/* Server-sent events that many watchers are sent alike; counted references, of
 * one thread. */
struct frames {
  size_t references;
  int64_t last; /* id of the last event among them; 0: none has one */
  size_t length;
  char bytes[];
};
struct frames *watcher_frames_new(const struct buf *text, int64_t last);
void watcher_frames_release(struct frames *frames);

struct watcher {
  int socket;
  int request;             /* its number in the FastCGI connection */
  char task[ID_TASK_SIZE]; /* "": all */
  int64_t position;        /* the last event that was queued or passed over */
  struct fence *fences;
  size_t fence_count;
  struct rights *rights; /* only events of tasks within them; NULL: all */
  char
      token[CRYPTO_SHA256_HEX]; /* what was shown, by its digest; "": nothing */
  int64_t asked;                /* monotonic; when it was last found good */
  /* for whoever keeps watchers */
  struct watcher *prev, *next;
  void *group;

  /* its own */
  struct frames **queue; /* a ring */
  size_t first, count, capacity;
  size_t queued;         /* bytes */
  size_t sent;           /* bytes of the first */
  int64_t sent_last;     /* id of the last event that was sent whole */
  unsigned char head[8]; /* of the record under way */
  size_t head_sent, content_left;
  bool full;     /* the socket takes nothing at present */
  bool ending;   /* nothing more will be queued */
  size_t ended;  /* bytes of the end that were sent */
  int64_t moved; /* monotonic; when it last took something */
};

/* Takes over the socket, the fences and the rights. `task` NULL: all. */
struct watcher *watcher_new(int socket, int request, const char *task,
                            int64_t position, struct fence *fences,
                            size_t fence_count, struct rights *rights);
void watcher_free(struct watcher *watcher); /* closes the connection */

/* Adds a reference of its own. False, and nothing is added: too much waits
 * already. */
bool watcher_queue(struct watcher *watcher, struct frames *frames);

/* Drops what waits, but for a piece that is half sent, and ends the response
 * with an event "gap": from there the client may go on. */
void watcher_drop(struct watcher *watcher);

/* Ends the response after what is queued. */
void watcher_end(struct watcher *watcher);

/* Sends what the socket takes now. False: the watcher is gone, or has got its
 * end. */
bool watcher_send(struct watcher *watcher, int64_t now);

/* True while the peer has not taken all that the socket has. */
bool watcher_is_unread(const struct watcher *watcher);

/* Throws away what the peer sends. False: it has closed. */
bool watcher_listen(struct watcher *watcher);

#endif
