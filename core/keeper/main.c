/* cellpost-keeper: starts, watches and ends kernels. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/id.h"
#include "core/base/layout.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/control/control.h"
#include "core/control/control_report.h"
#include "core/keeper/adopt.h"
#include "core/keeper/cull.h"
#include "core/keeper/kernels/keeper.h"
#include "core/keeper/kernels/registry.h"
#include "core/keeper/kernels/sockets.h"
#include "core/keeper/launch/launch.h"
#include "core/keeper/launch/spare.h"
#include "core/keeper/server.h"
#include "core/keeper/shim/shim.h"
#include "core/keeper/verbs.h"
#include "core/keeper/warm_report.h"
#include "core/keeper/zygote/zygote.h"
#include "core/process/process.h"

#define JAILS_NS (3 * CLOCK_S)
#define STOP_PATIENCE_S 60 /* for --stop-kernels, beyond the grace */

struct options {
  const char *conf;
  bool check, layers, stop_kernels;
};

static const char usage[] =
    "usage: cellpost-keeper [-n | --layers | --stop-kernels] [-c FILE]\n"
    "\n"
    "Starts, watches and ends the kernels of Cellpost.\n"
    "\n"
    "  -c, --config FILE   the configuration (default: none, all defaults)\n"
    "  -n, --check         check the configuration and end\n"
    "      --layers        tell in JSON what would confine kernels, and end\n"
    "      --stop-kernels  end every kernel and the keeper that runs, then "
    "end\n"
    "  -h, --help          this text\n"
    "\n"
    "SIGTERM and SIGINT end the keeper and leave the kernels alone; the next\n"
    "keeper finds them again.\n";

static int fail(const struct err *err) {
  log_error("%s", err->text);
  return EXIT_FAILURE;
}

/* Returns -1 to go on, else the exit code. */
static int parse_options(int argc, char **argv, struct options *ret) {
  static const struct option names[] = {
      {"config", required_argument, NULL, 'c'},
      {"check", no_argument, NULL, 'n'},
      {"layers", no_argument, NULL, 'l'},
      {"stop-kernels", no_argument, NULL, 's'},
      {"help", no_argument, NULL, 'h'},
      {0},
  };
  int option;
  while ((option = getopt_long(argc, argv, "c:nh", names, NULL)) != -1) {
    if (option == 'c')
      ret->conf = optarg;
    else if (option == 'n')
      ret->check = true;
    else if (option == 'l')
      ret->layers = true;
    else if (option == 's')
      ret->stop_kernels = true;
    else
      return fputs(usage, option == 'h' ? stdout : stderr) < 0 || option != 'h';
  }
  if (optind == argc)
    return -1;
  fputs(usage, stderr);
  return EXIT_FAILURE;
}

/* A descriptor below 3 that is closed would be given to a file of ours, and a
 * shim would take it for its stdin. */
static void fill_standard_descriptors(void) {
  int descriptor;
  do
    descriptor = open("/dev/null", O_RDWR | O_CLOEXEC);
  while (descriptor >= 0 && descriptor < 3);
  mem_close_descriptor(&descriptor);
}

static void on_signal(void *context) {
  struct keeper *keeper = context;
  keeper->done = true;
}

static int watch_signals(struct keeper *keeper, struct loop_source *source,
                         struct err *err) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigprocmask(SIG_BLOCK, &set, NULL);
  signal(SIGPIPE, SIG_IGN);
  *source = (struct loop_source){signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK),
                                 on_signal, keeper};
  if (source->descriptor < 0)
    return err_errno(err, ERR_IO, errno, "cannot watch signals");
  return loop_add(&keeper->loop, source, err);
}

/* For those who look into the registry only: kernels are looked after all the
 * same. When to try again. */
static int64_t record_start(struct keeper *keeper) {
  struct err err = {0};
  int64_t pid = getpid(), now = clock_monotonic_ns();
  if (keeper->instance_at == KEEPER_NEVER || now < keeper->instance_at)
    return keeper->instance_at;
  store_set_patience(KEEPER_PATIENCE_NS);
  if (store_instance_start(keeper->store, keeper->instance, "cellpost-keeper",
                           pid, process_start_time(pid), &err) >= 0)
    return keeper->instance_at = KEEPER_NEVER;
  if (err.kind == ERR_UNAVAILABLE)
    return keeper->instance_at = now + CLOCK_S;
  log_warning("this start cannot be recorded: %s", err.text);
  return keeper->instance_at = KEEPER_NEVER;
}

