#include "fcgi/cli/tokens.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/access/address.h"
#include "core/access/quota.h"
#include "core/access/rights.h"
#include "core/access/scope.h"
#include "core/access/secret.h"
#include "core/base/clock.h"
#include "core/base/layout.h"
#include "core/base/mem.h"
#include "core/store/access/token.h"
#include "core/store/journal.h"
#include "fcgi/http/caller.h"

#define SECOND_US INT64_C(1000000)
#define NAME_MOST 64

/* What the options say; texts are borrowed. */
struct options {
  const char *name; /* the word behind the action, or NULL */
  const char *tenant, *scopes, *tasks;
  int64_t expires_at, grace_until; /* 0: not given */
  struct json *limits;
};

typedef int action(struct store *store, const struct options *options,
                   struct err *err);

/* "90d", "24h", "30m", "60s" or seconds. */
static int read_duration(const char *text, int64_t *ret, struct err *err) {
  static const struct {
    char unit;
    int64_t seconds;
  } units[] = {{'\0', 1}, {'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
  char *end;
  long long number = strtoll(text, &end, 10);
  for (size_t i = 0; i < COUNT_OF(units); i++)
    if (*text >= '0' && *text <= '9' && *end == units[i].unit &&
        (*end == '\0' || end[1] == '\0') && number < 100000000) {
      *ret = number * units[i].seconds * SECOND_US;
      return 0;
    }
  return err_set(err, ERR_INVALID,
                 "\"%.100s\" is no duration; wanted is one as 90d, 24h or 30m",
                 text);
}

static int read_moment(const char *text, int64_t *ret, struct err *err) {
  int64_t duration;
  if (read_duration(text, &duration, err) < 0)
    return -1;
  *ret = clock_wall_us() + duration;
  return 0;
}

/* A word for names of tokens and tenants, which stand in the history. */
static int check_word(const char *what, const char *word, struct err *err) {
  static const char allowed[] =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz._@-";
  size_t length = strlen(word);
  if (length > 0 && length <= NAME_MOST && strspn(word, allowed) == length &&
      word[0] != '-' && strcmp(word, "anonymous") != 0 &&
      strcmp(word, "cellpost") != 0)
    return 0;
  return err_set(err, ERR_INVALID,
                 "\"%.100s\" is no name of a %s: wanted are 1 to %d letters, "
                 "digits, \".\", \"_\", \"@\" and \"-\", and neither "
                 "\"anonymous\" nor \"cellpost\"",
                 word, what, NAME_MOST);
}

static void show_once(const char *secret) {
  printf("%s\n", secret);
  fflush(stdout);
  fputs("This is the token. It is shown this once and is kept nowhere: only "
        "its digest is.\n",
        stderr);
}

static int add(struct store *store, const struct options *options,
               struct err *err) {
  char secret[SECRET_SIZE], hint[SECRET_HINT_SIZE];
  unsigned scopes;
  const char *tenant =
      options->tenant == NULL ? options->name : options->tenant;
  if (check_word("token", options->name, err) < 0 ||
      check_word("tenant", tenant, err) < 0 ||
      scope_parse(options->scopes, &scopes, err) < 0 ||
      rights_check_tasks(options->tasks, err) < 0)
    return -1;
  CLEANUP(buf_free) struct buf scope_list = BUF_INIT(BUF_LINE);
  scope_format(scopes, &scope_list);
  secret_make(secret);
  secret_hint(secret, hint);
  struct token_record record = {.name = (char *)(uintptr_t)options->name,
                                .tenant = (char *)(uintptr_t)tenant,
                                .hint = hint,
                                .scopes = scope_list.data,
                                .tasks = (char *)(uintptr_t)options->tasks,
                                .limits = options->limits,
                                .created_at = clock_wall_us(),
                                .created_by = (char *)"command line",
                                .expires_at = options->expires_at};
  secret_hash(secret, record.hash);
  if (token_add(store, &record, err) < 0)
    return -1;
  show_once(secret);
  return 0;
}

static int rotate(struct store *store, const struct options *options,
                  struct err *err) {
  char secret[SECRET_SIZE], hint[SECRET_HINT_SIZE], hash[CRYPTO_SHA256_HEX];
  secret_make(secret);
  secret_hint(secret, hint);
  secret_hash(secret, hash);
  if (token_rotate(store, options->name, hash, hint, options->grace_until,
                   err) < 0)
    return -1;
  show_once(secret);
  return 0;
}

static int revoke_one(struct store *store, const struct options *options,
                      struct err *err) {
  if (token_revoke(store, options->name, err) < 0)
    return -1;
  printf("%s is revoked.\n", options->name);
  return 0;
}

static void print_time(const char *before, int64_t at) {
  char text[CLOCK_ISO_SIZE];
  clock_format_iso(at, text);
  if (at != 0)
    printf("%s%.16sZ", before, text);
}

static void print_token(const struct token_record *token) {
  const char *why;
  CLEANUP(buf_free) struct buf limits = BUF_INIT(BUF_SMALL);
  if (json_length(token->limits) > 0)
    json_write(token->limits, &limits);
  bool good = token_is_good(token, NULL, clock_wall_us(), &why);
  printf("%-20s %-8s %s  tenant %s, scopes %s, tasks %s%s%s", token->name,
         good                     ? "good"
         : token->revoked_at != 0 ? "revoked"
                                  : "expired",
         token->hint, token->tenant, token->scopes, token->tasks,
         limits.length == 0 ? "" : ", limits ", buf_string(&limits));
  print_time(", made ", token->created_at);
  print_time(", expires ", token->expires_at);
  print_time(", last used ", token->last_used_at);
  putchar('\n');
}

static int list(struct store *store, const struct options *options,
                struct err *err) {
  (void)options;
  struct token_record *tokens = NULL;
  size_t count = 0;
  if (token_list(store, &tokens, &count, err) < 0)
    return -1;
  for (size_t i = 0; i < count; i++)
    print_token(&tokens[i]);
  if (count == 0)
    fputs("There is no token yet.\n", stderr);
  token_list_free(tokens, count);
  return 0;
}

static const struct {
  const char *name;
  bool named; /* a NAME follows */
  action *run;
  const char *options; /* letters of long_options */
  const char *usage, *meaning;
} actions[] = {
    {"add", true, add, "tskel", "add NAME [OPTIONS]",
     "make a token and print it, once"},
    {"list", false, list, "", "list", "what there is, without the tokens"},
    {"rotate", true, rotate, "g", "rotate NAME [--grace 24h]",
     "another text for it; the old one is taken for so long (0)"},
    {"revoke", true, revoke_one, "", "revoke NAME", "it is taken no more"},
};

void tokens_help(FILE *out) {
  fputs("\nTokens (cellpost token …):\n", out);
  for (size_t i = 0; i < COUNT_OF(actions); i++)
    fprintf(out, "  %-26s %s\n", actions[i].usage, actions[i].meaning);
  fputs("  add takes:\n"
        "    --scopes LIST    of read, run, packages, admin (read,run)\n"
        "    --tasks LIST     patterns as alice-*, and own: those that it, or "
        "a token\n"
        "                     of its tenant, has made (own)\n"
        "    --tenant WORD    whose tasks its own are (its name)\n"
        "    --expires 90d    from then on it is not taken (never)\n"
        "    --limit KEY=N    runs and kernels at once, runs_per_minute,\n"
        "                     file_bytes; may stand several times\n",
        out);
}

static int set_limit(struct json *limits, const char *text, struct err *err) {
  CLEANUP(mem_free_pointer) char *name = mem_copy_text(text);
  char *equals = strchr(name, '=');
  if (equals == NULL)
    return err_set(err, ERR_INVALID, "--limit: wanted is KEY=N");
  *equals = '\0';
  return quota_set(limits, name, equals + 1, err);
}

static int set_option(struct options *options, int letter, const char *value,
                      struct err *err) {
  switch (letter) {
  case 't':
    options->tenant = value;
    return 0;
  case 's':
    options->scopes = value;
    return 0;
  case 'k':
    options->tasks = value;
    return 0;
  case 'e':
    return read_moment(value, &options->expires_at, err);
  case 'g':
    return read_moment(value, &options->grace_until, err);
  default:
    return set_limit(options->limits, value, err);
  }
}

/* Reads options from among the words; what is left are the others. */
static int read_options(int count, char **words, const char *allowed,
                        struct options *options, struct err *err) {
  static const struct option long_options[] = {
      {"tenant", required_argument, NULL, 't'},
      {"scopes", required_argument, NULL, 's'},
      {"tasks", required_argument, NULL, 'k'},
      {"expires", required_argument, NULL, 'e'},
      {"limit", required_argument, NULL, 'l'},
      {"grace", required_argument, NULL, 'g'},
      {NULL, 0, NULL, 0}};
  optind = 0; /* start anew, among other words */
  for (int letter;
       (letter = getopt_long(count, words, "", long_options, NULL)) != -1;) {
    if (letter == '?' || strchr(allowed, letter) == NULL)
      return err_set(err, ERR_INVALID,
                     "token %s does not take that option; `cellpost --help` "
                     "tells which it takes",
                     words[0]);
    if (set_option(options, letter, optarg, err) < 0)
      return -1;
  }
  return 0;
}

int tokens_mark(const struct conf *conf, struct store *store, struct err *err) {
  CLEANUP(mem_free_pointer)
  char *path = mem_format("%s/" LAYOUT_AUTH_MARK, conf->state_directory);
  int asked = caller_is_asked(store, conf, err);
  if (asked < 0)
    return -1;
  if (asked == 0)
    return unlink(path) == 0 || errno == ENOENT
               ? 0
               : err_errno(err, ERR_IO, errno, "removing %s", path);
  CLEANUP(mem_close_descriptor)
  int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  return file < 0 ? err_errno(err, ERR_IO, errno, "making %s", path) : 0;
}

bool tokens_are_wanted(const struct conf *conf) {
  CLEANUP(mem_free_pointer)
  char *mark = mem_format("%s/" LAYOUT_AUTH_MARK, conf->state_directory);
  if (access(mark, F_OK) == 0)
    return false;
  for (const char *host = conf->hosts; *host != '\0';) {
    size_t length = strcspn(host, " ");
    CLEANUP(mem_free_pointer) char *name = mem_copy_bytes(host, length);
    if (length != 0 && strcmp(name, "localhost") != 0 &&
        strcmp(name, "[::1]") != 0 && !address_is_loopback(name))
      return true;
    host += length + strspn(host + length, " ");
  }
  return false;
}

static int act(const struct conf *conf, action *run,
               const struct options *options, struct err *err) {
  CLEANUP(mem_free_pointer)
  char *path = mem_format("%s/" LAYOUT_DATABASE, conf->state_directory);
  const struct passwd *user = getpwuid(getuid());
  CLEANUP(mem_free_pointer)
  char *caller =
      mem_format("command line (%s)", user == NULL ? "?" : user->pw_name);
  struct journal_origin origin = {.caller = caller};
  struct store *store;
  if (store_open(path, CONF_SYNC_ALWAYS, &store, err) < 0)
    return -1;
  journal_set_origin(&origin);
  int result = run(store, options, err);
  if (result == 0)
    result = tokens_mark(conf, store, err);
  journal_set_origin(NULL);
  store_close(store);
  return result;
}

int tokens_run(const struct conf *conf, int count, char **words,
               struct err *err) {
  CLEANUP(json_done) struct json *limits = json_object();
  struct options options = {
      .scopes = "read,run", .tasks = "own", .limits = limits};
  for (size_t i = 0; count > 0 && i < COUNT_OF(actions); i++) {
    if (strcmp(words[0], actions[i].name) != 0)
      continue;
    if (read_options(count, words, actions[i].options, &options, err) < 0)
      return -1;
    int wanted = actions[i].named ? 1 : 0;
    if (count - optind != wanted)
      return err_set(err, ERR_INVALID, "wanted is: token %s", actions[i].usage);
    if (wanted == 1)
      options.name = words[optind];
    return act(conf, actions[i].run, &options, err);
  }
  return err_set(err, ERR_INVALID,
                 "wanted is: token add NAME, list, rotate NAME or revoke NAME");
}
