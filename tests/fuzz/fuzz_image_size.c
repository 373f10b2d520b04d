/* mime_image_size reads headers of pictures that a kernel made. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/mime/mime.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  unsigned width = 0, height = 0;
  int result = mime_image_size(data, size, &width, &height);
  if (result == 0 ? width == 0 || height == 0 : width != 0 || height != 0)
    abort();
  return 0;
}
