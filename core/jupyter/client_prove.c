#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/jupyter/client.h"

/* Between a reply without any sign of life on iopub and the next request. A
 * subscription is effective within milliseconds, so the first look is soon. */
#define PAUSE_FIRST (10 * CLOCK_MS)
#define PAUSE_LONGEST (200 * CLOCK_MS)
/* Between requests while none was answered: kernels that start may lose one. */
#define PAUSE_UNANSWERED CLOCK_S
/* How long a kernel that replies may be silent on iopub before we believe that
 * it publishes nothing for kernel_info_request. */
#define SILENCE_ACCEPTED (3 * CLOCK_S)
/* What a kernel under load may take to answer on shell after control. */
#define SHELL_SLACK (200 * CLOCK_MS)
/* libzmq takes connections by a thread of its own, whatever the kernel runs, so
 * that a kernel which was ready once and takes none has lost its sockets. */
#define CONNECT_PATIENCE (8 * CLOCK_S)
/* Messages of the start-up that are read away at the end. */
#define DRAIN_MOST 4096

void kernel_info_free(struct kernel_info *info) {
  json_free(info->language_info);
  *info = (struct kernel_info){0};
}

/* Copies a string member, cut between characters when it is too long. */
static void copy_text(char *to, size_t size, const struct json *object,
                      const char *key) {
  const char *text = json_get_text(object, key);
  size_t length = 0, step = 0;
  if (text == NULL)
    return;
  size_t whole = strlen(text);
  while ((step = utf8_length(text + length, whole - length)) != 0 &&
         length + step < size)
    length += step;
  memcpy(to, text, length);
  to[length] = '\0';
}

static void read_info(const struct json *content, struct kernel_info *info) {
  const struct json *language = json_get(content, "language_info");
  kernel_info_free(info);
  copy_text(info->language, sizeof info->language, language, "name");
  copy_text(info->language_version, sizeof info->language_version, language,
            "version");
  copy_text(info->file_extension, sizeof info->file_extension, language,
            "file_extension");
  copy_text(info->mimetype, sizeof info->mimetype, language, "mimetype");
  copy_text(info->implementation, sizeof info->implementation, content,
            "implementation");
  copy_text(info->implementation_version, sizeof info->implementation_version,
            content, "implementation_version");
  copy_text(info->protocol_version, sizeof info->protocol_version, content,
            "protocol_version");
  if (json_kind(language) == JSON_OBJECT)
    info->language_info = json_share(language);
}

struct proof {
  struct channel *channel;
  int process_fd;
  int64_t deadline, connect_by, busy_at;
  int64_t now;
  int64_t ask_shell_at;   /* next kernel_info_request */
  int64_t ask_control_at; /* INT64_MAX: not needed */
  int64_t pause;
  int64_t replied_at; /* first reply on shell; 0: none yet */
  int64_t control_at; /* first reply on control; 0: none yet */
  bool heard;         /* iopub has delivered something */
  struct kernel_info info;
};

static void proof_free(struct proof *proof) { kernel_info_free(&proof->info); }

static int64_t earlier(int64_t a, int64_t b) { return a < b ? a : b; }

/* A peer that does not take a request now may take the next one. */
static int ask(struct proof *proof, enum channel_name name, struct err *err) {
  struct err trouble = {0};
  if (channel_send(proof->channel, name, "kernel_info_request", NULL, NULL,
                   NULL, NULL, &trouble) == 0 ||
      trouble.kind == ERR_UNAVAILABLE)
    return 0;
  return err_set(err, trouble.kind, "%s", trouble.text);
}

static int ask_when_due(struct proof *proof, struct err *err) {
  if (proof->now >= proof->ask_shell_at) {
    if (ask(proof, CHANNEL_SHELL, err) < 0)
      return -1;
    proof->ask_shell_at = proof->now + PAUSE_UNANSWERED;
  }
  if (proof->now >= proof->ask_control_at && proof->control_at == 0) {
    if (ask(proof, CHANNEL_CONTROL, err) < 0)
      return -1;
    proof->ask_control_at = proof->now + PAUSE_UNANSWERED;
  }
  return 0;
}

static void take(struct proof *proof, enum channel_name from,
                 const struct message *message) {
  if (from == CHANNEL_IOPUB) {
    proof->heard = true;
    return;
  }
  if (strcmp(message->type, "kernel_info_reply") != 0)
    return;
  if (from == CHANNEL_CONTROL) {
    if (proof->control_at == 0)
      proof->control_at = proof->now;
    return;
  }
  read_info(message->content, &proof->info);
  if (proof->replied_at == 0)
    proof->replied_at = proof->now;
  proof->ask_shell_at = proof->now + proof->pause;
  proof->pause = earlier(2 * proof->pause, PAUSE_LONGEST);
}

