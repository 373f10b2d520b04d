/* One targeted hint per class of failure. Pure. */
#ifndef CELLPOST_REPORT_HINT_HINT_H
#define CELLPOST_REPORT_HINT_HINT_H

#include "core/base/buf.h"
#include "core/json/json.h"
#include "core/report/hint/hint_source.h"

/* Appends the hint; nothing is appended when there is none to give.
 * ModuleNotFoundError names the distribution (cv2 → opencv-python-headless,
 * sklearn → scikit-learn, PIL → pillow, yaml → pyyaml, bs4 → beautifulsoup4 …)
 * and whether it can be installed; NameError, KeyError, AttributeError give
 * close names that exist; FileNotFoundError lists the directory; timeout, oom,
 * kernel_died say what survived and what to do. Whatever the class: that there
 * is no network, that nothing can be installed, that an event loop runs. */
int hint_compose(const struct hint_source *source, struct buf *out);

/* A hint for a run that ended ok: what it printed says that something failed
 * (pip, a download, Octave's error()). Static; NULL when there is none. */
const char *hint_of_outputs(const struct json *outputs);

/* One expression for user_expressions that, evaluated after an error, gives a
 * text whose repr carries the JSON of the probe; NULL for languages and classes
 * that need none. It leaves no name behind and cannot raise; about 12 kB, 2 to
 * 4 ms in the kernel. It is to be sent with a silent, empty execute_request of
 * its own: kernels do not evaluate user_expressions of a cell that failed. It
 * serves every Python exception but those of the parser and of interrupts,
 * because it also tells the lines that raised (traceback.h, `probe`). */
const char *hint_probe_expression(const char *language, const char *ename);

/* The probe's JSON from the user_expressions member of the reply; NULL when
 * there is none. The caller owns it. */
struct json *hint_probe_result(const struct json *user_expressions);

#endif
