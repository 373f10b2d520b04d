/* The one door to libmagic: the media type of a file.
 *
 * Content decides for what is unmistakable (images, PDF, archives, and the
 * signatures of mime_table.c). The extension refines what content leaves open:
 * text of any kind (source code, csv, ipynb), a zip archive (docx, npz) and
 * bytes without a signature (pickle). A file whose extension claims an image
 * but whose content is none is not called one. libmagic's guesses from a few
 * bytes (image/x-tga, audio/mpeg …) count only when the extension agrees, and
 * its guesses at a programming language, shell and Python apart, do not count.
 * An empty file is text. Never trust the result for how a browser may show the
 * file. */
#ifndef CELLPOST_MIME_MIME_H
#define CELLPOST_MIME_MIME_H

#include <stddef.h>

#define MIME_SIZE 128

struct mime; /* one libmagic cookie; not for two threads at once */

/* NULL when the magic database cannot be loaded. Load all before threads start
 * (libmagic's default-path look-up uses a static buffer). */
struct mime *mime_open(void);
void mime_close(struct mime *mime);

/* The type of an open regular file (its first 256 KiB are read, its position
 * is untouched); `name` gives the extension. mime may be NULL: then the
 * extension alone decides, "application/octet-stream" when it is unknown. */
void mime_of_file(struct mime *mime, int descriptor, const char *name,
                  char type[MIME_SIZE]);
void mime_of_bytes(struct mime *mime, const void *bytes, size_t size,
                   const char *name, char type[MIME_SIZE]);

/* "png" for "image/png" and so on; "json" and "xml" for types that end in
 * "+json" and "+xml"; "bin" when unknown. Parameters and case are ignored.
 * Static storage. */
const char *mime_extension(const char *type);

/* Pixel size from the header of PNG, GIF, JPEG, WebP, BMP or SVG bytes; for
 * SVG in CSS pixels (96 an inch), rounded. 0 on success; -1 when unknown, with
 * *width and *height untouched. Neither is ever 0. Pure. */
int mime_image_size(const void *bytes, size_t size, unsigned *width,
                    unsigned *height);

#endif
