#include "core/report/hint/hint_topic.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/text/ansi.h"

static const struct sign {
  const char *words;
  enum hint_topic topic;
} printed[] = {
    {"error: externally-managed-environment", HINT_TOPIC_INSTALL},
    {"Could not find a version that satisfies", HINT_TOPIC_INSTALL},
    {"No matching distribution found for", HINT_TOPIC_INSTALL},
    {"No module named pip", HINT_TOPIC_INSTALL},
    {"PackagesNotFoundError", HINT_TOPIC_INSTALL},
    {"unable to access index for repository", HINT_TOPIC_INSTALL},
    {"Unable to locate package", HINT_TOPIC_INSTALL},
    {"Unable to acquire the dpkg frontend lock", HINT_TOPIC_INSTALL},
    {"Name or service not known", HINT_TOPIC_NETWORK},
    {"Temporary failure in name resolution", HINT_TOPIC_NETWORK},
    {"nodename nor servname provided", HINT_TOPIC_NETWORK},
    {"getaddrinfo failed", HINT_TOPIC_NETWORK},
    {"Could not resolve host", HINT_TOPIC_NETWORK},
    {"unable to resolve host address", HINT_TOPIC_NETWORK},
    {"Network is unreachable", HINT_TOPIC_NETWORK},
    {"No route to host", HINT_TOPIC_NETWORK},
    {"couldn't connect to 'https://huggingface.co'", HINT_TOPIC_NETWORK},
};

/* Where these are printed, nothing need have failed. */
static const struct sign raised[] = {
    {"pip install", HINT_TOPIC_INSTALL},
    {"conda install", HINT_TOPIC_INSTALL},
    {"pip or conda to install", HINT_TOPIC_INSTALL},
    {"cannot be called from a running event loop", HINT_TOPIC_LOOP},
    {"This event loop is already running", HINT_TOPIC_LOOP},
    {"Cannot run the event loop while another loop", HINT_TOPIC_LOOP},
};

/* Of several, the last one of the table. */
static enum hint_topic look_up(const struct sign *signs, size_t count,
                               const char *text, size_t length) {
  while (count-- > 0)
    if (memmem(text, length, signs[count].words, strlen(signs[count].words)) !=
        NULL)
      return signs[count].topic;
  return HINT_TOPIC_NONE;
}

enum hint_topic hint_topic_of(const char *message) {
  if (message == NULL)
    return HINT_TOPIC_NONE;
  size_t length = strlen(message);
  enum hint_topic topic = look_up(printed, COUNT_OF(printed), message, length);
  return topic != HINT_TOPIC_NONE
             ? topic
             : look_up(raised, COUNT_OF(raised), message, length);
}

static bool is_stream(const struct json *output) {
  const char *type = json_get_text(output, "output_type");
  return type != NULL && strcmp(type, "stream") == 0;
}

/* Octave's kernel writes errors to stderr and calls the run a success. */
static bool is_printed_error(const struct json *output, const char *text,
                             size_t length) {
  const char *name = json_get_text(output, "name");
  return name != NULL && strcmp(name, "stderr") == 0 &&
         ((length > 7 && memcmp(text, "error: ", 7) == 0) ||
          memmem(text, length, "\nerror: ", 8) != NULL);
}

static enum hint_topic topic_of_output(const struct json *output) {
  const struct json *text = json_get(output, "text");
  CLEANUP(buf_free) struct buf plain = BUF_INIT(BUF_ANSWER);
  if (!is_stream(output) || json_text(text) == NULL)
    return HINT_TOPIC_NONE;
  ansi_strip(json_text(text), json_text_length(text), &plain);
  enum hint_topic topic =
      look_up(printed, COUNT_OF(printed), buf_string(&plain), plain.length);
  return topic == HINT_TOPIC_NONE &&
                 is_printed_error(output, buf_string(&plain), plain.length)
             ? HINT_TOPIC_PRINTED
             : topic;
}

enum hint_topic hint_topic_of_outputs(const struct json *outputs) {
  for (size_t i = json_length(outputs); i-- > 0;) {
    enum hint_topic topic = topic_of_output(json_at(outputs, i));
    if (topic != HINT_TOPIC_NONE)
      return topic;
  }
  return HINT_TOPIC_NONE;
}

const char *hint_topic_sentence(enum hint_topic topic) {
  static const char *const sentences[] = {
      [HINT_TOPIC_NONE] = "",
      [HINT_TOPIC_NETWORK] =
          "A jailed kernel has no network, so nothing can be downloaded, nor "
          "by "
          "functions like sns.load_dataset or sklearn's fetch_…: use files in "
          "the working directory, or make the data in the code.",
      [HINT_TOPIC_INSTALL] =
          "Nothing can be installed here; use what is there.",
      [HINT_TOPIC_LOOP] =
          "A cell runs inside an event loop already: write `await main()` at "
          "the top level instead of asyncio.run(main()) or "
          "run_until_complete().",
      [HINT_TOPIC_PRINTED] =
          ("The kernel calls this run a success, but stderr begins a line "
           "with \"error:\"."),
  };
  return sentences[topic];
}
