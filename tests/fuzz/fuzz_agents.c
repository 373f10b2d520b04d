/* What agents' clients send: forms, paths and messages. The first byte chooses.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "fcgi/e2b/e2b_form.h"
#include "fcgi/e2b/e2b_path.h"
#include "fcgi/mcp/rpc.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check(bool right) {
  if (!right)
    abort();
}

static void read_form(const char *text, size_t size) {
  struct e2b_form_part parts[4];
  struct err err = {.kind = ERR_NONE};
  int count = e2b_form_read("multipart/form-data; boundary=b", text, size,
                            parts, COUNT_OF(parts), &err);
  check(count >= 0 || err.kind != ERR_NONE);
  for (int i = 0; i < count; i++)
    check(parts[i].bytes >= text &&
          parts[i].bytes + parts[i].length <= text + size);
  e2b_form_free(parts, count < 0 ? 0 : (size_t)count);
}

static void read_path(const char *text) {
  CLEANUP(buf_free) struct buf relative = BUF_INIT(BUF_LINE);
  if (e2b_path_read(text, &relative, NULL) < 0)
    return;
  const char *path = buf_string(&relative);
  check(*path != '/' && strstr(path, "/../") == NULL &&
        strncmp(path, "../", 3) != 0 && strcmp(path, "..") != 0);
}

/* The headers in front, a line each, the body behind. */
static void read_message(char *text) {
  char *lines[5] = {0};
  for (size_t i = 0; i < COUNT_OF(lines) && text != NULL; i++)
    lines[i] = strsep(&text, "\n");
  CLEANUP(json_done) struct json *body = NULL;
  CLEANUP(rpc_fault_done) struct rpc_fault fault = {.data = NULL};
  struct rpc_message message;
  const struct rpc_headers headers = {lines[0], lines[1], lines[2], lines[3]};
  if (lines[4] == NULL || json_parse(lines[4], strlen(lines[4]),
                                     &JSON_RULES_REQUEST, &body, NULL) < 0)
    return;
  if (rpc_read(body, &headers, &message, &fault) < 0) {
    CLEANUP(json_done) struct json *answer = rpc_error(&message, &fault);
    check(fault.text[0] != '\0' && json_has(answer, "error"));
  } else {
    check(message.method != NULL);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  if (size == 0)
    return 0;
  CLEANUP(mem_free_pointer) char *text = mem_copy_bytes(bytes + 1, size - 1);
  if (bytes[0] % 3 == 0)
    read_form(text, size - 1);
  else if (bytes[0] % 3 == 1)
    read_path(text);
  else
    read_message(text);
  return 0;
}
