#include "fcgi/http/host.h"

#include <string.h>
#include <strings.h>

/* The length of the name in "name:port"; colons within [] belong to it. 0 when
 * what follows the name is no port. */
static size_t name_length(const char *host) {
  size_t length = *host == '[' ? strcspn(host, "]") : strcspn(host, ":");
  if (host[length] == ']')
    length++;
  const char *port = host + length;
  if (*port == ':')
    port += 1 + strspn(port + 1, "0123456789");
  return *port == '\0' ? length : 0;
}

static bool is_same(const char *a, size_t a_length, const char *b,
                    size_t b_length) {
  return a_length == b_length && strncasecmp(a, b, a_length) == 0;
}

bool host_is_served(const char *host, const char *hosts) {
  size_t length = host == NULL ? 0 : name_length(host);
  if (length > 1 && host[length - 1] == '.')
    length--;
  if (length == 0)
    return false;
  while (*hosts != '\0') {
    size_t next = strcspn(hosts, " ");
    if (next != 0 && is_same(host, length, hosts, next))
      return true;
    hosts += next;
    hosts += strspn(hosts, " ");
  }
  return false;
}

bool host_is_own_origin(const char *origin, const char *host) {
  if (origin == NULL || *origin == '\0')
    return true;
  const char *authority = strstr(origin, "://");
  if (authority == NULL || host == NULL)
    return false;
  authority += strlen("://");
  return *authority != '\0' && strcasecmp(authority, host) == 0;
}

bool host_is_own_origin_forwarded(const char *origin, const char *host,
                                  const char *forwarded) {
  if (forwarded != NULL && host_is_own_origin(origin, forwarded))
    return true;
  const char *authority = strstr(origin, "://");
  if (authority == NULL || host == NULL)
    return false;
  authority += strlen("://");
  size_t length = name_length(authority);
  return length != 0 && length == strlen(host) &&
         is_same(authority, length, host, length);
}
