#include "fcgi/http/allowance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/json/json.h"

#define KERNEL_WAIT_S 5
#define RUN_WAIT_S 1
#define FAILURES_A_MINUTE 20
#define ADDRESSES_MOST 4096 /* then all are forgotten: memory has an end */

/* Of a token, or of an address that failed. */
struct allowance_entry {
  char key[80];
  int64_t runs;
  struct quota_rate rate;
  struct json *tasks; /* an array: of the runs that go on */
  UT_hash_handle hh;
};

void allowance_open(struct allowances *allowances) {
  pthread_mutex_init(&allowances->mutex, NULL);
  allowances->entries = NULL;
}

static struct allowance_entry *entry_of(struct allowances *allowances,
                                        const char *key) {
  struct allowance_entry *entry = NULL;
  HASH_FIND_STR(allowances->entries, key, entry);
  if (entry != NULL)
    return entry;
  entry = mem_new(sizeof *entry);
  snprintf(entry->key, sizeof entry->key, "%s", key);
  entry->tasks = json_array();
  HASH_ADD_STR(allowances->entries, key, entry);
  return entry;
}

static void token_key(const struct caller *caller, char key[80]) {
  snprintf(key, 80, "token %lld", (long long)caller->token.id);
}

static int64_t seconds_of(int64_t ns) { return ns / CLOCK_S + 1; }

static size_t place_of(const struct json *tasks, const char *task) {
  size_t at = 0;
  while (at < json_length(tasks) &&
         strcmp(json_text(json_at(tasks, at)), task) != 0)
    at++;
  return at;
}

/* Tasks in which runs go on have a kernel, or will have one in a moment. */
static int64_t count_tasks(const struct json *tasks) {
  int64_t count = 0;
  for (size_t i = 0; i < json_length(tasks); i++)
    count += place_of(tasks, json_text(json_at(tasks, i))) == i;
  return count;
}

static int check_kernels(const struct allowance_entry *entry,
                         const struct caller *caller, const char *task,
                         struct store *store, struct err *err) {
  int64_t others, most = caller->quota.kernels;
  if (place_of(entry->tasks, task) < json_length(entry->tasks))
    return 0;
  CLEANUP(json_done) struct json *but = json_copy(entry->tasks);
  json_push(but, json_string(task));
  if (token_count_kernels(store, caller->rights.tenant, but, &others, err) < 0)
    return -1;
  if (others + count_tasks(entry->tasks) < most)
    return 0;
  return err_set(err, ERR_BUSY,
                 "the token \"%s\" has %lld kernels, which is all that it may "
                 "have; delete a task, or go on in one of them",
                 caller->name, (long long)most);
}

static int take(struct allowance_entry *entry, const struct caller *caller,
                const char *task, struct store *store, int64_t *wait_s,
                struct err *err) {
  const struct quota *quota = &caller->quota;
  int64_t wait_ns;
  *wait_s = RUN_WAIT_S;
  if (quota->runs != 0 && entry->runs >= quota->runs)
    return err_set(err, ERR_BUSY,
                   "the token \"%s\" has %lld runs that are queued or running, "
                   "which is all that it may have",
                   caller->name, (long long)quota->runs);
  *wait_s = KERNEL_WAIT_S;
  if (quota->kernels != 0 && check_kernels(entry, caller, task, store, err) < 0)
    return -1;
  if (quota->runs_per_minute != 0 &&
      !quota_rate_take(&entry->rate, quota->runs_per_minute,
                       clock_monotonic_ns(), &wait_ns)) {
    *wait_s = seconds_of(wait_ns);
    return err_set(err, ERR_BUSY,
                   "the token \"%s\" may ask for %lld runs a minute; ask again "
                   "in %lld s",
                   caller->name, (long long)quota->runs_per_minute,
                   (long long)*wait_s);
  }
  entry->runs++;
  json_push(entry->tasks, json_string(task));
  return 0;
}

int allowance_take(struct allowances *allowances, const struct caller *caller,
                   const char *task, struct store *store, int64_t *wait_s,
                   struct err *err) {
  char key[80];
  token_key(caller, key);
  pthread_mutex_lock(&allowances->mutex);
  int result =
      take(entry_of(allowances, key), caller, task, store, wait_s, err);
  pthread_mutex_unlock(&allowances->mutex);
  return result;
}

void allowance_give(struct allowances *allowances, const struct caller *caller,
                    const char *task) {
  char key[80];
  token_key(caller, key);
  pthread_mutex_lock(&allowances->mutex);
  struct allowance_entry *entry = entry_of(allowances, key);
  entry->runs--;
  json_remove_at(entry->tasks, place_of(entry->tasks, task), 1);
  pthread_mutex_unlock(&allowances->mutex);
}

static void address_key(const char *address, char key[80]) {
  snprintf(key, 80, "address %.64s", address);
}

static void forget_addresses(struct allowances *allowances) {
  struct allowance_entry *entry = NULL, *next = NULL;
  HASH_ITER(hh, allowances->entries, entry, next) {
    if (entry->key[0] != 'a')
      continue;
    HASH_DEL(allowances->entries, entry); /* NOLINT: it loses track of it */
    json_free(entry->tasks);
    free(entry);
  }
}

int allowance_note_failure(struct allowances *allowances, const char *address,
                           int64_t *wait_s, struct err *err) {
  char key[80];
  int64_t wait_ns = 0;
  if (address == NULL)
    return -1;
  address_key(address, key);
  pthread_mutex_lock(&allowances->mutex);
  if (HASH_COUNT(allowances->entries) >= ADDRESSES_MOST)
    forget_addresses(allowances);
  bool good =
      quota_rate_take(&entry_of(allowances, key)->rate, FAILURES_A_MINUTE,
                      clock_monotonic_ns(), &wait_ns);
  pthread_mutex_unlock(&allowances->mutex);
  if (good)
    return -1;
  *wait_s = seconds_of(wait_ns);
  return err_set(err, ERR_BUSY,
                 "too many tokens that are not taken came from this address; "
                 "ask again in %lld s",
                 (long long)*wait_s);
}
