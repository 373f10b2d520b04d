#include "core/jail/jail_report.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/layout.h"
#include "core/base/mem.h"
#include "core/jail/jail_host_private.h"

static struct json *describe(const struct jail_host *host,
                             enum jail_layer layer) {
  const struct jail_status *status = jail_host_status(host, layer);
  struct json *object = json_object();
  json_set_text(object, "name", jail_layer_name(layer));
  json_set_text(object, "meaning", jail_layer_meaning(layer));
  json_set_text(object, "state", jail_state_name(status->state));
  json_set_text(object, "note", status->note);
  return object;
}

struct json *jail_report(const struct jail_host *host) {
  static const char *const modes[] = {[CONF_JAIL_OFF] = "off",
                                      [CONF_JAIL_AUTO] = "auto",
                                      [CONF_JAIL_REQUIRED] = "required"};
  struct json *report = json_object(), *layers = json_array();
  for (size_t i = 0; i < JAIL_LAYERS; i++)
    json_push(layers, describe(host, (enum jail_layer)i));
  json_set_text(report, "mode", modes[host->conf->jail]);
  json_set(report, "layers", layers);
  return report;
}

int jail_report_write(const struct jail_host *host, int directory,
                      struct err *err) {
  CLEANUP(json_done) struct json *report = jail_report(host);
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_SMALL);
  if (json_write(report, &text) != 0 || buf_byte(&text, '\n') != 0)
    return err_set(err, ERR_INTERNAL, "the jail's report is too long");
  struct iovec part = {text.data, text.length};
  return fs_write_atomic(directory, LAYOUT_JAIL_REPORT, 0644, &part, 1,
                         FS_SYNC_NONE, err);
}

int jail_report_read(const char *run_directory, struct json **ret,
                     struct err *err) {
  CLEANUP(mem_close_descriptor)
  int directory = fs_open_directory(run_directory, err);
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_SMALL);
  if (directory < 0 ||
      fs_read_file(directory, LAYOUT_JAIL_REPORT, &text, err) < 0)
    return -1;
  return json_parse(buf_string(&text), text.length, &JSON_RULES_STORE, ret,
                    err);
}

/* As the keeper would be. */
static struct jail who(const struct conf *conf) {
  const struct passwd *user = geteuid() == 0 ? getpwnam(conf->user) : NULL;
  return (struct jail){.switch_user = user != NULL,
                       .uid = user == NULL ? geteuid() : user->pw_uid,
                       .gid = user == NULL ? getegid() : user->pw_gid};
}

int jail_report_try(const struct conf *conf, struct json **ret,
                    struct err *err) {
  char scratch[] = "/tmp/cellpost-jail-XXXXXX";
  if (mkdtemp(scratch) == NULL)
    return err_errno(err, ERR_IO, errno, "cannot make %s", scratch);
  CLEANUP(jail_host_done) struct jail_host *host = NULL;
  const char *tasks = access(conf->state_directory, R_OK | X_OK) == 0
                          ? conf->state_directory
                          : "/tmp";
  struct jail plain = who(conf);
  int result = jail_host_open(conf, &plain, scratch, tasks, true, &host, err);
  rmdir(scratch);
  if (host == NULL)
    return result;
  *ret = jail_report(host);
  return 0;
}
