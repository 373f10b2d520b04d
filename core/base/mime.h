/* The one door to libmagic: the media type of a file.
 *
 * Content decides for what is unmistakable (images, PDF, archives); the
 * extension refines text/plain, application/octet-stream, application/zip and
 * application/json (source code, csv, ipynb, parquet, npy, docx …); a file
 * whose extension claims an image but whose content is none is not called one.
 */
#ifndef CELLPOST_BASE_MIME_H
#define CELLPOST_BASE_MIME_H

#include <stddef.h>

#define MIME_SIZE 128

struct mime; /* one libmagic cookie; not for two threads at once */

/* NULL when the magic database cannot be loaded. Load all before threads start
 * (libmagic's default-path look-up uses a static buffer). */
struct mime *mime_open(void);
void mime_close(struct mime *mime);

/* The type of an open regular file (position untouched); `name` gives the
 * extension. mime may be NULL: then the extension alone decides. */
void mime_of_file(struct mime *mime, int descriptor, const char *name,
                  char type[MIME_SIZE]);
void mime_of_bytes(struct mime *mime, const void *bytes, size_t size,
                   const char *name, char type[MIME_SIZE]);

/* "png" for "image/png" and so on; "bin" when unknown. Static storage. */
const char *mime_extension(const char *type);

/* Pixel size from the header of PNG, GIF, JPEG, WebP, BMP or SVG bytes.
 * 0 on success; -1 when unknown. Pure. */
int mime_image_size(const void *bytes, size_t size, unsigned *width,
                    unsigned *height);

#endif
