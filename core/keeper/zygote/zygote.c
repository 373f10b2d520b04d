#include "core/keeper/zygote/zygote.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/layout.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/keeper/kernels/environment.h"
#include "core/keeper/kernels/profile.h"
#include "core/keeper/zygote/zygote_packages.h"
#include "core/keeper/zygote/zygote_process.h"
#include "core/keeper/zygote/zygote_words.h"

#define MOST 8                    /* kinds */
#define READY_NS (120 * CLOCK_S)  /* for the imports */
#define LEAVE_NS (5 * CLOCK_S)    /* from the end of the channel to SIGKILL */
#define SETTLED_NS (60 * CLOCK_S) /* then earlier failures are forgiven */

enum state {
  REFUSED,  /* there will be none */
  STARTING, /* until `due` */
  READY,
  FAILED,  /* until `due`, then started again */
  LEAVING, /* replaced; killed at `due` */
};

struct zygote {
  struct zygote *next;
  struct keeper *keeper;
  char *name;         /* the kernelspec's */
  char *note;         /* why it is refused or has failed; or NULL */
  char **program;     /* the interpreter and its options */
  char *arguments;    /* of its kernels, as zygote.py wants them */
  char **environment; /* its own */
  enum state state;
  int64_t number; /* while it is ready; else 0 */
  pid_t pid;
  struct loop_source end, channel;
  struct zygote_words words;
  struct zygote_packages packages;
  int64_t started_at, ready_at, due; /* monotonic */
  unsigned failures;                 /* in a row */
};

static void on_end(void *context);
static void on_channel(void *context);

static void drop_channels(struct zygote *zygote) {
  loop_remove(&zygote->keeper->loop, &zygote->channel);
  zygote_words_close(&zygote->words);
}

static void zygote_free(struct zygote *zygote) {
  drop_channels(zygote);
  loop_remove(&zygote->keeper->loop, &zygote->end);
  zygote_packages_clear(&zygote->packages);
  free(zygote->name);
  free(zygote->note);
  kernelspec_free_argv(zygote->program);
  free(zygote->arguments);
  environment_free(zygote->environment);
  free(zygote);
}

static void set_note(struct zygote *zygote, const char *note) {
  free(zygote->note);
  zygote->note = note == NULL ? NULL : mem_copy_text(note);
}

static void fail(struct zygote *zygote, const char *why) {
  zygote_words_take(&zygote->words);
  set_note(zygote, why);
  log_warning("zygote %s: %s: kernels start without it for now", zygote->name,
              why);
  drop_channels(zygote);
  zygote_packages_clear(&zygote->packages);
  if (zygote->ready_at != 0 &&
      clock_monotonic_ns() - zygote->ready_at > SETTLED_NS)
    zygote->failures = 0;
  zygote->state = FAILED;
  zygote->number = 0;
  zygote->due = clock_monotonic_ns() + zygote_pause_ns(zygote->failures++);
  if (zygote->end.descriptor >= 0)
    kill(zygote->pid, SIGKILL);
}

static void leave(struct zygote *zygote) {
  drop_channels(zygote);
  zygote->state = LEAVING;
  zygote->number = 0;
  zygote->due = clock_monotonic_ns() + LEAVE_NS;
}

static int watch(struct zygote *zygote, struct loop_source *source,
                 int descriptor, void (*ready)(void *), struct err *err) {
  *source = (struct loop_source){descriptor, ready, zygote};
  if (descriptor < 0)
    return err_set(err, ERR_IO, "it cannot be watched");
  if (loop_add(&zygote->keeper->loop, source, err) >= 0)
    return 0;
  mem_close_descriptor(&source->descriptor);
  return -1;
}

static int start_process(struct zygote *zygote, struct err *err) {
  struct keeper *keeper = zygote->keeper;
  struct zygote_process process;
  const struct zygote_order order = {.program = zygote->program,
                                     .name = zygote->name,
                                     .arguments = zygote->arguments,
                                     .preload = keeper->conf->preload,
                                     .environment = zygote->environment};
  if (zygote_process_start(&order, &process, err) < 0)
    return -1;
  zygote->pid = process.pid;
  int failed = watch(zygote, &zygote->end, process.end, on_end, err);
  failed |= watch(zygote, &zygote->channel, process.channel, on_channel, err);
  failed |= zygote_words_open(&zygote->words, &keeper->loop, zygote->name,
                              process.words, err);
  return failed;
}

static void start(struct zygote *zygote) {
  struct err err = {0};
  zygote->state = STARTING;
  zygote->started_at = clock_monotonic_ns();
  zygote->ready_at = 0;
  zygote->due = zygote->started_at + READY_NS;
  if (start_process(zygote, &err) < 0)
    fail(zygote, err.text);
}

