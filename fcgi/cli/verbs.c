#include "fcgi/cli/verbs.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/layout.h"
#include "core/base/mem.h"
#include "core/base/version.h"
#include "core/run/admin/rebuild.h"
#include "core/run/engine/engine.h"
#include "core/store/backup.h"
#include "core/upkeep/gc.h"
#include "core/upkeep/verify.h"
#include "fcgi/cli/doctor.h"
#include "fcgi/cli/privilege.h"
#include "fcgi/cli/serve.h"
#include "fcgi/cli/tokens.h"

#define DEFAULT_CONF "/etc/cellpost/cellpost.conf"

/* Returns the exit status (-1 stands for 1), with *err set unless it is 0.
 * `argument` is NULL unless the table says that the verb takes one. */
typedef int verb(const struct conf *conf, const char *argument,
                 struct err *err);

static int print_conf(const struct conf *conf, const char *argument,
                      struct err *err) {
  (void)argument;
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_SMALL);
  if (conf_describe(conf, &text) < 0 ||
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

static char *database_of(const struct conf *conf) {
  return mem_format("%s/" LAYOUT_DATABASE, conf->state_directory);
}

/* 1: a discrepancy, named by *err; 2: it could not be looked at. */
static int check_history(const struct conf *conf, const char *argument,
                         struct err *err) {
  (void)argument;
  struct verify_report report;
  int result = verify_all(conf, &report, err);
  if (result != 0)
    return result > 0 ? 1 : 2;
  printf("%lld runs, %lld artifacts, %lld notebooks with %lld cells: no "
         "discrepancy\n",
         (long long)report.runs, (long long)report.artifacts,
         (long long)report.notebooks, (long long)report.cells);
  if (report.without_cell > 0)
    printf("note: %lld run%s in no notebook, as when somebody replaces or "
           "empties one (rebuild TASK writes it anew); the first: %s\n",
           (long long)report.without_cell,
           report.without_cell == 1 ? " is" : "s are",
           report.first_without_cell);
  return 0;
}

static int clean_up(const struct conf *conf, const char *argument,
                    struct err *err) {
  (void)argument;
  CLEANUP(mem_free_pointer) char *database = database_of(conf);
  struct store *store;
  struct gc_report report;
  if (access(database, F_OK) < 0) {
    err_set(err, ERR_NOT_FOUND, "there is no database %s", database);
    return 1;
  }
  if (privilege_drop(conf, err) < 0 ||
      store_open(database, conf->sync, &store, err) < 0)
    return 1;
  int result = gc_run(conf, store, NULL, &report, err);
  store_close(store);
  if (result < 0)
    return 1;
  printf("removed: %lld runs, %lld events, %lld files (%lld bytes), the files "
         "of %lld tasks\n",
         (long long)report.runs, (long long)report.events,
         (long long)report.removed.files, (long long)report.removed.bytes,
         (long long)report.removed.tasks);
  if (report.removed.unknown > 0)
    printf("left alone: %lld directories in tasks/ that belong to no task\n",
           (long long)report.removed.unknown);
  return 0;
}

static int back_up(const struct conf *conf, const char *argument,
                   struct err *err) {
  CLEANUP(mem_free_pointer) char *database = database_of(conf);
  return backup_database(database, argument, err) < 0;
}

static int rebuild(const struct conf *conf, const char *argument,
                   struct err *err) {
  CLEANUP(mem_free_pointer) char *database = database_of(conf);
  CLEANUP(mem_free_pointer) char *set_aside = NULL;
  struct engine *engine = NULL;
  if (access(database, F_OK) < 0)
    return err_set(err, ERR_NOT_FOUND, "there is no database %s", database);
  if (privilege_drop(conf, err) < 0 || engine_open(conf, &engine, err) < 0)
    return -1;
  int cells = rebuild_notebook(engine, argument, &set_aside, err);
  engine_close(engine);
  if (cells < 0)
    return -1;
  printf("notebook of task %s: %d cell%s written from the registry\n", argument,
         cells, cells == 1 ? "" : "s");
  if (set_aside != NULL)
    printf("the one that was there is now %s\n", set_aside);
  return 0;
}

/* Those that write in the state directory do so as the service's user: what
 * root left there the service could not open. */
static const struct verb_entry {
  const char *name;
  const char *argument; /* NULL: it takes none */
  verb *run;
  const char *meaning;
} verbs[] = {
    {"serve", NULL, serve_fastcgi,
     "answer HTTP requests over FastCGI (the default)"},
    {"config", NULL, print_conf,
     "print every key with its meaning and its value"},
    {"doctor", NULL, examine, "tell what this host can enforce, a line each"},
    {"verify", NULL, check_history,
     "check history, artifacts and notebooks; 1: a discrepancy"},
    {"gc", NULL, clean_up, "remove what [retention] calls too old or too much"},
    {"backup", "FILE", back_up, "copy the database while it is in use"},
    {"rebuild", "TASK", rebuild,
     "write a task's notebook anew from the registry"},
    {TOKENS_VERB, "ARGS", NULL, "add, list, rotate, revoke tokens: see below"},
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
        "  -h, --help         this text\n",
        out);
  tokens_help(out);
  fputs("\nStarted by a web server as a CGI program it serves that one "
        "request.\n",
        out);
}

/* -1: go on; else the exit status. `letters` as of getopt(3): those that begin
 * with "+" stand before the verb. */
static int read_options(int count, char **arguments, const char *letters,
                        const char **path) {
  static const struct option options[] = {
      {"config", required_argument, NULL, 'c'},
      {"help", no_argument, NULL, 'h'},
      {"version", no_argument, NULL, 'V'},
      {NULL, 0, NULL, 0}};
  for (int option; (option = getopt_long(count, arguments, letters, options,
                                         NULL)) != -1;) {
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

int verbs_load_conf(const char *path, struct conf **ret, struct err *err) {
  if (path == NULL)
    path = getenv("CELLPOST_CONF");
  if (path == NULL && access(DEFAULT_CONF, F_OK) == 0)
    path = DEFAULT_CONF;
  return conf_load(path, ret, err);
}

/* The words behind the verb have options of their own. */
static int manage_tokens(const char *path, int count, char **words,
                         struct err *err) {
  CLEANUP(conf_done) struct conf *conf = NULL;
  if (verbs_load_conf(path, &conf, err) < 0 || privilege_drop(conf, err) < 0 ||
      tokens_run(conf, count, words, err) < 0)
    return EXIT_FAILURE;
  return EXIT_SUCCESS;
}

int verbs_run(int count, char **arguments, struct err *err) {
  CLEANUP(conf_done) struct conf *conf = NULL;
  const char *path = NULL;
  int status = read_options(count, arguments, "+c:h", &path);
  if (status >= 0)
    return status;
  if (optind < count && strcmp(arguments[optind], TOKENS_VERB) == 0)
    return manage_tokens(path, count - optind - 1, arguments + optind + 1, err);
  optind = 0; /* anew: other verbs let options stand behind them */
  status = read_options(count, arguments, "c:h", &path);
  if (status >= 0)
    return status;
  const struct verb_entry *entry =
      find_verb(count - optind, arguments + optind);
  if (entry == NULL) {
    print_help(stderr);
    return EXIT_FAILURE;
  }
  const char *argument = entry->argument == NULL ? NULL : arguments[optind + 1];
  if (verbs_load_conf(path, &conf, err) < 0)
    return EXIT_FAILURE;
  status = entry->run(conf, argument, err);
  return status < 0 ? EXIT_FAILURE : status;
}
