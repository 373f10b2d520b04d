#include "core/base/crypto.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/params.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "core/base/mem.h"

/* Fetching an algorithm by name costs more than a short digest (OpenSSL 3
 * looks it up among its providers), so both are fetched once. */
static pthread_once_t fetch_once = PTHREAD_ONCE_INIT;
static EVP_MAC *hmac;
static EVP_MD *sha256;

static void fetch(void) {
  hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
  sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
  if (hmac == NULL || sha256 == NULL)
    abort();
}

/* A context that knows its digest already: looking that up by name, as each new
 * one must, costs more than the HMAC of a short message. One a thread. */
static pthread_key_t context_key;
static pthread_once_t context_once = PTHREAD_ONCE_INIT;

static void free_context(void *context) { EVP_MAC_CTX_free(context); }

static void make_context_key(void) {
  if (pthread_key_create(&context_key, free_context) != 0)
    abort();
}

static EVP_MAC_CTX *thread_context(void) {
  pthread_once(&context_once, make_context_key);
  EVP_MAC_CTX *context = pthread_getspecific(context_key);
  if (context != NULL)
    return context;
  char name[] = "SHA256";
  OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string("digest", name, 0),
      OSSL_PARAM_construct_end(),
  };
  context = EVP_MAC_CTX_new(hmac);
  if (context == NULL || EVP_MAC_CTX_set_params(context, parameters) != 1 ||
      pthread_setspecific(context_key, context) != 0)
    abort();
  return context;
}

static void to_hex(const unsigned char *digest, size_t size, char *hex) {
  static const char digits[] = "0123456789abcdef";
  for (size_t i = 0; i < size; i++) {
    hex[2 * i] = digits[digest[i] >> 4];
    hex[2 * i + 1] = digits[digest[i] & 15];
  }
  hex[2 * size] = '\0';
}

void crypto_hmac_sha256(const void *key, size_t key_size,
                        const struct crypto_part *parts, size_t count,
                        char hex[CRYPTO_SHA256_HEX]) {
  pthread_once(&fetch_once, fetch);
  EVP_MAC_CTX *context = thread_context();
  /* An empty key is a key too; NULL would mean the one of the last message. */
  int good = EVP_MAC_init(context, key_size == 0 ? (const void *)"" : key,
                          key_size, NULL) == 1;
  for (size_t i = 0; good && i < count; i++)
    good = EVP_MAC_update(context, parts[i].data, parts[i].size) == 1;
  unsigned char digest[32];
  size_t size = 0;
  if (!good || EVP_MAC_final(context, digest, &size, sizeof digest) != 1)
    abort();
  to_hex(digest, sizeof digest, hex);
}

void crypto_sha256(const void *data, size_t size, char hex[CRYPTO_SHA256_HEX]) {
  pthread_once(&fetch_once, fetch);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  if (EVP_Digest(data, size, digest, &length, sha256, NULL) != 1)
    abort();
  to_hex(digest, length, hex);
}

bool crypto_equal(const void *a, const void *b, size_t size) {
  return CRYPTO_memcmp(a, b, size) == 0;
}

/* From the system itself: a generator in this process would be the same in
 * every process that is forked from it (core/keeper/shim/zygote_fork.h). */
void crypto_random(void *bytes, size_t size) {
  unsigned char *place = bytes;
  while (size > 0) {
    ssize_t got = getrandom(place, size, 0);
    if (got < 0 && errno != EINTR)
      abort();
    if (got > 0) {
      place += got;
      size -= (size_t)got;
    }
  }
}

/* EVP_EncodeBlock counts in int; whole groups of 3 bytes go through it in
 * steps, so that any size works. */
int crypto_base64_encode(const void *data, size_t size, struct buf *out) {
  enum { STEP = 3 << 20 };
  const unsigned char *bytes = data;
  while (size > 0) {
    size_t part = size > STEP ? STEP : size;
    char *end = buf_reserve(out, (part + 2) / 3 * 4 + 1);
    if (end == NULL)
      return -1;
    int written = EVP_EncodeBlock((unsigned char *)end, bytes, (int)part);
    out->length += (size_t)written;
    bytes += part;
    size -= part;
  }
  return 0;
}

static int base64_value(unsigned char c) {
  if (c >= 'A' && c <= 'Z')
    return c - 'A';
  if (c >= 'a' && c <= 'z')
    return c - 'a' + 26;
  if (c >= '0' && c <= '9')
    return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

int crypto_base64_decode(const char *text, size_t length, struct buf *out) {
  char *start = buf_reserve(out, length / 4 * 3 + 3);
  if (start == NULL)
    return -1;
  unsigned char *to = (unsigned char *)start;
  unsigned bits = 0, digits = 0, padding = 0;
  for (size_t i = 0; i < length; i++) {
    unsigned char c = (unsigned char)text[i];
    if (memchr(" \t\r\n", c, 4) != NULL)
      continue;
    if (c == '=') {
      padding++;
      continue;
    }
    int value = base64_value(c);
    if (value < 0 || padding > 0)
      return -1;
    bits = bits << 6 | (unsigned)value;
    if (++digits % 4 == 0) {
      *to++ = (unsigned char)(bits >> 16);
      *to++ = (unsigned char)(bits >> 8);
      *to++ = (unsigned char)bits;
    }
  }
  if ((digits + padding) % 4 != 0 || padding > 2 || digits % 4 == 1)
    return -1;
  if (digits % 4 >= 2)
    *to++ = (unsigned char)(digits % 4 == 2 ? bits >> 4 : bits >> 10);
  if (digits % 4 == 3)
    *to++ = (unsigned char)(bits >> 2);
  *to = '\0';
  out->length += (size_t)(to - (unsigned char *)start);
  return 0;
}
