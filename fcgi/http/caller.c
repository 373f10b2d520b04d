#include "fcgi/http/caller.h"

#include <ctype.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/access/address.h"
#include "core/access/secret.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "fcgi/http/line.h"

#define HEADER_SIZE 128

void caller_open(struct caller *caller, const struct request *request) {
  const char *address = request_header(request, "REMOTE_ADDR");
  *caller = (struct caller){.name = "anonymous", .rights = {.tasks = ""}};
  if (address == NULL)
    return;
  snprintf(caller->from, sizeof caller->from, "%s", address);
  caller->address = caller->from;
}

void caller_free(struct caller *caller) { token_record_free(&caller->token); }

bool caller_has(const struct caller *caller, unsigned scope) {
  return (caller->rights.scopes & scope) == scope;
}

const struct rights *caller_rights(const struct caller *caller) {
  return rights_are_whole(&caller->rights) ? NULL : &caller->rights;
}

int caller_is_asked(struct store *store, const struct conf *conf,
                    struct err *err) {
  /* A token that was made is never unmade. */
  static atomic_bool exists;
  if (conf->required != CONF_AUTH_AUTO)
    return conf->required == CONF_AUTH_ON;
  if (atomic_load(&exists))
    return 1;
  int found = token_exists(store, err);
  if (found == 1)
    atomic_store(&exists, true);
  return found;
}

/* What follows a word and spaces, in any case of letters; NULL: another one. */
static const char *behind(const char *text, const char *word) {
  size_t length = strlen(word);
  if (strncasecmp(text, word, length) != 0 || text[length] != ' ')
    return NULL;
  return text + length + strspn(text + length, " ");
}

/* Another scheme is for somebody else, as a web server in front. */
static const char *shown_token(const struct request *request) {
  const char *header = request_header(request, "HTTP_AUTHORIZATION");
  const char *token = header == NULL ? NULL : behind(header, "Bearer");
  if (header != NULL && token == NULL)
    token = behind(header, "token");
  /* The last two are how E2B's SDKs speak to a sandbox (fcgi/e2b). */
  static const char *const others[] = {"HTTP_X_API_KEY", "HTTP_X_ACCESS_TOKEN",
                                       "HTTP_E2B_TRAFFIC_ACCESS_TOKEN"};
  bool is_e2b =
      request->segment_count > 0 && strcmp(request->segments[0], "e2b") == 0;
  for (size_t i = 0; token == NULL && i < (is_e2b ? COUNT_OF(others) : 1); i++)
    token = request_header(request, others[i]);
  return token;
}

/* The value of a cookie (RFC 6265, 4.2.1), by its whole name. */
static const char *find_cookie(const char *cookies, const char *name,
                               size_t *length) {
  size_t wanted = strlen(name);
  while (*cookies != '\0') {
    cookies += strspn(cookies, "; ");
    size_t whole = strcspn(cookies, ";");
    if (whole > wanted && strncmp(cookies, name, wanted) == 0 &&
        cookies[wanted] == '=') {
      *length = whole - wanted - 1;
      return cookies + wanted + 1;
    }
    cookies += whole;
  }
  return NULL;
}

bool caller_cookie(const struct request *request,
                   char hash[CRYPTO_SHA256_HEX]) {
  const char *cookies = request_header(request, "HTTP_COOKIE");
  size_t length = 0;
  const char *value = cookies == NULL
                          ? NULL
                          : find_cookie(cookies, CALLER_SECURE_COOKIE, &length);
  if (cookies != NULL && value == NULL)
    value = find_cookie(cookies, CALLER_COOKIE, &length);
  if (value == NULL)
    return false;
  crypto_sha256(value, length, hash);
  return true;
}

bool caller_shows(const struct request *request) {
  char unused[CRYPTO_SHA256_HEX];
  return shown_token(request) != NULL || caller_cookie(request, unused);
}

/* Takes over what the token's row says. `hash`: of the text that was shown. */
static int take(struct caller *caller, enum caller_way way, const char *hash,
                struct store *store, struct err *err) {
  const char *why;
  const struct token_record *token = &caller->token;
  if (!token_is_good(token, hash, clock_wall_us(), &why)) {
    bool expired = token->revoked_at == 0 && token->expires_at != 0 &&
                   token->expires_at <= clock_wall_us();
    return err_set(err, ERR_UNAUTHENTICATED, "%s",
                   expired ? "this token has expired"
                           : "there is no such token");
  }
  if (scope_parse(token->scopes, &caller->rights.scopes, err) < 0)
    return -1;
  caller->way = way;
  caller->name = token->name;
  caller->rights.tasks = token->tasks;
  caller->rights.tenant = token->tenant;
  quota_read(token->limits, &caller->quota);
  if (hash != NULL)
    snprintf(caller->hash, sizeof caller->hash, "%s", hash);
  token_note_use(store, token, NULL); /* a full disk is no reason to refuse */
  return 0;
}

