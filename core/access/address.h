/* Which addresses are meant. Pure. */
#ifndef CELLPOST_ACCESS_ADDRESS_H
#define CELLPOST_ACCESS_ADDRESS_H

#include <stdbool.h>

#include "core/base/err.h"

/* Whether `address` (IPv4 or IPv6 as text) is one of `list`: addresses, or
 * networks as 10.0.0.0/8 and fd00::/8, with spaces between. An IPv4 address
 * within IPv6 (::ffff:10.0.0.1) is the IPv4 address. NULL is none. */
bool address_is_listed(const char *address, const char *list);

/* ERR_INVALID names the first entry that is neither. */
int address_check_list(const char *list, struct err *err);

/* 127.0.0.0/8 or ::1. */
bool address_is_loopback(const char *address);

#endif
