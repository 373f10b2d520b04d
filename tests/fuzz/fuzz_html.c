/* Whatever HTML a kernel sends: the text is valid UTF-8, no longer than its
 * bound, and the same when asked again. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/utf8.h"
#include "core/report/html/html.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  CLEANUP(buf_free) struct buf html = BUF_INIT(BUF_ANSWER);
  CLEANUP(buf_free) struct buf text = BUF_INIT(HTML_MOST);
  CLEANUP(buf_free) struct buf again = BUF_INIT(HTML_MOST);
  if (utf8_repair((const char *)data, size, &html) < 0)
    return 0;
  html_to_text(buf_string(&html), html.length, &text);
  html_to_text(buf_string(&html), html.length, &again);
  if (text.overflowed || !utf8_is_valid(buf_string(&text), text.length) ||
      strcmp(buf_string(&text), buf_string(&again)) != 0)
    abort();
  return 0;
}
