#include "core/jupyter/connection.h"

#include <stdio.h>
#include <string.h>

#include "core/base/id.h"
#include "core/base/mem.h"
#include "core/json/json.h"

#define SCHEME "hmac-sha256"
#define SOCKET_PATH_MAX 107 /* sun_path without its NUL, unix(7) */
#define KEY_BYTES 32

static const char *const port_keys[CHANNEL_COUNT] = {
    [CHANNEL_SHELL] = "shell_port",  [CHANNEL_IOPUB] = "iopub_port",
    [CHANNEL_STDIN] = "stdin_port",  [CHANNEL_CONTROL] = "control_port",
    [CHANNEL_HEARTBEAT] = "hb_port",
};

static const struct json_rules rules = {
    .max_bytes = BUF_SMALL, .max_depth = 16, .tolerant = true};

/* With transport ipc the "ports" are the last parts of the sockets' paths. */
int connection_compose(const char *directory, const char *kernel_name,
                       struct buf *out, struct err *err) {
  if (strlen(directory) + strlen("/ipc-1") > SOCKET_PATH_MAX)
    return err_set(err, ERR_INVALID,
                   "%s is too long a directory for sockets: their paths may "
                   "have %d bytes",
                   directory, SOCKET_PATH_MAX);
  CLEANUP(json_done) struct json *file = json_object();
  for (enum channel_name name = 0; name < CHANNEL_COUNT; name++)
    json_set_integer(file, port_keys[name], name + 1);
  CLEANUP(mem_free_pointer) char *prefix = mem_format("%s/ipc", directory);
  char key[2 * KEY_BYTES + 1];
  id_random_hex(key, KEY_BYTES);
  json_set_text(file, "ip", prefix);
  json_set_text(file, "transport", "ipc");
  json_set_text(file, "key", key);
  json_set_text(file, "signature_scheme", SCHEME);
  json_set_text(file, "kernel_name", kernel_name);
  if (json_write(file, out) < 0)
    return err_set(err, ERR_TOO_LARGE, "the connection file does not fit");
  return 0;
}

static int wrong(struct err *err, const char *key, const char *expected) {
  return err_set(err, ERR_INVALID, "connection file: \"%s\" must be %s", key,
                 expected);
}

static int parse_endpoint(const struct json *file, enum channel_name name,
                          char endpoint[128], struct err *err) {
  const char *transport = json_get_text(file, "transport");
  bool ipc = transport != NULL && strcmp(transport, "ipc") == 0;
  if (!ipc && transport != NULL && strcmp(transport, "tcp") != 0)
    return wrong(err, "transport", "\"ipc\" or \"tcp\"");
  const char *ip = json_get_text(file, "ip");
  if (ip == NULL || *ip == '\0')
    return wrong(err, "ip", ipc ? "a path" : "an address");
  int64_t port = json_get_integer(file, port_keys[name], -1);
  if (port < (ipc ? 0 : 1) || port > 65535)
    return wrong(err, port_keys[name], "a port number");
  int length = snprintf(endpoint, 128, ipc ? "ipc://%s-%d" : "tcp://%s:%d", ip,
                        (int)port);
  if (length >= 128 || (ipc && length > 6 + SOCKET_PATH_MAX))
    return wrong(err, "ip",
                 ipc ? "a path that makes socket paths of at most 107 bytes"
                     : "an address of at most 100 bytes");
  return 0;
}

static int parse_key(const struct json *file, struct wire_key *key,
                     struct err *err) {
  const char *scheme = json_get_text(file, "signature_scheme");
  if (json_has(file, "signature_scheme") &&
      (scheme == NULL || strcmp(scheme, SCHEME) != 0))
    return wrong(err, "signature_scheme", "\"" SCHEME "\"");
  const struct json *text = json_get(file, "key");
  size_t size = json_text_length(text);
  if (json_text(text) == NULL || size > WIRE_KEY_SIZE)
    return wrong(err, "key", "a string of at most 256 bytes");
  memcpy(key->bytes, json_text(text), size);
  key->size = size;
  return 0;
}

int connection_parse(const char *text, size_t length, struct connection *ret,
                     struct err *err) {
  CLEANUP(json_done) struct json *file = NULL;
  if (json_parse(text, length, &rules, &file, err) < 0) {
    if (err != NULL)
      err->kind = ERR_INVALID;
    return err_wrap(err, "connection file");
  }
  if (json_kind(file) != JSON_OBJECT)
    return err_set(err, ERR_INVALID, "connection file: not a JSON object");
  struct connection connection = {0};
  for (enum channel_name name = 0; name < CHANNEL_COUNT; name++)
    if (parse_endpoint(file, name, connection.endpoints[name], err) < 0)
      return -1;
  if (parse_key(file, &connection.key, err) < 0)
    return -1;
  const char *kernel_name = json_get_text(file, "kernel_name");
  snprintf(connection.kernel_name, sizeof connection.kernel_name, "%s",
           kernel_name == NULL ? "" : kernel_name);
  *ret = connection;
  return 0;
}
