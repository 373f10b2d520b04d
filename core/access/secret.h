/* The form of a token: "cp_", 32 random base62 characters (190 bits), and the
 * CRC-32 of all before it in 6 more. So a scanner can tell a token from other
 * text, and a typo is found without asking the database. Pure, but for the
 * random bytes.
 *
 * At rest there is one SHA-256 of it: with so many random bits neither salt nor
 * a slow hash would make it safer. */
#ifndef CELLPOST_ACCESS_SECRET_H
#define CELLPOST_ACCESS_SECRET_H

#include <stdbool.h>

#include "core/base/crypto.h"

#define SECRET_SIZE 42 /* 41 characters and a NUL */
#define SECRET_HINT_SIZE 16

/* A new token. */
void secret_make(char secret[SECRET_SIZE]);

/* Whether `text` is a whole token: length, prefix, characters, checksum. */
bool secret_is_whole(const char *text);

/* Its name in the database. */
void secret_hash(const char *text, char hash[CRYPTO_SHA256_HEX]);

/* "cp_1a2…9xYz": the first 6 and the last 4 characters, to know it again by. */
void secret_hint(const char *secret, char hint[SECRET_HINT_SIZE]);

#endif
