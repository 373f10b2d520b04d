/* The program `cellpost`: serves HTTP behind a web server, and tells about its
 * configuration and its host. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/conf/conf.h"
#include "core/feed/publisher.h"
#include "core/run/engine.h"
#include "core/upkeep/routine.h"
#include "fcgi/cli/doctor.h"
#include "fcgi/cli/privilege.h"
#include "fcgi/cli/upkeep.h"
#include "fcgi/http/dispatch.h"
#include "fcgi/transport/door.h"
#include "fcgi/transport/listener.h"
#include "fcgi/transport/server.h"
#include "fcgi/version.h"

#define DEFAULT_CONF "/etc/cellpost/cellpost.conf"

/* A verb returns the exit status (-1 stands for 1), with *err set unless it is
 * 0. `argument` is NULL unless the table says that it takes one. */
typedef int verb(const struct conf *conf, const char *argument,
                 struct err *err);

static int fail(struct err *err) {
  fprintf(stderr, "cellpost: %s\n", err->text);
  return EXIT_FAILURE;
}

static void start_log(const struct conf *conf) {
  enum log_level level = LOG_LEVEL_INFO;
  log_level_from_name(conf->log_level, &level);
  log_init(STDERR_FILENO, level, "cellpost");
}

/* As many descriptors as the host lets us have. */
static void raise_limits(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

static int open_engine(const struct conf *conf, struct engine **engine,
                       struct err *err) {
  server_block_signals();
  if (engine_open(conf, engine, err) < 0)
    return -1;
  return engine_start(*engine, err);
}

static int serve(const struct conf *conf, const char *argument,
                 struct err *err) {
  (void)argument;
  struct listener listener;
  struct engine *engine;
  start_log(conf);
  raise_limits();
  int root = privilege_drop(conf, err);
  if (root < 0 || listener_open(conf->listen, &listener, err) < 0)
    return -1;
  if (root == 1)
    log_warning("running as root, because the configuration says so");
  if (open_engine(conf, &engine, err) < 0) {
    listener_stop(&listener);
    return -1;
  }
  struct routine *routine = NULL;
  struct publisher *publisher = NULL;
  int result = routine_start(conf, engine_store(engine), &routine, err);
  if (result == 0)
    result = publisher_start(conf, engine_store(engine), &publisher, err);
  if (result == 0)
    result = server_run(engine, &listener, err);
  else
    listener_stop(&listener);
  log_info("stopped");
  if (result == 1)
    _exit(EXIT_SUCCESS); /* threads still use everything */
  publisher_stop(publisher);
  routine_stop(routine);
  engine_close(engine, 0);
  listener_close(&listener);
  return result;
}

/* One request of a web server that starts a process for each. Signals do not
 * cut it off: the run would be lost. */
static int serve_cgi(const struct conf *conf, const char *argument,
                     struct err *err) {
  (void)argument;
  struct engine *engine;
  struct metrics metrics = {.threads = 1};
  start_log(conf);
  raise_limits();
  if (privilege_drop(conf, err) < 0 || open_engine(conf, &engine, err) < 0)
    return -1;
  run_places_open(&metrics.places, metrics.threads);
  struct door *door = door_open_cgi();
  dispatch(engine, &metrics, NULL, door);
  door_close(door);
  engine_close(engine, 0);
  return 0;
}

static int print_conf(const struct conf *conf, const char *argument,
                      struct err *err) {
  (void)argument;
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_SMALL);
  if (conf_describe(conf, &text) != 0 ||
      fwrite(buf_string(&text), 1, text.length, stdout) != text.length)
    return err_set(err, ERR_IO, "cannot write the configuration");
  return 0;
}

static int examine(const struct conf *conf, const char *argument,
                   struct err *err) {
  (void)argument;
  int missing = doctor_report(conf, stdout);
  if (missing == 0)
    return 0;
  return err_set(err, ERR_UNAVAILABLE, "%d needed things are missing", missing);
}

static int print_version(const struct conf *conf, const char *argument,
                         struct err *err) {
  (void)argument;
  (void)conf;
  (void)err;
  puts("cellpost " CELLPOST_VERSION);
  return 0;
}

