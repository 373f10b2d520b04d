/* What a message or a printed line is about, whatever raised or printed it: a
 * host that cannot be reached, a package that cannot be installed. Pure. */
#ifndef CELLPOST_REPORT_HINT_HINT_TOPIC_H
#define CELLPOST_REPORT_HINT_HINT_TOPIC_H

#include "core/json/json.h"

enum hint_topic {
  HINT_TOPIC_NONE,
  HINT_TOPIC_NETWORK,
  HINT_TOPIC_INSTALL,
  HINT_TOPIC_LOOP,    /* an event loop within a running one */
  HINT_TOPIC_PRINTED, /* an error that the kernel printed and did not tell */
};

/* Of the message of an error; NULL has none. */
enum hint_topic hint_topic_of(const char *message);

/* Of the streams among the outputs, the last that has a topic. */
enum hint_topic hint_topic_of_outputs(const struct json *outputs);

/* What to do, in sentences; "" for none. */
const char *hint_topic_sentence(enum hint_topic topic);

#endif
