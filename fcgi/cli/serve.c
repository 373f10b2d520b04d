#include "fcgi/cli/serve.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/access/address.h"
#include "core/base/log.h"
#include "core/feed/publisher.h"
#include "core/run/service.h"
#include "core/store/store.h"
#include "core/upkeep/routine.h"
#include "fcgi/cli/privilege.h"
#include "fcgi/cli/tokens.h"
#include "fcgi/e2b/e2b.h"
#include "fcgi/handlers/routes.h"
#include "fcgi/http/dispatch.h"
#include "fcgi/live/broadcast.h"
#include "fcgi/transport/server.h"

/* For as long as the process lives, as its threads may. */
static struct service service;

static void start_log(const struct conf *conf) {
  enum log_level level = LOG_LEVEL_INFO;
  log_level_from_name(conf->log_level, &level);
  log_init(STDERR_FILENO, level, "cellpost");
}

/* As many descriptors as the host lets us have. */
static void raise_limits(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
    return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

static int open_service(const struct conf *conf, long threads,
                        struct err *err) {
  service.routes = routes;
  service.route_count = routes_count;
  metrics_open(&service.metrics, threads);
  allowance_open(&service.allowances);
  server_block_signals();
  if (address_check_list(conf->trusted_addresses, err) < 0)
    return err_wrap(err, "trusted_addresses");
  if (strcmp(conf->proxies, "off") != 0 &&
      address_check_list(conf->proxies, err) < 0)
    return err_wrap(err, "proxies");
  if (service_open(conf, &service.engine, err) < 0 ||
      tokens_mark(conf, engine_store(service.engine), err) < 0)
    return -1;
  return service_start(service.engine, err);
}

static void work(void *context, struct door *door) {
  store_set_patience(STORE_PATIENCE);
  dispatch(context, door);
}

/* Returns as server_drain, or -1. */
static int serve_requests(const struct conf *conf, struct listener *listener,
                          struct err *err) {
  if (broadcast_start(engine_store(service.engine), conf, &service.metrics,
                      &service.broadcast, err) < 0)
    return -1;
  long threads =
      server_start(listener, (long)conf->threads, work, &service, err);
  if (threads < 0)
    return -1;
  metrics_open(&service.metrics, threads);
  server_wait();
  broadcast_stop(service.broadcast);
  return server_drain();
}

static int serve_beside_upkeep(const struct conf *conf,
                               struct listener *listener, struct err *err) {
  struct routine *routine = NULL;
  struct publisher *publisher = NULL;
  struct store *store = engine_store(service.engine);
  int result = routine_start(conf, store, &routine, err);
  if (result == 0)
    result = publisher_start(conf, store, &publisher, err);
  if (result == 0)
    result = e2b_start(service.engine, err);
  if (result == 0)
    result = serve_requests(conf, listener, err);
  if (result < 0)
    listener_stop(listener);
  log_info("stopped");
  if (result == 1)
    _exit(EXIT_SUCCESS); /* threads still use everything */
  e2b_stop();
  publisher_stop(publisher);
  routine_stop(routine);
  return result;
}

int serve_fastcgi(const struct conf *conf, const char *argument,
                  struct err *err) {
  (void)argument;
  struct listener listener;
  start_log(conf);
  raise_limits();
  int root = privilege_drop(conf, err);
  if (root < 0 || listener_open(conf->listen, &listener, err) < 0)
    return -1;
  if (root == 1)
    log_warning("running as root, because the configuration says so");
  if (open_service(conf, (long)conf->threads, err) < 0) {
    listener_stop(&listener);
    return -1;
  }
  if (tokens_are_wanted(conf))
    log_warning(
        "hosts names more than loopback and no token is needed: whoever "
        "reaches it can run code (cellpost token add)");
  int result = serve_beside_upkeep(conf, &listener, err);
  service_close(service.engine);
  listener_close(&listener);
  return result;
}

/* Signals do not cut it off: the run would be lost. */
int serve_cgi(const struct conf *conf, struct err *err) {
  start_log(conf);
  raise_limits();
  if (privilege_drop(conf, err) < 0 || open_service(conf, 1, err) < 0)
    return -1;
  struct door *door = door_open_cgi();
  work(&service, door);
  door_close(door);
  service_close(service.engine);
  return 0;
}
