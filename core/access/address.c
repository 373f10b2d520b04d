#include "core/access/address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENTRY_SIZE 64
#define MAPPED_BITS 96 /* of ::ffff:0:0/96 (RFC 4291, 2.5.5.2) */

/* Every address as the 16 bytes of IPv6. */
struct network {
  unsigned char bytes[16];
  int bits;
};

static bool read_network(const char *text, size_t length, struct network *ret) {
  char entry[ENTRY_SIZE];
  if (length == 0 || length >= sizeof entry)
    return false;
  snprintf(entry, sizeof entry, "%.*s", (int)length, text);
  char *slash = strchr(entry, '/'), *end = NULL;
  if (slash != NULL)
    *slash = '\0';
  struct network network = {{0}, 128};
  int offset = 0;
  if (inet_pton(AF_INET, entry, network.bytes + 12) == 1) {
    network.bytes[10] = network.bytes[11] = 0xff;
    offset = MAPPED_BITS;
  } else if (inet_pton(AF_INET6, entry, network.bytes) != 1) {
    return false;
  }
  if (slash != NULL) {
    long bits = strtol(slash + 1, &end, 10);
    if (slash[1] < '0' || slash[1] > '9' || *end != '\0' || bits > 128 - offset)
      return false;
    network.bits = offset + (int)bits;
  }
  *ret = network;
  return true;
}

static bool is_within(const struct network *address,
                      const struct network *network) {
  for (int bit = 0; bit < network->bits; bit++) {
    int mask = 0x80 >> (bit % 8);
    if ((address->bytes[bit / 8] ^ network->bytes[bit / 8]) & mask)
      return false;
  }
  return true;
}

bool address_is_listed(const char *address, const char *list) {
  struct network mine, theirs;
  if (address == NULL || strchr(address, '/') != NULL ||
      !read_network(address, strlen(address), &mine))
    return false;
  for (size_t length; list += strspn(list, " "), *list != '\0';
       list += length) {
    length = strcspn(list, " ");
    if (read_network(list, length, &theirs) && is_within(&mine, &theirs))
      return true;
  }
  return false;
}

int address_check_list(const char *list, struct err *err) {
  struct network unused;
  for (size_t length; list += strspn(list, " "), *list != '\0';
       list += length) {
    length = strcspn(list, " ");
    if (!read_network(list, length, &unused))
      return err_set(err, ERR_INVALID,
                     "\"%.*s\" is no address, nor a network as 10.0.0.0/8",
                     (int)(length > 100 ? 100 : length), list);
  }
  return 0;
}

bool address_is_loopback(const char *address) {
  return address_is_listed(address, "127.0.0.0/8 ::1");
}
