/* Errors that travel upwards.
 *
 * Every fallible function takes `struct err *err` last and returns a negative
 * number on failure. On failure its other outputs are untouched. The struct is
 * owned by the caller, has a fixed size and needs no freeing. `err` may be NULL
 * when the caller wants only the return value.
 *
 * Library code never logs: it fills in the error, and the outermost layer
 * decides what to print. */
#ifndef CELLPOST_BASE_ERR_H
#define CELLPOST_BASE_ERR_H

/* What kind of fault it is. fcgi/http/problem maps each kind to one HTTP
 * status. */
enum err_kind {
  ERR_NONE = 0,
  ERR_INVALID, /* the input is wrong: 400 */
  ERR_FIELD,   /* well formed, but a field is unknown or out of range: 422 */
  ERR_UNAUTHENTICATED, /* who asks does not say who they are: 401 */
  ERR_DENIED,          /* not allowed: 403 */
  ERR_NOT_FOUND,       /* 404 */
  ERR_CONFLICT,        /* contradicts the present state: 409 */
  ERR_TOO_LARGE,       /* 413 */
  ERR_MEDIA_TYPE,      /* 415 */
  ERR_BUSY,            /* a queue is full, try later: 429 */
  ERR_UNAVAILABLE,     /* no kernel, no capacity, a peer or a disk fails: 503 */
  ERR_TIMEOUT,         /* a deadline passed */
  ERR_NO_SPACE,        /* disk full or over quota: 507 */
  ERR_IO,              /* a system call failed */
  ERR_PROTOCOL,        /* a peer (kernel, keeper) broke its protocol */
  ERR_INTERNAL,        /* a fault of ours */
};

struct err {
  enum err_kind kind;
  char text[512]; /* one line of UTF-8 that names the fault and what to do */
};

/* Fills in *err and returns -1, so that `return err_set(...)` reads well. */
int err_set(struct err *err, enum err_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* As err_set, with ": " and the text of `number` (an errno value) appended.
 * ENOSPC, EDQUOT and EFBIG turn an ERR_IO into ERR_NO_SPACE; EROFS, EIO and
 * EUCLEAN into ERR_UNAVAILABLE. */
int err_errno(struct err *err, enum err_kind kind, int number,
              const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Puts "<formatted>: " in front of the text that is already there; keeps the
 * kind; returns -1. */
int err_wrap(struct err *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Sets *err back to ERR_NONE and an empty text. */
void err_clear(struct err *err);

#endif
