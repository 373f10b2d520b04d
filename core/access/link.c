#include "core/access/link.h"

#include <stdio.h>
#include <string.h>

#include "core/base/crypto.h"

#define TEN_MINUTES 600
#define TARGET "/tasks/"

static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";

int64_t link_expiry(int64_t now, int64_t seconds) {
  int64_t at = now + seconds + TEN_MINUTES - 1;
  return at - at % TEN_MINUTES;
}

static void sign(const char *path, int64_t expires_at, const char *key,
                 char signature[LINK_SIGNATURE_SIZE]) {
  char hex[CRYPTO_SHA256_HEX], expiry[24];
  int length = snprintf(expiry, sizeof expiry, "%lld", (long long)expires_at);
  const struct crypto_part parts[] = {
      {"GET\n", 4}, {path, strlen(path)}, {"\n", 1}, {expiry, (size_t)length}};
  crypto_hmac_sha256(key, strlen(key), parts, 4, hex);
  snprintf(signature, LINK_SIGNATURE_SIZE, "%.32s", hex);
}

static void write_base36(int64_t number, struct buf *out) {
  char text[16];
  size_t at = sizeof text;
  do
    text[--at] = digits[number % 36];
  while ((number /= 36) != 0 && at > 0);
  buf_append(out, text + at, sizeof text - at);
}

void link_write(const char *path, int64_t expires_at, int64_t key_number,
                const char *key, struct buf *out) {
  char signature[LINK_SIGNATURE_SIZE];
  sign(path, expires_at, key, signature);
  buf_text(out, LINK_PREFIX);
  write_base36(expires_at, out);
  buf_format(out, "/%lld/%s%s", (long long)key_number, signature, path);
}

/* A number of at most `most` digits of this base that a "/" ends; no leading
 * zeros, so that there is one way to write it. */
static bool read_number(const char **text, int base, int most, int64_t *ret) {
  int64_t number = 0;
  int count = 0;
  for (const char *digit; **text != '/'; (*text)++, count++) {
    digit = **text == '\0' ? NULL : memchr(digits, **text, (size_t)base);
    if (digit == NULL || count >= most || (count > 0 && number == 0))
      return false;
    number = number * base + (digit - digits);
  }
  (*text)++;
  *ret = number;
  return count > 0;
}

bool link_read(const char *text, struct link_parts *ret) {
  struct link_parts link = {0};
  if (strncmp(text, LINK_PREFIX, strlen(LINK_PREFIX)) != 0)
    return false;
  text += strlen(LINK_PREFIX);
  if (!read_number(&text, 36, 9, &link.expires_at) ||
      !read_number(&text, 10, 15, &link.key))
    return false;
  size_t length = strspn(text, "0123456789abcdef");
  if (length != LINK_SIGNATURE_SIZE - 1 ||
      strncmp(text + length, TARGET, strlen(TARGET)) != 0)
    return false;
  memcpy(link.signature, text, length);
  link.path = text + length;
  *ret = link;
  return true;
}

bool link_is_signed(const struct link_parts *link, const char *key) {
  char signature[LINK_SIGNATURE_SIZE];
  sign(link->path, link->expires_at, key, signature);
  return crypto_equal(signature, link->signature, LINK_SIGNATURE_SIZE - 1);
}
