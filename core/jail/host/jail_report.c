#include "core/jail/host/jail_report.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/jail/host/jail_survey.h"

static struct json *describe(const struct jail_survey *survey,
                             enum jail_layer layer) {
  const struct jail_status *status = &survey->status[layer];
  struct json *object = json_object();
  json_set_text(object, "name", jail_layer_name(layer));
  json_set_text(object, "meaning", jail_layer_meaning(layer));
  json_set_text(object, "state", jail_survey_state(status->state));
  json_set_text(object, "note", status->note);
  return object;
}

struct json *jail_report(const struct jail_survey *survey) {
  static const char *const modes[] = {[CONF_JAIL_OFF] = "off",
                                      [CONF_JAIL_AUTO] = "auto",
                                      [CONF_JAIL_REQUIRED] = "required"};
  struct json *report = json_object(), *layers = json_array();
  for (size_t i = 0; i < JAIL_LAYERS; i++)
    json_push(layers, describe(survey, (enum jail_layer)i));
  json_set_text(report, "mode", modes[survey->conf->jail]);
  json_set(report, "layers", layers);
  return report;
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
  struct jail_survey survey;
  const char *tasks = access(conf->state_directory, R_OK | X_OK) == 0
                          ? conf->state_directory
                          : "/tmp";
  struct jail plain = who(conf);
  int result =
      jail_survey_open(conf, &plain, scratch, tasks, true, &survey, err);
  rmdir(scratch);
  if (result < 0)
    return -1;
  *ret = jail_report(&survey);
  jail_survey_close(&survey);
  return 0;
}
