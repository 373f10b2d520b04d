/* Bodies, and the headers of the same request, as a client may send them.
 *
 * The first byte chooses what the rest is: a JSON body, a body of code, an
 * Accept header, a Content-Type, a Host with an Origin, an Idempotency-Key. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "fcgi/handlers/execute_body.h"
#include "fcgi/http/accept.h"
#include "fcgi/http/host.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check(bool right) {
  if (!right)
    abort();
}

/* A failure has a kind and a text; a success keeps its promises. */
static void read_json(const char *bytes, size_t size) {
  struct err err = {.kind = ERR_NONE};
  CLEANUP(json_done) struct json *object = NULL;
  CLEANUP(json_done) struct json *details = NULL;
  struct execute_body body;
  if (fields_parse(bytes, size, &object, &err) != 0 ||
      execute_body_read(object, 3600, &body, &details, &err) != 0) {
    check(err.kind != ERR_NONE && err.text[0] != '\0');
    return;
  }
  struct run_request request = body.run;
  check(request.code != NULL);
  check(utf8_is_valid(request.code, request.code_length));
  check(request.timeout > 0 || request.timeout < 0);
  check(request.text_limit >= 0 && request.outputs >= 0);
  check(request.section == NULL || strpbrk(request.section, "\r\n") == NULL);
}

static void read_code(const char *bytes, size_t size) {
  struct err err = {.kind = ERR_NONE};
  struct execute_body body;
  if (execute_body_code(bytes, size, &body, NULL, &err) == 0)
    check(body.code.length == size && utf8_is_valid(bytes, size));
  else
    check(err.kind == ERR_INVALID);
}

static void read_host(char *text) {
  char *origin = strchr(text, '\n');
  if (origin != NULL)
    *origin++ = '\0';
  bool served = host_is_served(text, "localhost [::1] a.example");
  if (served)
    check(strncasecmp(text, "localhost", 9) == 0 ||
          strncasecmp(text, "[::1]", 5) == 0 ||
          strncasecmp(text, "a.example", 9) == 0);
  host_is_own_origin(origin, text);
}

static void read_key(const char *text) {
  struct err err;
  if (execute_body_check_key(text, &err) == 0)
    check(strlen(text) <= 255 && strchr(text, ' ') == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  if (size == 0)
    return 0;
  CLEANUP(mem_free_pointer) char *text = mem_copy_bytes(bytes + 1, size - 1);
  switch (bytes[0] % 6) {
  case 0:
    read_json(text, size - 1);
    break;
  case 1:
    read_code(text, size - 1);
    break;
  case 2:
    accept_negotiate(text);
    break;
  case 3:
    accept_is_type(text, "application/json");
    break;
  case 4:
    read_host(text);
    break;
  default:
    read_key(text);
  }
  return 0;
}
