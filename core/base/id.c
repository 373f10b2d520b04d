#include "core/base/id.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/crypto.h"

static pthread_mutex_t sequence_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t last_millisecond;
static unsigned sequence;

/* The next (millisecond, counter) pair, strictly after the last one, also when
 * the wall clock steps back. The counter starts low enough to leave room. */
static uint64_t next_tick(unsigned *counter, unsigned seed) {
  uint64_t now = (uint64_t)(clock_wall_us() / 1000);
  pthread_mutex_lock(&sequence_lock);
  if (now > last_millisecond) {
    last_millisecond = now;
    sequence = seed & 0x3ff;
  } else if (++sequence > 0xfff) {
    last_millisecond++;
    sequence = 0;
  }
  uint64_t millisecond = last_millisecond;
  *counter = sequence;
  pthread_mutex_unlock(&sequence_lock);
  return millisecond;
}

void id_new(char id[ID_UUID_SIZE]) {
  unsigned char random[10];
  crypto_random(random, sizeof random);
  unsigned counter;
  uint64_t ms = next_tick(&counter, (unsigned)(random[8] << 8 | random[9]));
  snprintf(id, ID_UUID_SIZE,
           "%08x-%04x-7%03x-%02x%02x-%02x%02x%02x%02x%02x%02x",
           (unsigned)(ms >> 16), (unsigned)(ms & 0xffff), counter,
           (random[0] & 0x3fU) | 0x80U, random[1], random[2], random[3],
           random[4], random[5], random[6], random[7]);
}

static bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

bool id_is_uuid(const char *text) {
  for (int i = 0; i < ID_UUID_SIZE - 1; i++) {
    bool hyphen = i == 8 || i == 13 || i == 18 || i == 23;
    if (hyphen ? text[i] != '-' : !is_hex(text[i]))
      return false;
  }
  return text[ID_UUID_SIZE - 1] == '\0';
}

static bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
         (c >= 'A' && c <= 'Z');
}

bool id_is_task(const char *text) {
  size_t length = strlen(text);
  if (length == 0 || length >= ID_TASK_SIZE || !is_alphanumeric(text[0]))
    return false;
  for (size_t i = 1; i < length; i++)
    if (!is_alphanumeric(text[i]) && strchr("._-", text[i]) == NULL)
      return false;
  return strstr(text, "..") == NULL;
}

void id_random_hex(char *hex, unsigned bytes) {
  unsigned char random[64];
  if (bytes > sizeof random)
    bytes = sizeof random;
  crypto_random(random, bytes);
  for (unsigned i = 0; i < bytes; i++)
    snprintf(hex + (size_t)i * 2, 3, "%02x", random[i]);
}
