#include "core/feed/publisher.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/layout.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/worker.h"
#include "core/feed/channel_name.h"
#include "core/feed/event_frame.h"
#include "core/feed/redis.h"
#include "core/store/event.h"

#define ROUND (20 * CLOCK_MS)
/* How often those who do not publish see whether they must. */
#define STAND_BY (1 * CLOCK_S)
#define RETRY_FIRST (500 * CLOCK_MS)
#define RETRY_LAST (10 * CLOCK_S)
#define EVENTS_AT_ONCE 100
#define POSITION_SIZE 24

struct publisher {
  const struct conf *conf;
  struct store *store;
  char *password;
  struct worker worker;

  /* the thread's own */
  int lock; /* descriptor; -1: not opened */
  bool leads;
  int64_t position; /* the last event that was published */
  struct redis *redis;
  int64_t retry_pause;
  bool complained;
};

static void read_position(struct publisher *publisher) {
  char text[POSITION_SIZE + 1] = "";
  int64_t oldest = 0, newest = 0;
  struct err err = {0};
  if (event_bounds(publisher->store, &oldest, &newest, &err) < 0)
    log_error("publishing begins with what is old: %s", err.text);
  ssize_t got = pread(publisher->lock, text, POSITION_SIZE, 0);
  int64_t noted = got > 0 ? strtoll(text, NULL, 10) : 0;
  publisher->position = noted > 0 && noted <= newest ? noted : newest;
}

static void note_position(struct publisher *publisher) {
  char text[POSITION_SIZE + 1];
  int length = snprintf(text, sizeof text, "%-*lld\n", POSITION_SIZE - 1,
                        (long long)publisher->position);
  struct err err = {0};
  if (fs_pwrite_all(publisher->lock, text, (size_t)length, 0, &err) < 0)
    log_error(LAYOUT_PUBLISHER_LOCK ": %s", err.text);
}

/* True when this is the process that publishes. */
static bool lead(struct publisher *publisher) {
  if (publisher->leads)
    return true;
  if (publisher->lock < 0) {
    CLEANUP(mem_free_pointer)
    char *path =
        mem_format("%s/" LAYOUT_PUBLISHER_LOCK, publisher->conf->run_directory);
    publisher->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0640);
  }
  if (publisher->lock < 0 || flock(publisher->lock, LOCK_EX | LOCK_NB) != 0)
    return false;
  publisher->leads = true;
  read_position(publisher);
  note_position(publisher);
  return true;
}

static void part(struct publisher *publisher, const struct err *why) {
  redis_close(publisher->redis);
  publisher->redis = NULL;
  if (!publisher->complained)
    log_warning("events are not published now, they wait in the log: %s",
                why->text);
  publisher->complained = true;
  int64_t pause = 2 * publisher->retry_pause;
  publisher->retry_pause = pause < RETRY_LAST ? pause : RETRY_LAST;
}

/* After a long absence of Redis not all is told. */
static void skip(struct publisher *publisher) {
  int64_t oldest, newest;
  if (event_bounds(publisher->store, &oldest, &newest, NULL) < 0 ||
      newest - publisher->position <= PUBLISHER_BEHIND)
    return;
  int64_t from = newest - PUBLISHER_BEHIND;
  log_warning("%lld events are not published: they are too many",
              (long long)(from - publisher->position));
  publisher->position = from;
}

static int have_redis(struct publisher *publisher, struct err *err) {
  if (publisher->redis != NULL)
    return 0;
  if (redis_open(publisher->conf->redis_address, publisher->password,
                 &publisher->redis, err) < 0)
    return -1;
  log_info("events are published to Redis at %s",
           publisher->conf->redis_address);
  publisher->complained = false;
  publisher->retry_pause = RETRY_FIRST;
  skip(publisher);
  return 0;
}

