/* A cache of open channels: kernel incarnation → channel.
 *
 * A channel is either in the cache (idle) or lent to exactly one user. Taking
 * it removes it; giving it back puts it in; when the cache is full the one
 * given back longest ago is closed. Thread-safe. */
#ifndef CELLPOST_JUPYTER_CHANNEL_CACHE_H
#define CELLPOST_JUPYTER_CHANNEL_CACHE_H

#include <stddef.h>

#include "core/jupyter/channel.h"
#include "core/jupyter/client.h"

/* An open channel and what is known of its kernel. */
struct cached_channel {
  char kernel_id[64];
  char task[129];
  struct channel *channel;
  struct kernel_info info;
  void *attachment; /* the user's own state, or NULL */
  void (*free_attachment)(void *);
};
void cached_channel_free(
    struct cached_channel *cached); /* closes the channel */

struct channel_cache;
struct channel_cache *channel_cache_new(size_t limit);
void channel_cache_free(struct channel_cache *cache);

/* The channel of that incarnation, or NULL. The caller owns it until it gives
 * it back or frees it. */
struct cached_channel *channel_cache_take(struct channel_cache *cache,
                                          const char *kernel_id);
/* The channel that was given back last among those of the task, or NULL. */
struct cached_channel *channel_cache_take_task(struct channel_cache *cache,
                                               const char *task);
void channel_cache_give(struct channel_cache *cache,
                        struct cached_channel *cached);

/* Whose channels are idle now: an array of *count names, freed with free(). */
struct channel_cache_name {
  char kernel_id[64];
  char task[129];
};
struct channel_cache_name *channel_cache_names(struct channel_cache *cache,
                                               size_t *count);

#endif