/* Ends first, then those who wait for them, then what time asks for. */
static void run(struct keeper *keeper, bool until_empty) {
  while (!keeper->done) {
    registry_turn(keeper);
    int64_t next = verbs_turn(keeper);
    next = clock_sooner(next, registry_turn(keeper));
    if (keeper->done || (until_empty && keeper->kernels == NULL))
      return;
    next = clock_sooner(next, record_start(keeper));
    next = clock_sooner(next, cull_turn(keeper));
    next = clock_sooner(next, zygote_turn(keeper));
    next = clock_sooner(next, spare_turn(keeper));
    next = clock_sooner(next, server_turn(keeper));
    warm_report_turn(keeper);
    loop_turn(&keeper->loop,
              next == KEEPER_NEVER ? -1 : clock_poll_timeout(next));
  }
}

/* Two pidfds a kernel, one descriptor a client, and what else there is. The
 * kernels keep the limit that the keeper was started with: programs that use
 * select(2) rely on it. */
static void raise_descriptor_limit(const struct conf *conf, struct jail *jail) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
    return;
  rlim_t wanted = (rlim_t)conf->max_kernels * 3 + 2048;
  jail->limits.open_files = (int64_t)limit.rlim_cur;
  if (limit.rlim_cur >= wanted)
    return;
  limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
    log_warning("the limit of open files cannot be raised");
}

/* Control groups of kernels that have ended may be busy for a moment. */
static void await_jails(struct keeper *keeper) {
  int64_t end = clock_monotonic_ns() + JAILS_NS, next;
  while ((next = jail_host_turn(keeper->jails)) < end)
    poll(NULL, 0, clock_poll_timeout(next));
}

/* Without a socket when it is only there to end what another one left. */
static int serve(struct keeper *keeper, bool stop_kernels, struct err *err) {
  struct loop_source signals;
  if (watch_signals(keeper, &signals, err) < 0 || adopt_all(keeper, err) < 0)
    return -1;
  if (stop_kernels)
    verbs_stop_all(keeper, "The service was shut down.");
  else if (server_open(keeper, err) < 0 || spare_open(keeper, err) < 0)
    return -1;
  else
    launch_prepare(keeper);
  log_info("ready");
  run(keeper, stop_kernels);
  await_jails(keeper);
  log_info("ends");
  loop_remove(&keeper->loop, &signals);
  return 0;
}

static void log_layers(const struct jail_survey *survey) {
  for (size_t i = 0; i < JAIL_LAYERS; i++) {
    enum jail_layer layer = (enum jail_layer)i;
    const struct jail_status *status = &survey->status[layer];
    CLEANUP(mem_free_pointer)
    char *line = mem_format("jail: %s is %s: %s (%s)", jail_layer_name(layer),
                            jail_survey_state(status->state), status->note,
                            jail_layer_meaning(layer));
    if (status->state == JAIL_OFF || status->state == JAIL_DEGRADED)
      log_warning("%s", line);
    else
      log_debug("%s", line);
  }
}

/* What confines kernels here, tried out in a directory like theirs. */
static int survey_host(struct keeper *keeper, struct err *err) {
  const struct places *places = &keeper->places;
  char id[ID_UUID_SIZE];
  id_new(id);
  CLEANUP(mem_free_pointer)
  char *scratch = mem_format("%s/" LAYOUT_KERNELS "/%s", places->run, id);
  CLEANUP(mem_free_pointer)
  char *tasks = mem_format("%s/" LAYOUT_TASKS, places->state);
  CLEANUP(mem_close_descriptor)
  int directory = fs_make_and_open(places->kernels, id, 0700, err);
  if (directory < 0)
    return -1;
  int result = jail_host_open(keeper->conf, &places->jail, scratch, tasks,
                              &keeper->jails, err);
  fs_remove_tree(places->kernels, id, NULL);
  if (keeper->jails == NULL)
    return -1;
  const struct jail_survey *survey = jail_host_survey(keeper->jails);
  CLEANUP(json_done) struct json *report = jail_survey_describe(survey);
  if (control_report_write(places->run_fd, LAYOUT_JAIL_REPORT, report, NULL) <
      0)
    log_warning("what confines kernels cannot be written to %s", places->run);
  if (keeper->conf->jail == CONF_JAIL_OFF)
    log_warning("jail = off: kernels are not confined");
  else
    log_layers(survey);
  return result;
}