static int publish(struct publisher *publisher, const struct event_text *event,
                   struct err *err) {
  CLEANUP(buf_free) struct buf channel = BUF_INIT(BUF_SMALL);
  CLEANUP(buf_free) struct buf message = BUF_INIT(BUF_ANSWER);
  if (channel_name(publisher->conf->redis_channel, event, &channel, err) < 0)
    return -1;
  if (event_frame_object(event, &message) < 0)
    return err_set(err, ERR_TOO_LARGE, "event %lld is too long",
                   (long long)event->id);
  redis_publish(publisher->redis, buf_string(&channel), buf_string(&message),
                message.length);
  return 0;
}

/* How many; -1: not all. */
static int publish_some(struct publisher *publisher, struct err *err) {
  struct event_text *events = NULL;
  size_t count = 0;
  if (have_redis(publisher, err) < 0 ||
      event_list_texts(publisher->store, NULL, publisher->position, INT64_MAX,
                       EVENTS_AT_ONCE, &events, &count, err) < 0)
    return -1;
  int result = 0;
  for (size_t i = 0; i < count && result == 0; i++)
    result = publish(publisher, &events[i], err);
  if (result == 0)
    result = redis_flush(publisher->redis, err);
  if (result == 0 && count != 0) {
    publisher->position = events[count - 1].id;
    note_position(publisher);
  }
  event_texts_free(events, count);
  return result == 0 ? (int)count : -1;
}

static int64_t complete_round(struct publisher *publisher) {
  struct err err = {0};
  if (!lead(publisher))
    return STAND_BY;
  int count = publish_some(publisher, &err);
  if (count >= 0)
    return count == EVENTS_AT_ONCE ? 0 : ROUND;
  part(publisher, &err);
  return publisher->retry_pause;
}

static void *run(void *argument) {
  struct publisher *publisher = argument;
  while (worker_wait(&publisher->worker, complete_round(publisher)))
    continue;
  return NULL;
}

static int read_password(struct publisher *publisher, struct err *err) {
  const char *path = publisher->conf->redis_password_file;
  if (*path == '\0')
    return 0;
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_LINE);
  CLEANUP(mem_close_descriptor) int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return err_errno(err, ERR_IO, errno, "redis_password_file %.500s", path);
  if (fs_read_all(file, &text, err) < 0)
    return err_wrap(err, "redis_password_file %.500s", path);
  size_t length = strcspn(buf_string(&text), "\r\n");
  publisher->password = mem_copy_bytes(buf_string(&text), length);
  return 0;
}

static int check(struct publisher *publisher, struct err *err) {
  if (!redis_is_built())
    return err_set(err, ERR_UNAVAILABLE,
                   "redis_address is set, but this build has no Redis");
  if (!redis_is_address(publisher->conf->redis_address))
    return err_set(err, ERR_INVALID,
                   "redis_address: \"%.200s\" is no address; wanted is "
                   "HOST:PORT, the path of a socket, or off",
                   publisher->conf->redis_address);
  CLEANUP(buf_free) struct buf channel = BUF_INIT(BUF_SMALL);
  struct event_text event = {0};
  if (channel_name(publisher->conf->redis_channel, &event, &channel, err) < 0)
    return err_wrap(err, "redis_channel");
  return read_password(publisher, err);
}

static void release(struct publisher *publisher) {
  redis_close(publisher->redis);
  mem_close_descriptor(&publisher->lock);
  free(publisher->password);
  free(publisher);
}

int publisher_start(const struct conf *conf, struct store *store,
                    struct publisher **ret, struct err *err) {
  *ret = NULL;
  if (strcmp(conf->redis_address, "off") == 0)
    return 0;
  struct publisher *publisher = mem_new(sizeof *publisher);
  publisher->conf = conf;
  publisher->store = store;
  publisher->lock = -1;
  publisher->retry_pause = RETRY_FIRST;
  if (check(publisher, err) < 0 ||
      worker_start(&publisher->worker, run, publisher, "the publisher's thread",
                   err) < 0) {
    release(publisher);
    return -1;
  }
  *ret = publisher;
  return 0;
}

void publisher_stop(struct publisher *publisher) {
  if (publisher == NULL)
    return;
  worker_stop(&publisher->worker);
  release(publisher);
}
