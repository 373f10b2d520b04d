/* The floor of every measurement: what `1+1` costs a client that is nothing
 * but libzmq and an HMAC. It shares no code with Cellpost.
 *
 *   raw_client CONNECTION_FILE N [PAUSE_US]
 *
 * pauses between two runs for PAUSE_US microseconds (default 0) and
 * prints {"client":"raw","runs":N,"samples_us":[…],"median_us":…,"p99_us":…,
 * "min_us":…} for N execute_requests, each from sending until both
 * execute_reply and idle have come; samples in the order in which they were
 * taken. The signatures of all messages are checked. */
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

enum { WARM_UP = 20, FRAMES_MOST = 16, PATIENCE_MS = 30000, HEX = 65 };

struct client {
  char *file; /* text of the connection file */
  char key[256];
  char session[32];
  EVP_MAC *hmac;
  void *context, *shell, *iopub;
};

struct request {
  char id[64];
  int replied, idle;
};

__attribute__((noreturn, format(printf, 1, 2))) static void
fail(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("raw_client: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  exit(1);
}

static char *read_file(const char *path) {
  FILE *file = fopen(path, "r");
  char *text = calloc(1, 65536);
  if (file == NULL || text == NULL || fread(text, 1, 65535, file) == 0)
    fail("cannot read %s", path);
  fclose(file);
  return text;
}

/* The value of a member of a flat JSON object, without its quotes. Enough for
 * connection files, whose values need no escapes. */
static void member(const char *json, const char *name, char *value,
                   size_t size) {
  char quoted[64];
  snprintf(quoted, sizeof quoted, "\"%s\"", name);
  const char *at = strstr(json, quoted);
  at = at == NULL ? NULL : strchr(at + strlen(quoted), ':');
  if (at == NULL)
    fail("the connection file has no %s", name);
  at += 1 + strspn(at + 1, " \t\r\n\"");
  size_t length = strcspn(at, ",}\"\r\n");
  if (length >= size)
    fail("the connection file's %s is too long", name);
  memcpy(value, at, length);
  value[length] = '\0';
}

static void *open_socket(const struct client *client, int type,
                         const char *port_name) {
  char transport[16], ip[256], port[16], endpoint[320];
  member(client->file, "transport", transport, sizeof transport);
  member(client->file, "ip", ip, sizeof ip);
  member(client->file, port_name, port, sizeof port);
  snprintf(endpoint, sizeof endpoint, "%s://%s%c%s", transport, ip,
           strcmp(transport, "ipc") == 0 ? '-' : ':', port);
  void *opened = zmq_socket(client->context, type);
  int none = 0;
  zmq_setsockopt(opened, ZMQ_LINGER, &none, sizeof none);
  zmq_setsockopt(opened, ZMQ_RCVHWM, &none, sizeof none);
  if (type == ZMQ_SUB)
    zmq_setsockopt(opened, ZMQ_SUBSCRIBE, "", 0);
  else
    zmq_setsockopt(opened, ZMQ_ROUTING_ID, client->session,
                   strlen(client->session));
  if (zmq_connect(opened, endpoint) != 0)
    fail("cannot connect to %s: %s", endpoint, zmq_strerror(zmq_errno()));
  return opened;
}

static void sign(const struct client *client, const void *const *data,
                 const size_t *sizes, char hex[HEX]) {
  EVP_MAC_CTX *mac = EVP_MAC_CTX_new(client->hmac);
  char digest_name[] = "SHA256";
  OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string("digest", digest_name, 0),
      OSSL_PARAM_construct_end()};
  unsigned char digest[32];
  size_t size = 0;
  if (EVP_MAC_init(mac, (const unsigned char *)client->key, strlen(client->key),
                   parameters) != 1)
    fail("no HMAC");
  for (int i = 0; i < 4; i++)
    EVP_MAC_update(mac, data[i], sizes[i]);
  EVP_MAC_final(mac, digest, &size, sizeof digest);
  EVP_MAC_CTX_free(mac);
  for (size_t i = 0; i < sizeof digest; i++)
    snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

static void send_request(const struct client *client, const char *type,
                         const char *content, struct request *request) {
  static unsigned long sent;
  char header[512], hex[HEX];
  *request = (struct request){.replied = 0};
  snprintf(request->id, sizeof request->id, "%s_%lu", client->session, ++sent);
  snprintf(header, sizeof header,
           "{\"msg_id\":\"%s\",\"session\":\"%s\",\"username\":\"raw\","
           "\"msg_type\":\"%s\",\"date\":\"2026-01-01T00:00:00.000000Z\","
           "\"version\":\"5.4\"}",
           request->id, client->session, type);
  const void *data[] = {header, "{}", "{}", content};
  size_t sizes[] = {strlen(header), 2, 2, strlen(content)};
  sign(client, data, sizes, hex);
  zmq_send(client->shell, "<IDS|MSG>", 9, ZMQ_SNDMORE);
  zmq_send(client->shell, hex, 64, ZMQ_SNDMORE);
  for (int i = 0; i < 4; i++)
    if (zmq_send(client->shell, data[i], sizes[i], i < 3 ? ZMQ_SNDMORE : 0) < 0)
      fail("cannot send: %s", zmq_strerror(zmq_errno()));
}

static int holds(zmq_msg_t *frame, const char *text) {
  return memmem(zmq_msg_data(frame), zmq_msg_size(frame), text, strlen(text)) !=
         NULL;
}

/* frames: delimiter, signature, header, parent, metadata, content */
static void look_at(const struct client *client, void *from, zmq_msg_t *frames,
                    struct request *request) {
  const void *data[4];
  size_t sizes[4];
  char hex[HEX];
  for (int i = 0; i < 4; i++) {
    data[i] = zmq_msg_data(&frames[2 + i]);
    sizes[i] = zmq_msg_size(&frames[2 + i]);
  }
  sign(client, data, sizes, hex);
  if (zmq_msg_size(&frames[1]) != 64 ||
      CRYPTO_memcmp(zmq_msg_data(&frames[1]), hex, 64) != 0)
    fail("a message with a wrong signature");
  if (!holds(&frames[3], request->id))
    return;
  if (from == client->shell)
    request->replied = 1;
  else if (holds(&frames[2], "\"status\"") && holds(&frames[5], "\"idle\""))
    request->idle = 1;
}

/* 1 when a message was there. */
static int receive(const struct client *client, void *from,
                   struct request *request) {
  zmq_msg_t frames[FRAMES_MOST];
  int count = 0, delimiter = -1, more = 1;
  while (more) {
    if (count == FRAMES_MOST)
      fail("a message with too many frames");
    zmq_msg_init(&frames[count]);
    if (zmq_msg_recv(&frames[count], from, ZMQ_DONTWAIT) < 0)
      return 0;
    if (delimiter < 0 && holds(&frames[count], "<IDS|MSG>"))
      delimiter = count;
    more = zmq_msg_more(&frames[count++]);
  }
  if (delimiter < 0 || count - delimiter < 6)
    fail("a message without a delimiter");
  look_at(client, from, &frames[delimiter], request);
  while (count > 0)
    zmq_msg_close(&frames[--count]);
  return 1;
}

/* Returns 0 when the milliseconds pass before the end. */
static int await_end(const struct client *client, struct request *request,
                     int patience_ms) {
  while (!request->replied || !request->idle) {
    zmq_pollitem_t items[] = {{client->shell, 0, ZMQ_POLLIN, 0},
                              {client->iopub, 0, ZMQ_POLLIN, 0}};
    if (zmq_poll(items, 2, patience_ms) <= 0)
      return 0;
    for (int i = 0; i < 2; i++)
      while (items[i].revents != 0 && receive(client, items[i].socket, request))
        continue;
  }
  return 1;
}

static double now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static double run_once(const struct client *client) {
  static const char content[] =
      "{\"code\":\"1+1\",\"silent\":false,\"store_history\":true,"
      "\"user_expressions\":{},\"allow_stdin\":false,\"stop_on_error\":false}";
  struct request request;
  double start = now_us();
  send_request(client, "execute_request", content, &request);
  if (!await_end(client, &request, PATIENCE_MS))
    fail("no answer");
  return now_us() - start;
}

static int compare(const void *a, const void *b) {
  double left = *(const double *)a, right = *(const double *)b;
  return (left > right) - (left < right);
}

static void print_figures(double *times, int runs) {
  printf("{\"client\":\"raw\",\"runs\":%d,\"samples_us\":[", runs);
  for (int i = 0; i < runs; i++)
    printf("%s%.1f", i == 0 ? "" : ",", times[i]);
  qsort(times, (size_t)runs, sizeof *times, compare);
  int p99 = (runs * 99 + 99) / 100 - 1;
  printf("],\"median_us\":%.1f,\"p99_us\":%.1f,\"min_us\":%.1f}\n",
         times[runs / 2], times[p99], times[0]);
}

/* Until the subscription works: a kernel_info_request's own idle arrives. */
static void await_kernel(const struct client *client) {
  struct request request;
  for (int tries = 0; tries < PATIENCE_MS / 100; tries++) {
    send_request(client, "kernel_info_request", "{}", &request);
    if (await_end(client, &request, 100))
      return;
  }
  fail("the kernel does not answer");
}

int main(int count, char **arguments) {
  int runs = count == 3 || count == 4 ? atoi(arguments[2]) : 0;
  int pause_us = count == 4 ? atoi(arguments[3]) : 0;
  if (runs < 1 || pause_us < 0) {
    fputs("usage: raw_client CONNECTION_FILE N [PAUSE_US]\n", stderr);
    return 2;
  }
  struct client client = {.file = read_file(arguments[1]),
                          .hmac = EVP_MAC_fetch(NULL, "HMAC", NULL),
                          .context = zmq_ctx_new()};
  snprintf(client.session, sizeof client.session, "raw-%d", (int)getpid());
  member(client.file, "key", client.key, sizeof client.key);
  client.iopub = open_socket(&client, ZMQ_SUB, "iopub_port");
  client.shell = open_socket(&client, ZMQ_DEALER, "shell_port");
  await_kernel(&client);
  double *times = calloc((size_t)runs, sizeof *times);
  if (times == NULL)
    fail("no memory");
  for (int i = 0; i < WARM_UP; i++)
    run_once(&client);
  for (int i = 0; i < runs; i++) {
    usleep((useconds_t)pause_us);
    times[i] = run_once(&client);
  }
  print_figures(times, runs);
  free(times);
  zmq_close(client.shell);
  zmq_close(client.iopub);
  zmq_ctx_term(client.context);
  EVP_MAC_free(client.hmac);
  free(client.file);
  return 0;
}
