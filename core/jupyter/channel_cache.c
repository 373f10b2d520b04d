#include "core/jupyter/channel_cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "core/base/mem.h"

/* uthash walks its entries in the order in which they were added, which is the
 * order in which they were given back: the first one is the oldest. */
struct entry {
  struct cached_channel *cached; /* its kernel_id is the key */
  UT_hash_handle hh;
};

struct channel_cache {
  pthread_mutex_t lock;
  struct entry *entries;
  size_t limit;
};

void cached_channel_free(struct cached_channel *cached) {
  if (cached == NULL)
    return;
  if (cached->free_attachment != NULL)
    cached->free_attachment(cached->attachment);
  kernel_info_free(&cached->info);
  channel_close(cached->channel);
  free(cached);
}

struct channel_cache *channel_cache_new(size_t limit) {
  struct channel_cache *cache = mem_new(sizeof *cache);
  cache->limit = limit;
  pthread_mutex_init(&cache->lock, NULL);
  return cache;
}

/* Takes the entry out and gives the channel in it; NULL stays NULL. */
static struct cached_channel *remove_entry(struct channel_cache *cache,
                                           struct entry *entry) {
  if (entry == NULL)
    return NULL;
  struct cached_channel *cached = entry->cached;
  HASH_DEL(cache->entries, entry);
  free(entry);
  return cached;
}

static struct entry *find(struct channel_cache *cache, const char *kernel_id) {
  struct entry *entry = NULL;
  HASH_FIND_STR(cache->entries, kernel_id, entry);
  return entry;
}

void channel_cache_free(struct channel_cache *cache) {
  if (cache == NULL)
    return;
  while (cache->entries != NULL)
    cached_channel_free(remove_entry(cache, cache->entries));
  pthread_mutex_destroy(&cache->lock);
  free(cache);
}

struct cached_channel *channel_cache_take(struct channel_cache *cache,
                                          const char *kernel_id) {
  pthread_mutex_lock(&cache->lock);
  struct cached_channel *cached = remove_entry(cache, find(cache, kernel_id));
  pthread_mutex_unlock(&cache->lock);
  return cached;
}

struct cached_channel *channel_cache_take_task(struct channel_cache *cache,
                                               const char *task) {
  struct entry *newest = NULL;
  pthread_mutex_lock(&cache->lock);
  for (struct entry *entry = cache->entries; entry != NULL;
       entry = entry->hh.next)
    if (strcmp(entry->cached->task, task) == 0)
      newest = entry;
  struct cached_channel *cached = remove_entry(cache, newest);
  pthread_mutex_unlock(&cache->lock);
  return cached;
}

void channel_cache_give(struct channel_cache *cache,
                        struct cached_channel *cached) {
  struct entry *entry = mem_new(sizeof *entry);
  entry->cached = cached;
  pthread_mutex_lock(&cache->lock);
  struct cached_channel *twin =
      remove_entry(cache, find(cache, cached->kernel_id));
  HASH_ADD_KEYPTR(hh, cache->entries, cached->kernel_id,
                  strlen(cached->kernel_id), entry);
  struct cached_channel *oldest = NULL;
  if (HASH_COUNT(cache->entries) > cache->limit)
    oldest = remove_entry(cache, cache->entries);
  pthread_mutex_unlock(&cache->lock);
  /* Closing takes system calls, so it happens outside the lock. */
  cached_channel_free(twin);
  cached_channel_free(oldest);
}

struct channel_cache_name *channel_cache_names(struct channel_cache *cache,
                                               size_t *count) {
  pthread_mutex_lock(&cache->lock);
  *count = 0;
  struct channel_cache_name *names =
      mem_array(HASH_COUNT(cache->entries), sizeof *names);
  for (struct entry *entry = cache->entries; entry != NULL;
       entry = entry->hh.next) {
    struct channel_cache_name *name = &names[(*count)++];
    memcpy(name->kernel_id, entry->cached->kernel_id, sizeof name->kernel_id);
    memcpy(name->task, entry->cached->task, sizeof name->task);
  }
  pthread_mutex_unlock(&cache->lock);
  return names;
}
