/* Who asks, and what they may do.
 *
 * Where nobody has to say who they are (auth.required) every caller is
 * "anonymous", told apart by address, and may do everything. Else a caller
 * shows a token: "Authorization: Bearer T" or "token T", or "X-API-Key: T"; or
 * the cookie of a session that was opened with one; or a web server in front
 * names one (auth.trusted_header). Never in a query, which ends in logs. */
#ifndef CELLPOST_FCGI_HTTP_CALLER_H
#define CELLPOST_FCGI_HTTP_CALLER_H

#include "core/access/quota.h"
#include "core/access/rights.h"
#include "core/access/scope.h"
#include "core/base/err.h"
#include "core/conf/conf.h"
#include "core/store/access/token.h"
#include "fcgi/http/request.h"

enum caller_way {
  CALLER_OPEN, /* nobody was asked */
  CALLER_TOKEN,
  CALLER_SESSION,
  CALLER_PROXY,
};

struct caller {
  const char *name;    /* stands in the history; never NULL */
  const char *address; /* of the client as the web server saw it, or NULL */
  enum caller_way way;
  struct rights rights;
  struct quota quota;
  struct token_record token;    /* id 0: none */
  char from[64], named[65];     /* what address and name point to, if need be:
                                   they outlive the request's own texts */
  char hash[CRYPTO_SHA256_HEX]; /* of the token's text; "": not shown */
};

/* The names of the session's cookie: on https, and without. */
#define CALLER_COOKIE "cellpost"
#define CALLER_SECURE_COOKIE "__Host-cellpost"

/* Nobody in particular, who may do nothing. */
void caller_open(struct caller *caller, const struct request *request);
void caller_free(struct caller *caller); /* members */

/* 1: whoever asks must say who they are; 0; -1. */
int caller_is_asked(struct store *store, const struct conf *conf,
                    struct err *err);

/* Whether a token or a session's cookie is shown, of whatever worth. */
bool caller_shows(const struct request *request);

/* Fills in who asks; caller_open came before. ERR_UNAUTHENTICATED: they do not
 * say, or what they show is not taken; the text tells why, and the same of a
 * token that never was and of one that is revoked. */
int caller_identify(struct caller *caller, const struct request *request,
                    struct store *store, const struct conf *conf,
                    struct err *err);

/* The same, by a token's text alone: for a log-in. */
int caller_know(struct caller *caller, const char *text, struct store *store,
                struct err *err);

/* The digest of the request's session cookie; false: there is none. */
bool caller_cookie(const struct request *request, char hash[CRYPTO_SHA256_HEX]);

/* Whether they may do all that `scope` is for. */
bool caller_has(const struct caller *caller, unsigned scope);

/* What limits the tasks that they see; NULL: nothing does. */
const struct rights *caller_rights(const struct caller *caller);

/* The value of WWW-Authenticate that goes with a 401, or with a 403 for want of
 * `scope` (0: a 401). RFC 6750, 3: who showed nothing is told no fault. */
void caller_challenge(const struct request *request, unsigned scope,
                      const struct err *err, struct buf *out);

#endif