static void say_end(const struct zygote *zygote, int status) {
  if (WIFSIGNALED(status))
    log_info("zygote %s was ended by signal %d", zygote->name,
             WTERMSIG(status));
  else
    log_info("zygote %s ended with exit code %d", zygote->name,
             WEXITSTATUS(status));
}

/* Reaps it. A process that ends unasked is started again. */
static void on_end(void *context) {
  struct zygote *zygote = context;
  int status = 0;
  zygote_words_take(&zygote->words);
  loop_remove(&zygote->keeper->loop, &zygote->end);
  if (waitpid(zygote->pid, &status, 0) == zygote->pid &&
      zygote->state != LEAVING)
    say_end(zygote, status);
  if (zygote->state == STARTING || zygote->state == READY)
    fail(zygote, "it has ended");
}

/* The only thing that it says unasked. */
static void on_channel(void *context) {
  struct zygote *zygote = context;
  static char text[BUF_CONTROL_MESSAGE];
  struct err err = {0};
  ssize_t got =
      recv(zygote->channel.descriptor, text, sizeof text, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR))
    return;
  if (got <= 0 || zygote->state != STARTING) {
    fail(zygote, "it has closed its channel");
    return;
  }
  if (zygote_packages_read(text, (size_t)got, &zygote->packages, &err) < 0) {
    fail(zygote, err.text);
    return;
  }
  zygote->state = READY;
  set_note(zygote, NULL);
  zygote->ready_at = clock_monotonic_ns();
  zygote->number = ++zygote->keeper->zygotes_made;
  log_info("zygote %s is ready, pid %d, after %lld ms", zygote->name,
           (int)zygote->pid,
           (long long)((zygote->ready_at - zygote->started_at) / CLOCK_MS));
}

static struct zygote *find(const struct keeper *keeper, const char *name) {
  for (struct zygote *zygote = keeper->zygotes; zygote != NULL;
       zygote = zygote->next)
    if (zygote->state != LEAVING && strcmp(zygote->name, name) == 0)
      return zygote;
  return NULL;
}

/* The interpreter and its options: everything before "-m". */
static char **program_of(const struct kernelspec *spec) {
  char **list = kernelspec_expand_argv(spec, "");
  size_t count = 0;
  while (strcmp(list[count], "-m") != 0)
    count++;
  for (size_t i = count; list[i] != NULL; i++) {
    free(list[i]);
    if (i > count)
      list[i] = NULL;
  }
  list[count] = NULL;
  return list;
}

static void free_program(char ***list) { kernelspec_free_argv(*list); }

static bool is_same_list(char *const *one, char *const *other) {
  while (*one != NULL && *other != NULL && strcmp(*one, *other) == 0)
    one++, other++;
  return *one == NULL && *other == NULL;
}

/* Everything after the module's name; the file is named later. */
static char *arguments_of(const struct kernelspec *spec) {
  char **list = profile_arguments(spec, "{connection_file}");
  CLEANUP(json_done) struct json *words = json_array();
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_LINE);
  size_t place = 0;
  while (strcmp(list[place], "-m") != 0)
    place++;
  for (place += 2; list[place] != NULL; place++)
    json_push(words, json_string(list[place]));
  kernelspec_free_argv(list);
  json_write(words, &text);
  return buf_take(&text);
}

static char **environment_of(const struct keeper *keeper,
                             const struct kernelspec *spec) {
  struct kernel_limits limits;
  CLEANUP(mem_free_pointer)
  char *home = mem_format("%s/" LAYOUT_ZYGOTE, keeper->places.run);
  const struct profile_places places = {home, home, home};
  if (kernel_limits_read(keeper->conf, NULL, &limits, NULL) < 0)
    return NULL;
  return profile_environment(keeper, spec, &limits, &places, NULL);
}

static void make(struct keeper *keeper, const struct kernelspec *spec) {
  struct zygote *zygote = mem_new(sizeof *zygote);
  *zygote = (struct zygote){
      .next = keeper->zygotes,
      .keeper = keeper,
      .name = mem_copy_text(spec->name),
      .program = program_of(spec),
      .arguments = arguments_of(spec),
      .environment = environment_of(keeper, spec),
      .end.descriptor = -1,
      .channel.descriptor = -1,
      .words.source.descriptor = -1,
  };
  keeper->zygotes = zygote;
  CLEANUP(mem_free_pointer)
  char *distrust =
      zygote_process_distrust(zygote->program[0], zygote->environment);
  if (distrust == NULL) {
    start(zygote);
    return;
  }
  zygote->state = REFUSED;
  set_note(zygote, distrust);
  log_info("kernels of %s start without a zygote: %s", spec->name, distrust);
}

