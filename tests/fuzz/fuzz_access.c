/* What stands in a request or in a database about who asks: nothing but a whole
 * token is one, what is accepted means the same when written again, and no
 * pattern takes forever. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/access/address.h"
#include "core/access/link.h"
#include "core/access/rights.h"
#include "core/access/scope.h"
#include "core/access/secret.h"
#include "core/base/mem.h"
#include "core/json/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_scopes(const char *text) {
  unsigned scopes, again;
  struct err err;
  CLEANUP(buf_free) struct buf out = BUF_INIT(BUF_LINE);
  if (scope_parse(text, &scopes, &err) < 0)
    return;
  scope_format(scopes, &out);
  if (scope_parse(buf_string(&out), &again, &err) < 0 || again != scopes)
    abort();
}

/* The first line is the list, the rest a name. */
static void try_rights(char *text) {
  struct err err;
  char *name = strchr(text, '\n');
  if (name != NULL)
    *name++ = '\0';
  if (rights_check_tasks(text, &err) < 0)
    return;
  struct rights rights = {.scopes = SCOPE_READ, .tasks = text, .tenant = "t"};
  bool covered = rights_cover(&rights, name == NULL ? "x" : name, NULL);
  if (rights_are_whole(&rights) && !covered)
    abort();
  CLEANUP(buf_free) struct buf globs = BUF_INIT(BUF_SMALL);
  CLEANUP(json_done) struct json *list = NULL;
  rights_globs(&rights, &globs);
  if (json_parse(buf_string(&globs), globs.length, &JSON_RULES_STORE, &list,
                 &err) < 0)
    abort();
}

static void try_link(const char *text) {
  struct link_parts link;
  CLEANUP(buf_free) struct buf out = BUF_INIT(BUF_SMALL);
  if (!link_read(text, &link))
    return;
  if (link_is_signed(&link, "key"))
    abort();
  link_write(link.path, link.expires_at, link.key, "key", &out);
  struct link_parts again;
  if (!link_read(buf_string(&out), &again) || !link_is_signed(&again, "key") ||
      again.expires_at != link.expires_at || again.key != link.key)
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct err err;
  CLEANUP(mem_free_pointer) char *text = mem_copy_bytes(data, size);
  if (secret_is_whole(text) && strspn(text, "cp_") < 3)
    abort();
  try_scopes(text);
  try_link(text);
  if (address_is_listed(text, text) && address_check_list(text, &err) < 0)
    abort();
  try_rights(text);
  return 0;
}
