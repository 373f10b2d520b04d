/* What an administrator can do about a layer that the host does not give. */
#ifndef CELLPOST_JAIL_JAIL_ADVICE_H
#define CELLPOST_JAIL_JAIL_ADVICE_H

#include <stddef.h>

/* One phrase: why a keeper that is not root can make no user namespace
 * (user_namespaces(7)), as far as the settings beneath the directory tell
 * ("/proc/sys"), and what to do. Cut to the size. */
void jail_advice_user(const char *settings, char *ret, size_t size);

#endif
