/* The values of a mimebundle (nbformat 4.5, "mimebundle"): JSON types hold any
 * JSON, all others one string. Pure, but for what a caller's `keep` does. */
#ifndef CELLPOST_NOTEBOOK_MIMEBUNDLE_H
#define CELLPOST_NOTEBOOK_MIMEBUNDLE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/json/json.h"

/* True for application/json and application/<anything>+json. */
bool mimebundle_is_json(const char *mime);

/* True for the types that nbformat writes as a list of lines: text/...,
 * application/javascript, image/svg+xml. */
bool mimebundle_is_lines(const char *mime);

/* True for the types whose values are base64: images (SVG apart), audio, video,
 * fonts, PDF, zip, gzip and application/octet-stream. */
bool mimebundle_is_base64(const char *mime);

/* The text of a value that should be one string: a string as it is, a list of
 * strings joined, any other JSON as compact JSON, null as nothing. Never NULL;
 * the caller's. */
struct json *mimebundle_text(const struct json *value);

/* The same for a text that is no mime value (of a stream, of an error): what is
 * neither a string nor a list is empty. */
struct json *mimebundle_plain_text(const struct json *value);

/* True for what has a place among the artifacts: images, PDF, HTML, and any
 * value over 64 KiB; text/plain never. */
bool mimebundle_is_artifact(const char *mime, size_t value_bytes);

struct mimebundle_left_out {
  size_t values; /* left out, or cut in the case of text/plain */
  size_t bytes;
};

/* What a bundle may hold, in bytes. */
struct mimebundle_limits {
  size_t text;      /* a value that is no artifact; all of them twice that */
  size_t artifact;  /* an artifact, as it stands on the disk */
  size_t artifacts; /* all of them, as they stand in the bundle */
  /* Keeps an artifact that is beyond the limits; gives the address where it is
   * then found (the caller's), or NULL. May be NULL itself. */
  char *(*keep)(void *context, const char *mime, const char *value,
                size_t length);
  void *context;
};

struct mimebundle_size {
  size_t text, artifacts; /* in the bundle */
  size_t kept;            /* artifacts that `keep` took */
};

/* A clean copy: values of the right kind, within the limits. An over-long
 * text/plain keeps its head and tail; of any other value that is too long a
 * line in text/plain tells where it is, or that it is left out. What is no
 * object gives an empty bundle. */
struct json *mimebundle_clean(const struct json *data,
                              const struct mimebundle_limits *limits,
                              struct mimebundle_size *size,
                              struct mimebundle_left_out *left_out);

/* A text with head and tail kept and a marker between them when it is longer
 * than `limit`; adds what was dropped to *left_out. */
struct json *mimebundle_cut_text(const char *text, size_t length, size_t limit,
                                 struct mimebundle_left_out *left_out);

#endif
