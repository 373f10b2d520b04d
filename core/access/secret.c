#include "core/access/secret.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define PREFIX "cp_"
#define PREFIX_LENGTH (sizeof PREFIX - 1)
#define RANDOM_LENGTH 32
#define CHECK_LENGTH 6
#define BODY_LENGTH (PREFIX_LENGTH + RANDOM_LENGTH)

_Static_assert(BODY_LENGTH + CHECK_LENGTH + 1 == SECRET_SIZE, "the header");

static const char digits[] =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/* CRC-32 of ISO 3309, as zlib computes it. */
static uint32_t checksum(const char *bytes, size_t length) {
  uint32_t crc = UINT32_MAX;
  for (size_t i = 0; i < length; i++) {
    crc ^= (unsigned char)bytes[i];
    for (int bit = 0; bit < 8; bit++)
      crc = crc >> 1 ^ (UINT32_C(0xedb88320) & (0 - (crc & 1)));
  }
  return ~crc;
}

static void write_check(const char *body, char check[CHECK_LENGTH]) {
  uint32_t crc = checksum(body, BODY_LENGTH);
  for (int i = CHECK_LENGTH; i-- > 0; crc /= 62)
    check[i] = digits[crc % 62];
}

/* Bytes over the last multiple of 62 are dropped: each digit is as likely. */
static char random_digit(void) {
  unsigned char byte;
  do
    crypto_random(&byte, 1);
  while (byte >= 62 * 4);
  return digits[byte % 62];
}

void secret_make(char secret[SECRET_SIZE]) {
  memcpy(secret, PREFIX, PREFIX_LENGTH);
  for (size_t i = PREFIX_LENGTH; i < BODY_LENGTH; i++)
    secret[i] = random_digit();
  write_check(secret, secret + BODY_LENGTH);
  secret[SECRET_SIZE - 1] = '\0';
}

bool secret_is_whole(const char *text) {
  char check[CHECK_LENGTH];
  if (strlen(text) != SECRET_SIZE - 1 ||
      memcmp(text, PREFIX, PREFIX_LENGTH) != 0 ||
      strspn(text + PREFIX_LENGTH, digits) != RANDOM_LENGTH + CHECK_LENGTH)
    return false;
  write_check(text, check);
  return memcmp(check, text + BODY_LENGTH, CHECK_LENGTH) == 0;
}

void secret_hash(const char *text, char hash[CRYPTO_SHA256_HEX]) {
  crypto_sha256(text, strlen(text), hash);
}

void secret_hint(const char *secret, char hint[SECRET_HINT_SIZE]) {
  snprintf(hint, SECRET_HINT_SIZE, "%.6s…%.4s", secret,
           secret + SECRET_SIZE - 1 - 4);
}
