/* Table link_keys: what links are signed with (core/access/link.h). */
#ifndef CELLPOST_STORE_ACCESS_LINK_KEY_H
#define CELLPOST_STORE_ACCESS_LINK_KEY_H

#include <stdint.h>

#include "core/access/link.h"
#include "core/store/store.h"

struct link_key {
  int64_t number;
  char key[LINK_KEY_SIZE];
};

/* The one that links are signed with now; it is made when there is none. */
int link_key_newest(struct store *store, struct link_key *ret, struct err *err);

/* ERR_NOT_FOUND: no such key, or it is retired. */
int link_key_find(struct store *store, int64_t number, struct link_key *ret,
                  struct err *err);

#endif