/* What was not found is unknown; another fault stays what it is. */
static int unknown(const struct err *fault, const char *text, struct err *err) {
  if (fault->kind == ERR_NOT_FOUND)
    return err_set(err, ERR_UNAUTHENTICATED, "%s", text);
  return err_set(err, fault->kind, "%s", fault->text);
}

int caller_know(struct caller *caller, const char *text, struct store *store,
                struct err *err) {
  char hash[CRYPTO_SHA256_HEX];
  struct err fault = {0};
  if (!secret_is_whole(text))
    return err_set(err, ERR_UNAUTHENTICATED,
                   "this is not a whole Cellpost token: a character is missing "
                   "or wrong");
  secret_hash(text, hash);
  if (token_find(store, hash, &caller->token, &fault) < 0)
    return unknown(&fault, "there is no such token", err);
  return take(caller, CALLER_TOKEN, hash, store, err);
}

static int know_session(struct caller *caller, const char *cookie,
                        struct store *store, struct err *err) {
  char hash[CRYPTO_SHA256_HEX];
  struct err fault = {0};
  if (token_of_session(store, cookie, &caller->token, &fault) < 0)
    return unknown(&fault, "the session is over; log in again", err);
  memcpy(hash, caller->token.session_hash, sizeof hash);
  return take(caller, CALLER_SESSION, hash, store, err);
}

/* "X-Remote-User" as CGI calls it. */
static const char *named_by_proxy(const struct request *request,
                                  const struct conf *conf) {
  char name[HEADER_SIZE];
  const char *peer = request_header(request, "PEER_ADDR");
  if (strcmp(conf->trusted_header, "off") == 0 ||
      !address_is_listed(peer == NULL ? request_header(request, "REMOTE_ADDR")
                                      : peer,
                         conf->trusted_addresses))
    return NULL;
  snprintf(name, sizeof name, "HTTP_%.100s", conf->trusted_header);
  for (char *at = name; *at != '\0'; at++)
    *at = *at == '-' ? '_' : (char)toupper((unsigned char)*at);
  return request_header(request, name);
}

static int know_named(struct caller *caller, const char *name,
                      struct store *store, struct err *err) {
  struct err fault = {0};
  if (token_find_name(store, name, &caller->token, &fault) < 0)
    return unknown(&fault,
                   "the web server in front names somebody for whom there is "
                   "no token",
                   err);
  return take(caller, CALLER_PROXY, NULL, store, err);
}

/* Nobody must say who they are: the name of the proxy's user, if there is one,
 * is for the history. */
static void let_all(struct caller *caller, const char *named) {
  caller->rights = (struct rights){.scopes = SCOPE_ALL};
  if (named != NULL && strlen(named) < sizeof caller->named &&
      line_is_clean(named)) {
    memcpy(caller->named, named, strlen(named) + 1);
    caller->name = caller->named;
    caller->way = CALLER_PROXY;
  }
}

int caller_identify(struct caller *caller, const struct request *request,
                    struct store *store, const struct conf *conf,
                    struct err *err) {
  char cookie[CRYPTO_SHA256_HEX];
  int asked = caller_is_asked(store, conf, err);
  const char *named = named_by_proxy(request, conf);
  if (asked <= 0) {
    if (asked == 0)
      let_all(caller, named);
    return asked;
  }
  const char *token = shown_token(request);
  if (token != NULL)
    return caller_know(caller, token, store, err);
  if (named != NULL)
    return know_named(caller, named, store, err);
  if (caller_cookie(request, cookie))
    return know_session(caller, cookie, store, err);
  return err_set(err, ERR_UNAUTHENTICATED,
                 "a token is needed: send it as \"Authorization: Bearer "
                 "cp_…\", or log in");
}

void caller_challenge(const struct request *request, unsigned scope,
                      const struct err *err, struct buf *out) {
  buf_text(out, "Bearer realm=\"cellpost\"");
  if (scope != 0)
    buf_format(out, ", error=\"insufficient_scope\", scope=\"%s\"",
               scope_name((enum scope)scope));
  else if (shown_token(request) != NULL)
    buf_format(out, ", error=\"invalid_token\", error_description=\"%s\"",
               err->text);
}