static size_t count_kinds(const struct keeper *keeper) {
  size_t count = 0;
  for (const struct zygote *zygote = keeper->zygotes; zygote != NULL;
       zygote = zygote->next)
    count++;
  return count;
}

/* Ready or on the way, with the packages and the program of today. */
static struct zygote *have(struct keeper *keeper,
                           const struct kernelspec *spec) {
  struct zygote *zygote = find(keeper, spec->name);
  CLEANUP(free_program) char **program = program_of(spec);
  CLEANUP(mem_free_pointer) char *arguments = arguments_of(spec);
  const char *changed =
      zygote == NULL ? NULL : zygote_packages_changed(&zygote->packages);
  if (changed != NULL)
    log_info("zygote %s is replaced: %s has changed", spec->name, changed);
  if (zygote != NULL &&
      (changed != NULL || !is_same_list(program, zygote->program) ||
       strcmp(arguments, zygote->arguments) != 0)) {
    leave(zygote);
    zygote = NULL;
  }
  if (zygote == NULL && count_kinds(keeper) < MOST)
    make(keeper, spec);
  return find(keeper, spec->name);
}

struct zygote *zygote_find(struct keeper *keeper, const struct kernelspec *spec,
                           char *const *environment) {
  if (!keeper->conf->warm || keeper->closing || !zygote_suits(spec->argv))
    return NULL;
  struct zygote *zygote = have(keeper, spec);
  if (zygote == NULL || zygote->state != READY ||
      !zygote_agrees(environment, zygote->environment, keeper->conf->preload))
    return NULL;
  return zygote;
}

struct json *zygote_describe(const struct keeper *keeper) {
  static const char *const states[] = {[REFUSED] = "refused",
                                       [STARTING] = "starting",
                                       [READY] = "ready",
                                       [FAILED] = "failed"};
  struct json *list = json_array();
  for (const struct zygote *zygote = keeper->zygotes; zygote != NULL;
       zygote = zygote->next) {
    if (zygote->state == LEAVING)
      continue;
    struct json *object = json_object();
    json_set_text(object, "kernelspec", zygote->name);
    json_set_text(object, "state", states[zygote->state]);
    json_set_text(object, "note", zygote->note == NULL ? "" : zygote->note);
    json_push(list, object);
  }
  return list;
}

int zygote_start(struct zygote *zygote, const struct shim_order *order,
                 struct shim_process *ret, struct err *err) {
  struct err fault = {0};
  int result =
      zygote_process_fork(zygote->channel.descriptor, order, ret, &fault);
  if (result < 0 && fault.kind == ERR_PROTOCOL)
    fail(zygote, fault.text);
  if (result < 0)
    err_set(err, fault.kind == ERR_PROTOCOL ? ERR_UNAVAILABLE : fault.kind,
            "zygote %s: %s", zygote->name, fault.text);
  return result;
}

int64_t zygote_number(const struct zygote *zygote) { return zygote->number; }

bool zygote_is_current(const struct keeper *keeper, int64_t number) {
  for (const struct zygote *zygote = keeper->zygotes; zygote != NULL;
       zygote = zygote->next)
    if (zygote->number == number)
      return number != 0 && zygote_packages_changed(&zygote->packages) == NULL;
  return false;
}

static int64_t turn(struct zygote *zygote, int64_t now) {
  if (zygote->state == READY || zygote->state == REFUSED)
    return KEEPER_NEVER;
  if (now < zygote->due)
    return zygote->due;
  if (zygote->state == STARTING)
    fail(zygote, "it is not ready in time");
  else if (zygote->end.descriptor >= 0) {
    kill(zygote->pid, SIGKILL);
    zygote->due = now + LEAVE_NS;
  } else if (zygote->state == FAILED && !zygote->keeper->closing)
    start(zygote);
  else
    return KEEPER_NEVER;
  return zygote->due;
}

int64_t zygote_turn(struct keeper *keeper) {
  int64_t next = KEEPER_NEVER, now = clock_monotonic_ns();
  struct zygote **place = &keeper->zygotes;
  while (*place != NULL) {
    struct zygote *zygote = *place;
    if (zygote->state == LEAVING && zygote->end.descriptor < 0) {
      *place = zygote->next;
      zygote_free(zygote);
      continue;
    }
    next = clock_sooner(next, turn(zygote, now));
    place = &zygote->next;
  }
  return next;
}

void zygote_close(struct keeper *keeper) {
  while (keeper->zygotes != NULL) {
    struct zygote *zygote = keeper->zygotes;
    keeper->zygotes = zygote->next;
    if (zygote->end.descriptor >= 0) {
      kill(zygote->pid, SIGKILL);
      waitpid(zygote->pid, NULL, 0);
    }
    zygote_free(zygote);
  }
}
