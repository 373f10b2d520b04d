/* The program `cellpost`: serves HTTP behind a web server, and does what its
 * verbs say. */
#include <stdio.h>
#include <stdlib.h>

#include "core/base/mem.h"
#include "fcgi/cli/serve.h"
#include "fcgi/cli/verbs.h"
#include "fcgi/transport/door.h"

static int answer_one(struct err *err) {
  CLEANUP(conf_done) struct conf *conf = NULL;
  if (verbs_load_conf(NULL, &conf, err) < 0 || serve_cgi(conf, err) < 0)
    return EXIT_FAILURE;
  return EXIT_SUCCESS;
}

int main(int count, char **arguments) {
  struct err err = {.kind = ERR_NONE};
  int status = EXIT_FAILURE;
  if (door_init() < 0)
    err_set(&err, ERR_INTERNAL, "libfcgi cannot be set up");
  else
    /* The arguments of a CGI program come from the client (RFC 3875, 4.4). */
    status =
        door_is_cgi() ? answer_one(&err) : verbs_run(count, arguments, &err);
  if (status != 0 && err.kind != ERR_NONE)
    fprintf(stderr, "cellpost: %s\n", err.text);
  return status;
}
