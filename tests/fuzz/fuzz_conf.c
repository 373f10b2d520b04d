/* A configuration that is accepted describes itself in a form that is accepted
 * and means the same. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/conf/conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct err err = {0};
  CLEANUP(conf_done) struct conf *conf = NULL;
  if (conf_parse((const char *)data, size, "fuzz", &conf, &err) != 0) {
    if (conf != NULL || err.kind != ERR_INVALID || err.text[0] == '\0')
      abort();
    return 0;
  }
  CLEANUP(buf_free) struct buf first = BUF_INIT(BUF_SMALL);
  CLEANUP(buf_free) struct buf second = BUF_INIT(BUF_SMALL);
  CLEANUP(conf_done) struct conf *again = NULL;
  if (conf_describe(conf, &first) != 0 ||
      conf_parse(buf_string(&first), first.length, "again", &again, &err) != 0)
    abort();
  if (conf_describe(again, &second) != 0 ||
      strcmp(buf_string(&first), buf_string(&second)) != 0)
    abort();
  return 0;
}
