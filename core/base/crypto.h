/* The one door to libcrypto: digests, random bytes, base64.
 * All functions may be called from any thread. */
#ifndef CELLPOST_BASE_CRYPTO_H
#define CELLPOST_BASE_CRYPTO_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"

#define CRYPTO_SHA256_HEX 65 /* 64 lower-case hex digits and a NUL */

struct crypto_part {
  const void *data;
  size_t size;
};

/* HMAC-SHA256 of the concatenated parts as lower-case hex (RFC 2104). */
void crypto_hmac_sha256(const void *key, size_t key_size,
                        const struct crypto_part *parts, size_t count,
                        char hex[CRYPTO_SHA256_HEX]);

/* SHA-256 as lower-case hex (FIPS 180-4). */
void crypto_sha256(const void *data, size_t size, char hex[CRYPTO_SHA256_HEX]);

/* Compares in a time that does not depend on the content. */
bool crypto_equal(const void *a, const void *b, size_t size);

/* Random bytes; ends the process when the system has none to give. */
void crypto_random(void *bytes, size_t size);

/* base64 of RFC 4648 section 4, padded, without line breaks. */
int crypto_base64_encode(const void *data, size_t size, struct buf *out);

/* The reverse; skips ASCII white space (ipykernel breaks the lines of PNG
 * data). -1 on any other byte, on wrong padding or on a full buffer. */
int crypto_base64_decode(const char *text, size_t length, struct buf *out);

#endif
