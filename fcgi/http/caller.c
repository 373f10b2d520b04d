#include "fcgi/http/caller.h"

int caller_identify(const struct request *request, struct caller *ret,
                    struct err *err) {
  (void)err;
  *ret = (struct caller){.name = "anonymous",
                         .address = request_header(request, "REMOTE_ADDR")};
  return 0;
}
