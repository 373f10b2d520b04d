/* Signed links to what stands beneath /tasks/ (core/access/link.h): whoever has
 * one may read that one file, for a while. */
#ifndef CELLPOST_FCGI_HANDLERS_LINKS_H
#define CELLPOST_FCGI_HANDLERS_LINKS_H

#include "fcgi/http/call.h"

/* The images of an answer get signed links, good for an hour or a little more,
 * in the place of their addresses. */
int links_sign_images(struct call *call, const struct json *answer,
                      struct err *err);

#endif
