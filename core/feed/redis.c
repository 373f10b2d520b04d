#include "core/feed/redis.h"

#ifdef CELLPOST_REDIS

#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "core/base/mem.h"

struct redis {
  redisContext *context;
  size_t waiting; /* commands without an answer yet */
};

bool redis_is_built(void) { return true; }

static const struct timeval patience = {.tv_sec = REDIS_PATIENCE_MS / 1000,
                                        .tv_usec =
                                            REDIS_PATIENCE_MS % 1000 * 1000};

/* "[::1]:6379" and "localhost:6379" to host and port; NULL: it is neither. */
static char *split(const char *address, int *port) {
  const char *colon = strrchr(address, ':');
  if (colon == NULL || colon == address)
    return NULL;
  const char *digits = colon + 1;
  size_t count = strspn(digits, "0123456789");
  *port = count == 0 || count > 5 || digits[count] != '\0' ? 0 : atoi(digits);
  if (*port < 1 || *port > 65535)
    return NULL;
  bool bracketed = address[0] == '[' && colon[-1] == ']';
  return bracketed ? mem_copy_bytes(address + 1, (size_t)(colon - address) - 2)
                   : mem_copy_bytes(address, (size_t)(colon - address));
}

bool redis_is_address(const char *address) {
  int port;
  CLEANUP(mem_free_pointer) char *host = split(address, &port);
  return address[0] == '/' || host != NULL;
}

static redisContext *connect_to(const char *address) {
  if (address[0] == '/')
    return redisConnectUnixWithTimeout(address, patience);
  int port = 0;
  CLEANUP(mem_free_pointer) char *host = split(address, &port);
  return host == NULL ? NULL : redisConnectWithTimeout(host, port, patience);
}

static int fail(const struct redis *redis, struct err *err) {
  return err_set(err, ERR_UNAVAILABLE, "Redis: %s", redis->context->errstr);
}

/* The answer to the oldest command. */
static int read_answer(struct redis *redis, struct err *err) {
  void *answer = NULL;
  redis->waiting--;
  if (redisGetReply(redis->context, &answer) != REDIS_OK)
    return fail(redis, err);
  const redisReply *reply = answer;
  int result = reply->type != REDIS_REPLY_ERROR
                   ? 0
                   : err_set(err, ERR_DENIED, "Redis: %.300s", reply->str);
  freeReplyObject(answer);
  return result;
}

static void queue(struct redis *redis, size_t count, const char **words,
                  const size_t *lengths) {
  redisAppendCommandArgv(redis->context, (int)count, words, lengths);
  redis->waiting++;
}

int redis_flush(struct redis *redis, struct err *err) {
  while (redis->waiting != 0)
    if (read_answer(redis, err) < 0)
      return -1;
  return 0;
}

static int greet(struct redis *redis, const char *password, struct err *err) {
  if (redisSetTimeout(redis->context, patience) != REDIS_OK)
    return fail(redis, err);
  if (password != NULL && *password != '\0')
    queue(redis, 2, (const char *[]){"AUTH", password},
          (const size_t[]){4, strlen(password)});
  queue(redis, 1, (const char *[]){"PING"}, (const size_t[]){4});
  return redis_flush(redis, err);
}

int redis_open(const char *address, const char *password, struct redis **ret,
               struct err *err) {
  redisContext *context = connect_to(address);
  if (context == NULL)
    return err_set(err, ERR_INVALID, "\"%.200s\" is no address", address);
  struct redis *redis = mem_new(sizeof *redis);
  redis->context = context;
  int result =
      context->err != 0 ? fail(redis, err) : greet(redis, password, err);
  if (result == 0)
    *ret = redis;
  else
    redis_close(redis);
  return result;
}

void redis_close(struct redis *redis) {
  if (redis == NULL)
    return;
  redisFree(redis->context);
  free(redis);
}

void redis_publish(struct redis *redis, const char *channel,
                   const char *message, size_t length) {
  queue(redis, 3, (const char *[]){"PUBLISH", channel, message},
        (const size_t[]){7, strlen(channel), length});
}

#else

bool redis_is_built(void) { return false; }

bool redis_is_address(const char *address) {
  (void)address;
  return false;
}

int redis_open(const char *address, const char *password, struct redis **ret,
               struct err *err) {
  (void)address;
  (void)password;
  (void)ret;
  return err_set(err, ERR_UNAVAILABLE, "this build has no Redis");
}

void redis_close(struct redis *redis) { (void)redis; }

void redis_publish(struct redis *redis, const char *channel,
                   const char *message, size_t length) {
  (void)redis;
  (void)channel;
  (void)message;
  (void)length;
}

int redis_flush(struct redis *redis, struct err *err) {
  (void)redis;
  return err_set(err, ERR_UNAVAILABLE, "this build has no Redis");
}

#endif
