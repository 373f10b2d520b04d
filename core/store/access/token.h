/* Tables tokens and sessions: who may ask, found by the SHA-256 of what they
 * show (core/access/secret.h). */
#ifndef CELLPOST_STORE_ACCESS_TOKEN_H
#define CELLPOST_STORE_ACCESS_TOKEN_H

#include <stddef.h>
#include <stdint.h>

#include "core/access/rights.h"
#include "core/base/crypto.h"
#include "core/json/json.h"
#include "core/store/store.h"

struct token_record {
  int64_t id;
  char *name;   /* stands in the history; never given twice */
  char *tenant; /* whose tasks its own are */
  char hash[CRYPTO_SHA256_HEX];
  char *hint;
  char *scopes;        /* core/access/scope.h */
  char *tasks;         /* core/access/rights.h */
  struct json *limits; /* core/access/quota.h */
  int64_t created_at;
  char *created_by;
  int64_t expires_at; /* 0: never */
  int64_t rotated_at;
  char previous_hash[CRYPTO_SHA256_HEX]; /* "": none */
  int64_t previous_expires_at;
  int64_t revoked_at;                   /* 0: not */
  int64_t last_used_at;                 /* to the hour; 0: never */
  char session_hash[CRYPTO_SHA256_HEX]; /* of token_of_session */
};
void token_record_free(struct token_record *record); /* members; cleanup */

/* ERR_CONFLICT: there is, or was, a token of that name. */
int token_add(struct store *store, const struct token_record *record,
              struct err *err);

/* Gives it another text; the one until now is taken until `grace_until` (0: no
 * longer). ERR_NOT_FOUND: no such token, or it is revoked. */
int token_rotate(struct store *store, const char *name, const char *hash,
                 const char *hint, int64_t grace_until, struct err *err);
int token_revoke(struct store *store, const char *name, struct err *err);

/* Notes that it was used within this hour. */
int token_note_use(struct store *store, const struct token_record *record,
                   struct err *err);

/* All, oldest first; free with token_list_free. */
int token_list(struct store *store, struct token_record **ret, size_t *count,
               struct err *err);
void token_list_free(struct token_record *list, size_t count);

/* 1, 0, -1: whether there is one, or ever was. */
int token_exists(struct store *store, struct err *err);

/* ERR_NOT_FOUND. What is found may be revoked or expired: token_is_good. */
int token_find(struct store *store, const char *hash, struct token_record *ret,
               struct err *err);
int token_find_name(struct store *store, const char *name,
                    struct token_record *ret, struct err *err);

/* Whether the text with this hash is taken at the time `now`. If not, *why
 * tells it: a text of the program's. `hash` NULL: any of its texts. */
bool token_is_good(const struct token_record *record, const char *hash,
                   int64_t now, const char **why);

/* A browser's session, by the hash of its cookie, opened with the text that has
 * `token_hash`. Those that have expired go. */
int token_open_session(struct store *store, const char *hash,
                       const struct token_record *token, const char *token_hash,
                       const char *address, int64_t expires_at,
                       struct err *err);
int token_close_session(struct store *store, const char *hash, struct err *err);
/* The token of a session that lasts. ERR_NOT_FOUND. */
int token_of_session(struct store *store, const char *hash,
                     struct token_record *ret, struct err *err);

/* Whether the task, there or not, is within the rights. A name that is in the
 * list is answered without a look at the database. 1, 0, -1. */
int token_may(struct store *store, const struct rights *rights,
              const char *task, struct err *err);

/* The same where a missing task would be made: whoever has tasks of their own
 * may take a name that nobody has. */
int token_may_make(struct store *store, const struct rights *rights,
                   const char *task, struct err *err);

/* Whether the run's task is within the rights; 0 also when there is no such
 * run. */
int token_may_run(struct store *store, const struct rights *rights,
                  const char *run, struct err *err);

/* How many kernels are alive in the tenant's tasks, those of `but` (an array of
 * names) apart. */
int token_count_kernels(struct store *store, const char *tenant,
                        const struct json *but, int64_t *ret, struct err *err);

/* The names of the tenant's tasks, deleted ones too; *ret is the caller's. */
int token_list_tasks(struct store *store, const char *tenant, struct json **ret,
                     struct err *err);

#endif
