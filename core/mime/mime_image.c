/* Sizes of pictures, read from their headers alone. */
#include <stdint.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/mime/mime.h"
#include "core/mime/mime_svg.h"

struct size {
  uint32_t width, height;
};

static uint32_t big16(const unsigned char *bytes) {
  return (uint32_t)bytes[0] << 8 | bytes[1];
}

static uint32_t big32(const unsigned char *bytes) {
  return big16(bytes) << 16 | big16(bytes + 2);
}

static uint32_t little16(const unsigned char *bytes) {
  return (uint32_t)bytes[1] << 8 | bytes[0];
}

static uint32_t little24(const unsigned char *bytes) {
  return (uint32_t)bytes[2] << 16 | little16(bytes);
}

static uint32_t little32(const unsigned char *bytes) {
  return little16(bytes + 2) << 16 | little16(bytes);
}

/* PNG (third edition), 11.2.1: IHDR comes first. */
static int png_size(const unsigned char *bytes, size_t size, struct size *out) {
  if (size < 24 || memcmp(bytes + 12, "IHDR", 4) != 0)
    return -1;
  *out = (struct size){big32(bytes + 16), big32(bytes + 20)};
  return 0;
}

/* GIF89a, 18: the logical screen. */
static int gif_size(const unsigned char *bytes, size_t size, struct size *out) {
  if (size < 10)
    return -1;
  *out = (struct size){little16(bytes + 6), little16(bytes + 8)};
  return 0;
}

/* Start of frame: C0 to CF without DHT (C4), JPG (C8) and DAC (CC). */
static int is_frame(unsigned marker) {
  return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 &&
         marker != 0xcc;
}

/* TEM, RSTn and SOI are alone, without a length. */
static int stands_alone(unsigned marker) {
  return marker == 0x01 || (marker >= 0xd0 && marker <= 0xd8);
}

/* ITU-T T.81, annex B: segments until the frame header. */
static int jpeg_size(const unsigned char *bytes, size_t size,
                     struct size *out) {
  size_t at = 2;
  while (size - at >= 4) {
    if (bytes[at] != 0xff)
      return -1;
    unsigned marker = bytes[at + 1];
    if (marker == 0xff) { /* a fill byte, B.1.1.2 */
      at++;
    } else if (stands_alone(marker)) {
      at += 2;
    } else if (is_frame(marker)) {
      if (size - at < 9)
        return -1;
      *out = (struct size){big16(bytes + at + 7), big16(bytes + at + 5)};
      return 0;
    } else {
      size_t length = big16(bytes + at + 2);
      if (length < 2 || length > size - at - 2)
        return -1;
      at += 2 + length;
    }
  }
  return -1;
}

/* BITMAPCOREHEADER has 12 bytes and 16-bit sizes, all later ones 32-bit; a
 * negative height says that the rows go from top to bottom. */
static int bmp_size(const unsigned char *bytes, size_t size, struct size *out) {
  if (size < 26)
    return -1;
  uint32_t header = little32(bytes + 14);
  if (header == 12) {
    *out = (struct size){little16(bytes + 18), little16(bytes + 20)};
    return 0;
  }
  uint32_t height = little32(bytes + 22);
  if (header < 16 || header > 256)
    return -1;
  *out = (struct size){little32(bytes + 18),
                       height > INT32_MAX ? 0 - height : height};
  return 0;
}

/* RFC 9649: lossy (2.5 and RFC 6386, 9.1), lossless (3.4), extended (2.7). */
static int webp_size(const unsigned char *bytes, size_t size,
                     struct size *out) {
  if (size < 30 || memcmp(bytes + 8, "WEBP", 4) != 0)
    return -1;
  const unsigned char *chunk = bytes + 20;
  if (memcmp(bytes + 12, "VP8X", 4) == 0) {
    *out = (struct size){little24(chunk + 4) + 1, little24(chunk + 7) + 1};
    return 0;
  }
  if (memcmp(bytes + 12, "VP8L", 4) == 0 && chunk[0] == 0x2f) {
    uint32_t both = little32(chunk + 1);
    *out = (struct size){(both & 0x3fff) + 1, (both >> 14 & 0x3fff) + 1};
    return 0;
  }
  if (memcmp(bytes + 12, "VP8 ", 4) == 0 &&
      memcmp(chunk + 3, "\x9d\x01\x2a", 3) == 0) {
    *out = (struct size){little16(chunk + 6) & 0x3fff,
                         little16(chunk + 8) & 0x3fff};
    return 0;
  }
  return -1;
}

struct format {
  const char *signature;
  size_t length;
  int (*measure)(const unsigned char *bytes, size_t size, struct size *out);
};

static const struct format formats[] = {
    {"\x89PNG\r\n\x1a\n", 8, png_size},
    {"GIF87a", 6, gif_size},
    {"GIF89a", 6, gif_size},
    {"\xff\xd8\xff", 3, jpeg_size},
    {"RIFF", 4, webp_size},
    {"BM", 2, bmp_size},
};

int mime_image_size(const void *bytes, size_t size, unsigned *width,
                    unsigned *height) {
  for (size_t i = 0; i < COUNT_OF(formats); i++) {
    if (size < formats[i].length ||
        memcmp(bytes, formats[i].signature, formats[i].length) != 0)
      continue;
    struct size found = {0, 0};
    if (formats[i].measure(bytes, size, &found) != 0 || found.width == 0 ||
        found.height == 0)
      return -1;
    *width = found.width;
    *height = found.height;
    return 0;
  }
  return mime_svg_size(bytes, size, width, height);
}