static void record_end(struct keeper *keeper) {
  struct err err = {0};
  if (keeper->store != NULL &&
      store_instance_end(keeper->store, keeper->instance, &err) < 0)
    log_warning("this end cannot be recorded: %s", err.text);
}

/* To end all kernels neither the database nor a whole jail is needed. */
static int open_all(struct keeper *keeper, bool stop_kernels, struct err *err) {
  const struct conf *conf = keeper->conf;
  if (survey_host(keeper, err) < 0 && (!stop_kernels || keeper->jails == NULL))
    return -1;
  id_new(keeper->instance);
  if (store_open(keeper->places.database, conf->sync, &keeper->store, err) <
      0) {
    if (!stop_kernels)
      return -1;
    log_warning("%s", err->text);
    keeper->instance_at = KEEPER_NEVER;
  }
  if (loop_open(&keeper->loop, err) < 0)
    return -1;
  sockets_open(keeper);
  return 0;
}

static int keep(const struct conf *conf, bool stop_kernels, struct err *err) {
  struct keeper keeper = {.conf = conf,
                          .sockets.descriptor = -1,
                          .loop.epoll = -1,
                          .listener.descriptor = -1,
                          .spare = -1};
  if (places_open(conf, &keeper.places, err) < 0)
    return -1;
  raise_descriptor_limit(conf, &keeper.places.jail);
  int result = open_all(&keeper, stop_kernels, err);
  if (result >= 0)
    result = serve(&keeper, stop_kernels, err);
  server_close(&keeper);
  spare_close(&keeper);
  zygote_close(&keeper);
  free(keeper.warm_told);
  sockets_close(&keeper);
  registry_close(&keeper);
  jail_host_close(keeper.jails);
  loop_close(&keeper.loop);
  if (result >= 0)
    record_end(&keeper);
  store_close(keeper.store);
  places_close(&keeper.places);
  return result;
}

static int print_layers(const struct conf *conf, struct err *err) {
  CLEANUP(json_done) struct json *report = NULL;
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_SMALL);
  if (jail_survey_try(conf, &report, err) < 0)
    return -1;
  if (json_write(report, &text) < 0 || puts(buf_string(&text)) < 0)
    return err_set(err, ERR_IO, "cannot write the layers");
  return 0;
}

/* Asks the keeper that runs; when none does, becomes one for the purpose. */
static int stop_kernels(const struct conf *conf, struct err *err) {
  CLEANUP(mem_free_pointer)
  char *path = mem_format("%s/" LAYOUT_KEEPER_SOCKET, conf->run_directory);
  double limit = conf->terminate_grace + STOP_PATIENCE_S;
  if (control_shutdown(path, (int)(limit * 1000.0), err) >= 0)
    return 0;
  return err->kind == ERR_UNAVAILABLE ? keep(conf, true, err) : -1;
}

int main(int argc, char **argv) {
  struct options options = {0};
  struct err err = {0};
  CLEANUP(conf_done) struct conf *conf = NULL;
  enum log_level level = LOG_LEVEL_INFO;
  fill_standard_descriptors();
  umask(022);
  log_init(STDERR_FILENO, level, "cellpost-keeper");
  int code = parse_options(argc, argv, &options);
  if (code >= 0)
    return code;
  if (conf_load(options.conf, &conf, &err) < 0)
    return fail(&err);
  if (options.check)
    return puts("The configuration is right.") < 0;
  log_level_from_name(conf->log_level, &level);
  log_init(STDERR_FILENO, level, "cellpost-keeper");
  shim_take_title_room(argv);
  int result = options.layers         ? print_layers(conf, &err)
               : options.stop_kernels ? stop_kernels(conf, &err)
                                      : keep(conf, false, &err);
  return result == 0 ? EXIT_SUCCESS : fail(&err);
}
