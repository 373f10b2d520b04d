#include "core/report/hint/hint_error.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/report/hint/hint_modules.h"
#include "core/report/hint/hint_topic.h"

#define NAME_SIZE 160

/* The text between the first pair of `quote` in the message. */
static bool quoted(const char *text, char quote, char name[NAME_SIZE]) {
  const char *start = text ? strchr(text, quote) : NULL;
  const char *end = start ? strchr(start + 1, quote) : NULL;
  if (end == NULL || end == start + 1 || end - start > NAME_SIZE)
    return false;
  size_t length = (size_t)(end - start) - 1;
  memcpy(name, start + 1, length);
  name[length] = '\0';
  return true;
}

/* "a, b, c" of an array of strings; false when it is empty. */
static bool add_list(struct buf *out, const char *before,
                     const struct json *list, const char *after) {
  size_t count = json_length(list);
  if (count == 0)
    return false;
  buf_text(out, before);
  for (size_t i = 0; i < count; i++) {
    const char *item = json_text(json_at(list, i));
    buf_format(out, "%s%s", i ? ", " : "", item ? item : "");
  }
  buf_text(out, after);
  return true;
}

static void add_installing(struct hint *hint) {
  const char *instead = json_get_text(hint->seen, "instead");
  if (hint->source->packages_allowed)
    buf_text(hint->out,
             " It can be installed: POST it to this task's packages.");
  else
    buf_format(hint->out, " %s", hint_topic_sentence(HINT_TOPIC_INSTALL));
  if (instead != NULL)
    buf_format(hint->out, " %s is there.", instead);
}

static void module_missing(struct hint *hint) {
  char module[NAME_SIZE], distribution[NAME_SIZE];
  if (!quoted(hint->source->evalue, '\'', module))
    return;
  const char *last = strrchr(module, '.');
  const char *renamed = hint_renamed_module(module);
  enum hint_known known =
      hint_distribution(module, distribution, sizeof distribution);
  bool parent = json_as_boolean(json_get(hint->seen, "parent"), false);
  if (renamed != NULL) {
    buf_format(hint->out, "There is no module %s. %s", module, renamed);
    return;
  }
  if (last != NULL && parent && known != HINT_KNOWN) {
    buf_format(hint->out, "%.*s is there, but has no module %s in it.",
               (int)(last - module), module, last + 1);
  } else if (known != HINT_UNKNOWN) {
    buf_format(hint->out,
               "The module %s comes with the distribution %s, which is not "
               "installed.",
               module, distribution);
    add_installing(hint);
    return;
  } else {
    buf_format(hint->out, "The module %s is not installed", module);
    if (hint->source->packages_allowed)
      buf_format(hint->out, "; its distribution is probably called %s, too",
                 distribution);
    buf_text(hint->out, ".");
    add_installing(hint);
  }
  add_list(hint->out, " Modules with a close name that are there: ",
           json_get(hint->seen, "close"), ".");
}

static void name_missing(struct hint *hint) {
  char name[NAME_SIZE];
  if (!quoted(hint->source->evalue, '\'', name))
    return;
  struct buf *out = hint->out;
  const char *import = hint_usual_import(name);
  bool told = add_list(
      out, "Close names that exist: ", json_get(hint->seen, "close"), ".");
  if (import != NULL)
    buf_format(out, "%s%s is usually had by: %s.", told ? " " : "", name,
               import);
  else if (json_as_boolean(json_get(hint->seen, "module"), false))
    buf_format(out, "%s%s is a module: import %s.", told ? " " : "", name,
               name);
  else if (!told && hint->seen != NULL)
    buf_format(out,
               "No name like %s exists in the kernel: define it first, or run "
               "the cell that does.",
               name);
  if (!hint->source->state_kept)
    buf_text(out, " The kernel was started anew, so names from earlier cells "
                  "are gone.");
}

static void name_unbound(struct hint *hint) {
  char name[NAME_SIZE];
  if (quoted(hint->source->evalue, '\'', name))
    buf_format(hint->out,
               "The function assigns %s somewhere, so the name is local in all "
               "of it: assign it first, or declare it global or nonlocal.",
               name);
}

