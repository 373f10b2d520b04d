/* What `1+1` costs through core/jupyter alone, to be compared with raw_client
 * on the same kernel: the difference is what that room adds.
 *
 *   channel_client CONNECTION_FILE N
 *
 * prints the figures of raw_client, as client "channel". */
#include <stdio.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/jupyter/client.h"

enum { WARM_UP = 20, PATIENCE_MS = 30000 };

static struct err err;

static void require(bool holds, const char *what) {
  if (holds)
    return;
  fprintf(stderr, "channel_client: %s: %s\n", what, err.text);
  exit(1);
}

static void take_all(struct channel *channel, enum channel_name name,
                     struct execution *execution) {
  for (;;) {
    CLEANUP(message_free) struct message message = {0};
    int result = channel_receive(channel, name, &message, &err);
    require(result >= 0, "receive");
    if (result == 0)
      return;
    client_observe(execution, name, &message);
  }
}

static int64_t run_once(struct channel *channel) {
  struct execute_options options = {.store_history = true};
  CLEANUP(execution_free) struct execution execution;
  int64_t start = clock_monotonic_ns();
  require(client_execute(channel, "1+1", 3, &options, &execution, &err) == 0,
          "execute");
  while (!client_finished(&execution)) {
    int mask = channel_wait(channel, NULL, 0, PATIENCE_MS, &err);
    require(mask > 0, "no answer");
    for (enum channel_name name = 0; name < CHANNEL_HEARTBEAT; name++)
      if ((mask & 1 << name) != 0)
        take_all(channel, name, &execution);
  }
  require(!execution.failed, "1+1 failed");
  return clock_monotonic_ns() - start;
}

static int compare(const void *a, const void *b) {
  int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
  return (left > right) - (left < right);
}

static void print_figures(int64_t *times, int runs) {
  printf("{\"client\":\"channel\",\"runs\":%d,\"samples_us\":[", runs);
  for (int i = 0; i < runs; i++)
    printf("%s%.1f", i == 0 ? "" : ",", (double)times[i] / 1e3);
  qsort(times, (size_t)runs, sizeof *times, compare);
  int p99 = (runs * 99 + 99) / 100 - 1;
  printf("],\"median_us\":%.1f,\"p99_us\":%.1f,\"min_us\":%.1f}\n",
         (double)times[runs / 2] / 1e3, (double)times[p99] / 1e3,
         (double)times[0] / 1e3);
}

static struct channel *connect_to(struct channel_context *context,
                                  const char *path) {
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_SMALL);
  struct connection connection;
  struct channel *channel = NULL;
  CLEANUP(kernel_info_free) struct kernel_info info = {0};
  FILE *file = fopen(path, "r");
  require(file != NULL && fs_read_all(fileno(file), &text, &err) == 0, path);
  fclose(file);
  require(connection_parse(text.data, text.length, &connection, &err) == 0,
          path);
  require(channel_open(context, &connection, &channel, &err) == 0, "connect");
  require(client_prove(channel, -1, clock_monotonic_ns() + 30 * CLOCK_S, 0,
                       &info, &err) == 0,
          "prove");
  return channel;
}

int main(int count, char **arguments) {
  int runs = count == 3 ? atoi(arguments[2]) : 0;
  if (runs < 1) {
    fputs("usage: channel_client CONNECTION_FILE N\n", stderr);
    return 2;
  }
  struct channel_context *context = NULL;
  require(channel_context_new(&context, &err) == 0, "context");
  struct channel *channel = connect_to(context, arguments[1]);
  int64_t *times = mem_array((size_t)runs, sizeof *times);
  for (int i = 0; i < WARM_UP; i++)
    run_once(channel);
  for (int i = 0; i < runs; i++)
    times[i] = run_once(channel);
  print_figures(times, runs);
  free(times);
  channel_close(channel);
  channel_context_free(context);
  return 0;
}
