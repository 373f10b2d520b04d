/* Signed, expiring links to what stands beneath /tasks/. Pure.
 *
 *   /s/<expiry>/<key>/<signature>/tasks/<task>/artifacts/<name>
 *
 * The expiry is seconds since 1970 in base 36, the key the number of the key in
 * the database, the signature the first 128 bits of
 * HMAC-SHA256(key, "GET\n" path "\n" expiry) in hex. It stands in the path and
 * not in the query, so that the name of the file stays the last part, and
 * nothing is lost where a client cuts queries. */
#ifndef CELLPOST_ACCESS_LINK_H
#define CELLPOST_ACCESS_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"

#define LINK_PREFIX "/s/"
#define LINK_KEY_SIZE 65 /* 64 hex digits, 256 bits, and a NUL */
#define LINK_SIGNATURE_SIZE 33

/* What a link says, not checked yet. */
struct link_parts {
  int64_t expires_at; /* seconds */
  int64_t key;
  char signature[LINK_SIGNATURE_SIZE];
  const char *path; /* within the link: "/tasks/…" */
};

/* Links expire at a multiple of ten minutes, at least `seconds` from now: the
 * same file has the same link for a while, and caches know it again. */
int64_t link_expiry(int64_t now, int64_t seconds);

/* Appends the link to `path`, which begins with "/tasks/" and is as it will be
 * asked for, percent-encoded. */
void link_write(const char *path, int64_t expires_at, int64_t key_number,
                const char *key, struct buf *out);

/* Takes a link apart; false: it has not that form. `text` is the path of a
 * request as the client wrote it, without a query. */
bool link_read(const char *text, struct link_parts *ret);

/* Whether the signature is that of `key`. */
bool link_is_signed(const struct link_parts *link, const char *key);

#endif
