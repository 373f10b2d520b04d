/* What the rooms of the cellpost-keeper program share. One thread. */
#ifndef CELLPOST_KEEPER_KERNELS_KEEPER_H
#define CELLPOST_KEEPER_KERNELS_KEEPER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/clock.h"
#include "core/conf/conf.h"
#include "core/control/control_message.h"
#include "core/jail/host/jail_host.h"
#include "core/keeper/kernels/loop.h"
#include "core/keeper/kernels/places.h"
#include "core/store/store.h"

#define KEEPER_NEVER INT64_MAX /* as a deadline */
/* How long a write waits for another's transaction; after one in vain all
 * writes pause: of the keeper's time waiting takes a sixth at most. */
#define KEEPER_PATIENCE_NS (20 * CLOCK_MS)
#define KEEPER_LOCKED_NS (100 * CLOCK_MS)
#define KEEPER_ENDED_KEPT 64 /* ended kernels whose log's end is kept */

struct kernel;     /* registry.h */
struct client;     /* server.h */
struct waiter;     /* verbs.h */
struct zygote;     /* zygote.h */
struct spare_pool; /* spare.h */

struct keeper {
  const struct conf *conf;
  struct places places;
  struct jail_host *jails;
  struct loop loop;
  struct store *store;
  int64_t locked_until;        /* the database, as far as we know (monotonic) */
  char instance[ID_UUID_SIZE]; /* our row in the table `instances` */
  int64_t instance_at;         /* when to try to write it; KEEPER_NEVER: done */

  struct kernel *kernels;
  uint64_t kernels_met; /* counts up with each that becomes a task's */
  struct control_kernel *ended[KEEPER_ENDED_KEPT]; /* a ring, newest last */
  unsigned ended_next;

  struct zygote *zygotes;
  int64_t zygotes_made; /* that became ready */
  struct spare_pool *spares;
  char *warm_told; /* warm_report.h */

  struct loop_source sockets; /* sockets.h */

  struct loop_source listener;
  struct client *clients;
  unsigned client_count;
  int spare; /* a descriptor to give up when there is no other */
  struct waiter *waiters;

  int64_t cull_at; /* when to look for idle kernels next */
  bool closing;    /* no kernel is started any more */
  bool done;       /* the loop ends */
};

#endif
