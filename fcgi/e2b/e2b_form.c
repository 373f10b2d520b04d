#include "fcgi/e2b/e2b_form.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/mem.h"
#include "core/base/utf8.h"

#define BOUNDARY_MOST 70 /* RFC 2046, 5.1.1 */

void e2b_form_free(struct e2b_form_part *parts, size_t count) {
  for (size_t i = 0; i < count; i++)
    free(parts[i].filename);
}

/* "--" and the boundary; NULL when there is none. */
static char *read_boundary(const char *type) {
  static const char form[] = "multipart/form-data";
  const char *at = type == NULL ? NULL : strcasestr(type, "boundary=");
  if (at == NULL || strncasecmp(type, form, sizeof form - 1) != 0)
    return NULL;
  at += strlen("boundary=");
  bool quoted = *at == '"';
  at += quoted;
  size_t length = strcspn(at, quoted ? "\"" : "; \t");
  if (length == 0 || length > BOUNDARY_MOST)
    return NULL;
  return mem_format("--%.*s", (int)length, at);
}

/* The value of `filename="…"` in a part's head; quotes in it come as %22, or
 * with a backslash. */
static char *read_filename(const char *head, size_t length) {
  CLEANUP(mem_free_pointer) char *text = mem_copy_bytes(head, length);
  if (memchr(head, '\0', length) != NULL)
    return NULL;
  char *at = strcasestr(text, "filename=\"");
  if (at == NULL)
    return NULL;
  at += strlen("filename=\"");
  CLEANUP(buf_free) struct buf name = BUF_INIT(BUF_LINE);
  for (; *at != '\0' && *at != '"' && *at != '\r' && *at != '\n'; at++) {
    if (*at == '\\' && (at[1] == '"' || at[1] == '\\'))
      at++;
    if (strncmp(at, "%22", 3) == 0) {
      buf_byte(&name, '"');
      at += 2;
    } else {
      buf_byte(&name, *at);
    }
  }
  return buf_take(&name);
}

static const char *find(const char *at, const char *end, const char *text) {
  return memmem(at, (size_t)(end - at), text, strlen(text));
}

/* *at is behind a boundary: the part that begins there, and *at behind its end.
 */
static int read_part(const char **at, const char *end, const char *separator,
                     struct e2b_form_part *part, struct err *err) {
  const char *head = *at + 2;
  const char *content = find(*at, end, "\r\n\r\n");
  if (content == NULL)
    return err_set(err, ERR_INVALID, "a part of the form has no content");
  content += 4;
  const char *next = find(content - 2, end, separator);
  if (next == NULL)
    return err_set(err, ERR_INVALID, "the form's last boundary is missing");
  *part = (struct e2b_form_part){
      .filename = read_filename(head, (size_t)(content - head)),
      .bytes = content,
      .length = next > content ? (size_t)(next - content) : 0};
  *at = next + strlen(separator);
  return 0;
}

int e2b_form_read(const char *content_type, const char *body, size_t length,
                  struct e2b_form_part *parts, size_t most, struct err *err) {
  CLEANUP(mem_free_pointer) char *boundary = read_boundary(content_type);
  if (boundary == NULL)
    return err_set(err, ERR_MEDIA_TYPE,
                   "the body must be multipart/form-data with a boundary");
  CLEANUP(mem_free_pointer) char *separator = mem_format("\r\n%s", boundary);
  const char *end = body + length;
  const char *at = find(body, end, boundary);
  size_t count = 0;
  if (at == NULL)
    return err_set(err, ERR_INVALID, "the form has no such boundary");
  at += strlen(boundary);
  while (end - at >= 2 && memcmp(at, "--", 2) != 0) {
    if (count == most) {
      e2b_form_free(parts, count);
      return err_set(err, ERR_TOO_LARGE, "the form has over %zu parts", most);
    }
    if (read_part(&at, end, separator, &parts[count], err) < 0) {
      e2b_form_free(parts, count);
      return -1;
    }
    count++;
  }
  return (int)count;
}