/* Reads what is there, on the channels of the mask. */
static int take_all(struct proof *proof, int mask, struct err *err) {
  static const enum channel_name names[] = {CHANNEL_SHELL, CHANNEL_IOPUB,
                                            CHANNEL_STDIN, CHANNEL_CONTROL};
  for (size_t i = 0; i < COUNT_OF(names); i++) {
    int left = (mask & 1 << names[i]) != 0 ? DRAIN_MOST : 0, result = 1;
    while (left-- > 0 && result > 0) {
      CLEANUP(message_free) struct message message = {0};
      result = channel_receive(proof->channel, names[i], &message, err);
      if (result > 0)
        take(proof, names[i], &message);
    }
    if (result < 0)
      return -1;
  }
  return 0;
}

static bool proven(const struct proof *proof) {
  if (proof->replied_at == 0)
    return false;
  return proof->heard || proof->now - proof->replied_at >= SILENCE_ACCEPTED;
}

/* When a kernel that answers on control but not on shell is called busy. */
static int64_t busy_from(const struct proof *proof) {
  int64_t settled = proof->control_at + SHELL_SLACK;
  return settled > proof->busy_at ? settled : proof->busy_at;
}

static int64_t next_event(const struct proof *proof) {
  int64_t at = earlier(proof->deadline, proof->ask_shell_at);
  if (proof->replied_at != 0)
    return earlier(at, proof->replied_at + SILENCE_ACCEPTED);
  if (proof->control_at != 0)
    return earlier(at, busy_from(proof));
  return earlier(at, proof->ask_control_at);
}

/* Why there is no sense in waiting longer; 0 while there is. */
static int give_up(const struct proof *proof, struct err *err) {
  if (proof->control_at != 0 && proof->replied_at == 0 &&
      proof->now >= busy_from(proof))
    return err_set(err, ERR_BUSY,
                   "the kernel is busy with something that runs already");
  if (proof->now >= proof->deadline)
    return err_set(err, ERR_TIMEOUT,
                   proof->replied_at == 0
                       ? "the kernel did not answer in time"
                       : "the kernel answered, but published nothing");
  return 0;
}

static int process_ended(struct err *err) {
  return err_set(err, ERR_UNAVAILABLE, "the kernel's process has ended");
}

static int await_connection(struct proof *proof, enum channel_name name,
                            struct err *err) {
  int connected = 0;
  while (connected == 0) {
    struct channel_watch process = {proof->process_fd, POLLIN, 0};
    connected =
        channel_wait_connected(proof->channel, name, &process, 1,
                               clock_poll_timeout(proof->connect_by), err);
    proof->now = clock_monotonic_ns();
    if (connected == 0 && process.revents != 0)
      return process_ended(err);
    if (connected == 0 && proof->now >= proof->connect_by)
      return err_set(err, ERR_TIMEOUT, "the kernel takes no connection");
  }
  return connected < 0 ? -1 : 0;
}

/* stdin and control too: a first cell may ask for input at once (the kernel
 * drops what it cannot route to us) or need an interrupt. */
static int await_connections(struct proof *proof, struct err *err) {
  return await_connection(proof, CHANNEL_SHELL, err) < 0 ||
                 await_connection(proof, CHANNEL_STDIN, err) < 0 ||
                 await_connection(proof, CHANNEL_CONTROL, err) < 0
             ? -1
             : 0;
}

static int step(struct proof *proof, struct err *err) {
  if (ask_when_due(proof, err) < 0)
    return -1;
  struct channel_watch process = {proof->process_fd, POLLIN, 0};
  int mask = channel_wait(proof->channel, &process, 1,
                          clock_poll_timeout(next_event(proof)), err);
  proof->now = clock_monotonic_ns();
  if (mask < 0 || take_all(proof, mask, err) < 0)
    return -1;
  if (process.revents != 0)
    return process_ended(err);
  return proven(proof) ? 0 : give_up(proof, err);
}

int client_prove(struct channel *channel, int process_fd, int64_t deadline_ns,
                 int64_t busy_at_ns, struct kernel_info *ret, struct err *err) {
  int64_t now = clock_monotonic_ns();
  CLEANUP(proof_free)
  struct proof proof = {
      .channel = channel,
      .process_fd = process_fd,
      .deadline = deadline_ns,
      .connect_by = busy_at_ns == 0
                        ? deadline_ns
                        : earlier(deadline_ns, now + CONNECT_PATIENCE),
      .busy_at = busy_at_ns == 0 ? INT64_MAX : busy_at_ns,
      .now = now,
      /* Half-way, so that a kernel at ease is not asked twice. */
      .ask_control_at =
          busy_at_ns == 0 ? INT64_MAX : now + (busy_at_ns - now) / 2,
      .pause = PAUSE_FIRST,
  };
  if (await_connections(&proof, err) < 0)
    return -1;
  while (!proven(&proof))
    if (step(&proof, err) < 0)
      return -1;
  const int everything = (1 << CHANNEL_COUNT) - 1;
  if (take_all(&proof, everything, err) < 0)
    return -1;
  *ret = proof.info;
  proof.info = (struct kernel_info){0};
  return 0;
}
