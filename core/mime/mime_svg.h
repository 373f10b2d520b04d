/* The size of an SVG picture; private to the mime*.c files. */
#ifndef CELLPOST_MIME_MIME_SVG_H
#define CELLPOST_MIME_MIME_SVG_H

#include <stddef.h>

/* As mime_image_size, for SVG only. */
int mime_svg_size(const char *text, size_t length, unsigned *width,
                  unsigned *height);

#endif
