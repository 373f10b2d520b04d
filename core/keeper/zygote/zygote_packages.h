/* The places that a zygote's modules come from, and whether they are as they
 * were. */
#ifndef CELLPOST_KEEPER_ZYGOTE_ZYGOTE_PACKAGES_H
#define CELLPOST_KEEPER_ZYGOTE_ZYGOTE_PACKAGES_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

struct zygote_stamp {
  char *path;
  int64_t modified_ns;
};

struct zygote_packages {
  struct zygote_stamp *stamps;
  size_t count;
};

/* Takes what a zygote tells of them. ERR_PROTOCOL, ERR_INVALID. */
int zygote_packages_read(const char *text, size_t length,
                         struct zygote_packages *ret, struct err *err);

/* The first that has changed since, or NULL. */
const char *zygote_packages_changed(const struct zygote_packages *packages);

void zygote_packages_clear(struct zygote_packages *packages);

#endif
