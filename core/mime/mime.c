/* The one door to libmagic. */
#include "core/mime/mime.h"

#include <errno.h>
#include <magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/mime/mime_table.h"
#include "core/text/string.h"

/* Everything that tells formats apart is near the start; libmagic would
 * read up to 7 MiB, and its text checks cost time per byte. */
#define LOOKED_AT ((size_t)256 << 10)

#define UNKNOWN "application/octet-stream"

struct mime {
  magic_t magic;
  char bytes[LOOKED_AT];
};

/* Not looked into: compressed data, ELF notes, tar and compound files: slow,
 * risky with hostile input, and of no use for the type. */
struct mime *mime_open(void) {
  magic_t magic =
      magic_open(MAGIC_MIME_TYPE | MAGIC_NO_CHECK_COMPRESS |
                 MAGIC_NO_CHECK_ELF | MAGIC_NO_CHECK_TAR | MAGIC_NO_CHECK_CDF);
  if (magic == NULL)
    return NULL;
  size_t most = LOOKED_AT;
  magic_setparam(magic, MAGIC_PARAM_BYTES_MAX, &most);
  if (magic_load(magic, NULL) != 0) {
    magic_close(magic);
    return NULL;
  }
  struct mime *mime = mem_new(sizeof *mime);
  mime->magic = magic;
  return mime;
}

void mime_close(struct mime *mime) {
  if (mime == NULL)
    return;
  magic_close(mime->magic);
  free(mime);
}

static bool is_one_of(const char *type, const char *const *list) {
  for (; *list != NULL; list++)
    if (strcmp(type, *list) == 0)
      return true;
  return false;
}

/* Pictures, sound and film with a signature too long to occur by chance. */
static bool is_sure_medium(const char *type) {
  static const char *const sure[] = {
      "image/png",        "image/jpeg",      "image/gif",  "image/webp",
      "image/svg+xml",    "image/tiff",      "image/avif", "image/heic",
      "image/jp2",        "audio/flac",      "audio/wav",  "audio/ogg",
      "video/ogg",        "video/mp4",       "video/webm", "video/x-msvideo",
      "video/x-matroska", "video/quicktime", NULL};
  return is_one_of(type, sure);
}

static bool is_medium(const char *type) {
  return string_starts_with(type, "image/") ||
         string_starts_with(type, "audio/") ||
         string_starts_with(type, "video/");
}

static bool is_textual(const char *type) {
  static const char *const textual[] = {
      "application/json",       "application/x-ndjson",
      "application/javascript", "application/x-javascript",
      "application/xml",        NULL};
  return string_starts_with(type, "text/") || is_one_of(type, textual);
}

/* Whether the content allows what the extension claims. */
static bool is_allowed(const struct mime_row *row, const char *content) {
  switch (row->basis) {
  case MIME_TEXT:
    return is_textual(content);
  case MIME_ZIP:
    return strcmp(content, "application/zip") == 0;
  case MIME_OLE:
    return strcmp(content, "application/x-ole-storage") == 0;
  case MIME_BINARY:
    return strcmp(content, UNKNOWN) == 0;
  default:
    return false;
  }
}

/* Whether the name supports a guess. Among images only the same type counts:
 * bytes that look like Targa by chance are no PNG either. */
static bool agrees(const struct mime_row *claimed, const char *content) {
  if (claimed == NULL)
    return false;
  size_t length = strcspn(content, "/");
  if (string_starts_with(content, "image/"))
    length = strlen(content);
  return strncmp(claimed->type, content, length + 1) == 0;
}

/* libmagic's names for what has a registered or a commoner one. */
static const char *usual_name(const char *content) {
  static const char *const names[][2] = {
      {"text/x-script.python", "text/x-python"},
      {"application/x-ustar", "application/x-tar"},
      {"application/x-gtar", "application/x-tar"},
      {"application/x-gzip", "application/gzip"},
      {"application/x-hdf", "application/x-hdf5"},
      {"application/x-zstd", "application/zstd"},
      {"audio/x-wav", "audio/wav"},
      {"audio/x-flac", "audio/flac"},
      {"image/x-ms-bmp", "image/bmp"},
      {"image/x-icon", "image/vnd.microsoft.icon"},
  };
  for (size_t i = 0; i < COUNT_OF(names); i++)
    if (strcmp(content, names[i][0]) == 0)
      return names[i][1];
  return content;
}

/* Text that no extension explains: only what is recognised by its form, not a
 * programming language guessed from a few words. */
static const char *plain_text(const char *content) {
  static const char *const formal[] = {
      "text/html",          "text/xml",      "text/csv",
      "text/x-shellscript", "text/x-python", "text/rtf",
      "text/x-diff",        "text/calendar", NULL};
  if (!string_starts_with(content, "text/") || is_one_of(content, formal))
    return content;
  return "text/plain";
}

/* The rule of the header, in one place: what libmagic says about the content
 * (NULL: it failed) and what the name claims (NULL: nothing known). */
static const char *decide(const char *content, const struct mime_row *claimed) {
  if (content == NULL || string_starts_with(content, "inode/"))
    content = UNKNOWN;
  content = usual_name(content);
  if (is_medium(content) && !is_sure_medium(content) &&
      !agrees(claimed, content))
    content = UNKNOWN;
  if (claimed != NULL && is_allowed(claimed, content))
    return claimed->type;
  return plain_text(content);
}

static const char *type_of(struct mime *mime, const void *bytes, size_t size,
                           const char *name) {
  const struct mime_row *claimed = mime_row_of(name);
  if (mime == NULL)
    return claimed == NULL ? UNKNOWN : claimed->type;
  if (size == 0)
    return decide("text/plain", claimed);
  const char *content = mime_by_signature(bytes, size);
  if (content == NULL)
    content = magic_buffer(mime->magic, bytes, size);
  return decide(content, claimed);
}

void mime_of_bytes(struct mime *mime, const void *bytes, size_t size,
                   const char *name, char type[MIME_SIZE]) {
  if (size > LOOKED_AT)
    size = LOOKED_AT;
  snprintf(type, MIME_SIZE, "%s", type_of(mime, bytes, size, name));
}

/* The start of the file; what cannot be read is left out. */
static size_t read_start(int descriptor, char *bytes, size_t size) {
  size_t length = 0;
  while (length < size) {
    ssize_t got =
        pread(descriptor, bytes + length, size - length, (off_t)length);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      break;
    length += (size_t)got;
  }
  return length;
}

void mime_of_file(struct mime *mime, int descriptor, const char *name,
                  char type[MIME_SIZE]) {
  size_t size =
      mime == NULL ? 0 : read_start(descriptor, mime->bytes, LOOKED_AT);
  mime_of_bytes(mime, mime == NULL ? NULL : mime->bytes, size, name, type);
}

static bool ends_in(const char *type, size_t length, const char *suffix) {
  size_t tail = strlen(suffix);
  return length > tail && strncasecmp(type + length - tail, suffix, tail) == 0;
}

const char *mime_extension(const char *type) {
  size_t length = strcspn(type, "; \t");
  for (size_t i = 0; i < mime_row_count; i++)
    if (strncasecmp(mime_rows[i].type, type, length) == 0 &&
        mime_rows[i].type[length] == '\0')
      return mime_rows[i].extension;
  if (ends_in(type, length, "+json"))
    return "json";
  return ends_in(type, length, "+xml") ? "xml" : "bin";
}
