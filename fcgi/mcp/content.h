/* What a tool call gives back, made of Cellpost's own answers. Pure.
 *
 * A model reads `content`; hosts show `structuredContent` to it as text, too,
 * so that holds a few words and never data. Source: specification 2026-07-28,
 * "Tools", "Tool result". */
#ifndef CELLPOST_FCGI_MCP_CONTENT_H
#define CELLPOST_FCGI_MCP_CONTENT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/json/json.h"

/* base64 of all images of one result. A client of server-sent events takes no
 * event over 1 MiB; others take what fits into a model. */
#define CONTENT_IMAGES_EVENT ((size_t)700 << 10)
#define CONTENT_IMAGES_JSON ((size_t)4 << 20)

/* The result of a run: the text for models first, then images as far as they
 * fit, then links to the others, to changed files and to the notebook. isError
 * unless the run ended ok. The caller owns it. */
struct json *content_of_run(const struct json *answer, size_t images);

/* The same of a run that goes on: what it has put out so far, and how to wait
 * for it. `run` {"run", "task", …} as GET /v1/runs/{run} gives it. */
struct json *content_of_unfinished(const struct json *run);

/* One text. */
struct json *content_of_text(const char *text, bool is_error);

/* A content block {"type": "image"} for what a model can see (PNG, JPEG, GIF,
 * WebP). */
bool content_is_visible(const char *mime);
struct json *content_image(const char *mime, const char *base64);

/* {"type": "resource_link"} to cellpost://tasks/{task}/{path}. */
struct json *content_link(const char *task, const char *path, const char *mime,
                          int64_t bytes);

#endif