static const struct verb_entry {
  const char *name;
  const char *argument; /* NULL: it takes none */
  verb *run;
  const char *meaning;
} verbs[] = {
    {"serve", NULL, serve, "answer HTTP requests over FastCGI (the default)"},
    {"config", NULL, print_conf,
     "print every key with its meaning and its value"},
    {"doctor", NULL, examine, "tell what this host can enforce, a line each"},
    {"verify", NULL, upkeep_verify,
     "check history, artifacts and notebooks; 1: a discrepancy"},
    {"gc", NULL, upkeep_gc,
     "remove what [retention] calls too old or too much"},
    {"backup", "FILE", upkeep_backup, "copy the database while it is in use"},
    {"version", NULL, print_version, "print the version"},
};

static void print_help(FILE *out) {
  fputs("Usage: cellpost [-c FILE] [VERB]\n\n"
        "Runs cells of code in Jupyter kernels, one task a kernel, over HTTP."
        "\n\nVerbs:\n",
        out);
  for (size_t i = 0; i < COUNT_OF(verbs); i++)
    fprintf(out, "  %-7s %-4s  %s\n", verbs[i].name,
            verbs[i].argument == NULL ? "" : verbs[i].argument,
            verbs[i].meaning);
  fputs("\nOptions:\n"
        "  -c, --config FILE  the configuration; else $CELLPOST_CONF, else\n"
        "                     " DEFAULT_CONF " if it is there\n"
        "  -h, --help         this text\n"
        "\nStarted by a web server as a CGI program it serves that one "
        "request.\n",
        out);
}

/* -1: go on; else the exit status. */
static int read_options(int count, char **arguments, const char **path) {
  static const struct option options[] = {
      {"config", required_argument, NULL, 'c'},
      {"help", no_argument, NULL, 'h'},
      {"version", no_argument, NULL, 'V'},
      {NULL, 0, NULL, 0}};
  for (int option;
       (option = getopt_long(count, arguments, "c:h", options, NULL)) != -1;) {
    if (option == 'c') {
      *path = optarg;
    } else if (option == 'h') {
      print_help(stdout);
      return EXIT_SUCCESS;
    } else if (option == 'V') {
      return print_version(NULL, NULL, NULL);
    } else {
      print_help(stderr);
      return EXIT_FAILURE;
    }
  }
  return -1;
}

/* The verb that the words behind the options name; NULL: none, or not with so
 * many arguments. */
static const struct verb_entry *find_verb(int count, char **words) {
  const char *name = count == 0 ? "serve" : words[0];
  for (size_t i = 0; i < COUNT_OF(verbs); i++)
    if (strcmp(verbs[i].name, name) == 0 &&
        count == (count == 0 ? 0 : 1 + (verbs[i].argument != NULL)))
      return &verbs[i];
  return NULL;
}

static int load_conf(const char *path, struct conf **conf, struct err *err) {
  if (path == NULL)
    path = getenv("CELLPOST_CONF");
  if (path == NULL && access(DEFAULT_CONF, F_OK) == 0)
    path = DEFAULT_CONF;
  return conf_load(path, conf, err);
}

int main(int count, char **arguments) {
  struct err err = {.kind = ERR_NONE};
  CLEANUP(conf_done) struct conf *conf = NULL;
  const char *path = NULL;
  if (door_init() != 0) {
    err_set(&err, ERR_INTERNAL, "libfcgi cannot be set up");
    return fail(&err);
  }
  static const struct verb_entry cgi = {.run = serve_cgi};
  const struct verb_entry *entry = &cgi;
  /* The arguments of a CGI program come from the client (RFC 3875, 4.4). */
  if (!door_is_cgi()) {
    int status = read_options(count, arguments, &path);
    if (status >= 0)
      return status;
    entry = find_verb(count - optind, arguments + optind);
  }
  if (entry == NULL) {
    print_help(stderr);
    return EXIT_FAILURE;
  }
  const char *argument = entry->argument == NULL ? NULL : arguments[optind + 1];
  int status = load_conf(path, &conf, &err);
  if (status == 0)
    status = entry->run(conf, argument, &err);
  if (status != 0)
    fail(&err);
  return status < 0 ? EXIT_FAILURE : status;
}