/* "Missing optional dependency 'tabulate'.  Use pip or conda to install
 * tabulate." What does the work without it, where that is known. */
static void dependency_missing(struct hint *hint, const char *name) {
  static const struct {
    const char *name, *without;
  } ways[] = {
      {"Jinja2", "print(df.to_string())"},
      {"fastparquet", "to_csv or to_pickle"},
      {"jinja2", "print(df.to_string())"},
      {"openpyxl", "to_csv, and CSV files instead of Excel's"},
      {"pyarrow", "to_csv or to_pickle"},
      {"pytables", "to_pickle"},
      {"tables", "to_pickle"},
      {"tabulate", "print(df.to_string())"},
      {"xlrd", "CSV files instead of Excel's"},
  };
  buf_format(hint->out, "%s is not installed.", name);
  add_installing(hint);
  for (size_t i = 0; i < COUNT_OF(ways); i++)
    if (strcmp(ways[i].name, name) == 0)
      buf_format(hint->out, " Without it: %s.", ways[i].without);
}

static void attribute_missing(struct hint *hint) {
  const char *type = json_get_text(hint->seen, "type");
  CLEANUP(buf_free) struct buf before = BUF_INIT(BUF_LINE);
  buf_format(&before, "Close names in %s: ", type ? type : "it");
  add_list(hint->out, buf_string(&before), json_get(hint->seen, "close"), ".");
}

static void import_failed(struct hint *hint) {
  char name[NAME_SIZE];
  const char *message = hint->source->evalue;
  const char *missing =
      message ? strstr(message, "issing optional dependency '") : NULL;
  if (missing != NULL && quoted(missing, '\'', name))
    dependency_missing(hint, name);
  else
    attribute_missing(hint);
}

/* The member's name for one of its keys and for all of them. */
static const char *word_for_key(const char *kind) {
  if (kind != NULL && strcmp(kind, "columns") == 0)
    return "column";
  return kind != NULL && strcmp(kind, "labels") == 0 ? "label" : "key";
}

static void key_missing(struct hint *hint) {
  const struct json *seen = hint->seen, *some = json_get(seen, "some");
  const char *container = json_get_text(seen, "container");
  const char *key = json_get_text(seen, "key");
  const char *word = word_for_key(json_get_text(seen, "kind"));
  int64_t count = json_get_integer(seen, "count", -1);
  struct buf *out = hint->out;
  if (count < 0 || key == NULL)
    return;
  buf_format(out, "%s has no %s %s", container && *container ? container : "It",
             word, key);
  if (count == 0)
    buf_text(out, ": it is empty.");
  else
    buf_format(out, " among its %lld %s%s.", (long long)count, word,
               count == 1 ? "" : "s");
  add_list(out, " Close: ", json_get(seen, "close"), ".");
  bool all = (int64_t)json_length(some) == count;
  add_list(out, all ? " It has: " : " The first are: ", some, ".");
}

static void file_missing(struct hint *hint) {
  const struct json *seen = hint->seen, *entries = json_get(seen, "entries");
  const char *directory = json_get_text(seen, "directory");
  const char *missing = json_get_text(seen, "missing");
  long long count = json_get_integer(seen, "count", 0);
  struct buf *out = hint->out;
  if (directory == NULL || missing == NULL)
    return;
  if (strcmp(directory, ".") == 0)
    directory = "The working directory";
  if (count == 0) {
    buf_format(out, "%s is empty.", directory);
    return;
  }
  if (missing[0] == '/')
    buf_format(out,
               "There is no %s; the task's files are in the working "
               "directory.",
               missing);
  else
    buf_format(out, "%s has no %s.", directory, missing);
  add_list(out, " Close: ", json_get(seen, "close"), ".");
  add_list(out, " It holds: ", entries, "");
  if ((size_t)count > json_length(entries))
    buf_format(out, " and %lld more", count - (long long)json_length(entries));
  buf_text(out, ".");
}

