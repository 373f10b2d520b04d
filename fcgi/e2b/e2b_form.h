/* multipart/form-data (RFC 7578), as far as uploads of files need it. Pure. */
#ifndef CELLPOST_FCGI_E2B_E2B_FORM_H
#define CELLPOST_FCGI_E2B_E2B_FORM_H

#include <stddef.h>

#include "core/base/err.h"

struct e2b_form_part {
  char *filename;    /* or NULL */
  const char *bytes; /* into the body */
  size_t length;
};

/* Where the parts of a body are, from the Content-Type's boundary on. At most
 * `most`; returns how many there are. ERR_INVALID names the fault.
 * e2b_form_free for each part. */
int e2b_form_read(const char *content_type, const char *body, size_t length,
                  struct e2b_form_part *parts, size_t most, struct err *err);
void e2b_form_free(struct e2b_form_part *parts, size_t count);

#endif