static void group_raised(struct hint *hint) {
  const struct json *members = json_get(hint->seen, "members");
  int64_t more = json_get_integer(hint->seen, "more", 0);
  struct buf *out = hint->out;
  for (size_t i = 0; i < json_length(members); i++) {
    const struct json *member = json_at(members, i);
    const char *text = json_get_text(member, "text");
    int64_t line = json_get_integer(member, "line", 0);
    int64_t cell = json_get_integer(member, "cell", 0);
    buf_format(out, "%s%s", i ? "; " : "The group holds: ", text ? text : "");
    if (line > 0 && cell > 0)
      buf_format(out, " (In[%lld], line %lld)", (long long)cell,
                 (long long)line);
    else if (line > 0)
      buf_format(out, " (line %lld)", (long long)line);
  }
  if (more > 0)
    buf_format(out, "; and %lld more", (long long)more);
  if (json_length(members) > 0)
    buf_text(out, ".");
}

#define WRITE_DENIED "Only the working directory and /tmp can be written."

static void system_failed(struct hint *hint) {
  const char *message = hint->source->evalue ? hint->source->evalue : "";
  if (strncmp(message, "[Errno 30]", 10) == 0)
    buf_text(hint->out, WRITE_DENIED);
  else if (strncmp(message, "[Errno 28]", 10) == 0)
    buf_text(hint->out, "The disk is full: delete files that are not needed.");
}

/* The topic of the message; the network is often told by a cause only. */
static enum hint_topic topic_of_error(const struct hint *hint) {
  const struct json *chain = json_get(hint->probe, "chain");
  enum hint_topic topic = hint_topic_of(hint->source->evalue);
  for (size_t i = 0; i < json_length(chain); i++)
    if (hint_topic_of(json_get_text(json_at(chain, i), "text")) ==
        HINT_TOPIC_NETWORK)
      topic = HINT_TOPIC_NETWORK;
  return topic;
}

/* A kernel that has a network, and did not reach a host all the same, is told
 * nothing. */
static void tell_topic(struct hint *hint, enum hint_topic topic) {
  const struct json *network = json_get(hint->source->probe, "network");
  if (topic != HINT_TOPIC_NETWORK || !json_as_boolean(network, false))
    buf_text(hint->out, hint_topic_sentence(topic));
}

void hint_error_compose(struct hint *hint) {
  static const struct hint_rule rules[] = {
      {"ModuleNotFoundError", module_missing, NULL},
      {"ImportError", import_failed, NULL},
      {"NameError", name_missing, NULL},
      {"UnboundLocalError", name_unbound, NULL},
      {"AttributeError", attribute_missing, NULL},
      {"KeyError", key_missing, NULL},
      {"FileNotFoundError", file_missing, NULL},
      {"ExceptionGroup", group_raised, NULL},
      {"BaseExceptionGroup", group_raised, NULL},
      {"OSError", system_failed, NULL},
      {"PermissionError", NULL, WRITE_DENIED},
      {"StdinNotImplementedError", NULL,
       "Nobody answers input() here: give its answers as the request's stdin "
       "lines, or write the values into the code."},
      {"EOFError", NULL,
       "The lines given as stdin are used up: give as many as the code reads, "
       "or let it read fewer."},
      {"SystemExit", NULL,
       "sys.exit() ended this cell only; the kernel goes on."},
      {"MemoryError", NULL,
       "One allocation was larger than the memory that is free. Work on "
       "smaller parts, and free what is not needed with del."},
      {"NoReply", NULL,
       "Look at the effects of the code before it is run again. If other cells "
       "get no reply either, restart the kernel: POST to this task's restart."},
  };
  enum hint_topic topic = topic_of_error(hint);
  if (topic == HINT_TOPIC_NETWORK || topic == HINT_TOPIC_LOOP) {
    tell_topic(hint, topic);
    return;
  }
  hint_rule_apply(hint, rules, COUNT_OF(rules), hint->source->ename);
  if (hint->out->length == 0 && topic == HINT_TOPIC_NONE)
    topic = hint_topic_of_outputs(hint->source->outputs);
  if (hint->out->length == 0)
    tell_topic(hint, topic);
}
