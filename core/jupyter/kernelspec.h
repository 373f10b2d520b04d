/* Kernelspecs: which kernels this host has and how they are started
 * (jupyter_client, docs/kernels.rst, "Kernel specs"). */
#ifndef CELLPOST_JUPYTER_KERNELSPEC_H
#define CELLPOST_JUPYTER_KERNELSPEC_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/json/json.h"

struct kernelspec {
  char *name;      /* directory name in lower case */
  char *directory; /* absolute */
  char *display_name;
  char *language;
  char **argv;               /* as in kernel.json; NULL-terminated */
  struct json *env;          /* object of strings */
  struct json *metadata;     /* object */
  bool interrupt_by_message; /* interrupt_mode "message" */
};

/* Search path, first hit wins, names compared in lower case,
 * ^[a-z0-9._-]+$: `extra` (colon-separated directories that hold kernelspecs
 * themselves, EXTRA/NAME/kernel.json; may be NULL), $JUPYTER_PATH/kernels,
 * $JUPYTER_DATA_DIR/kernels or
 * ~/.local/share/jupyter/kernels, /usr/local/share/jupyter/kernels,
 * /usr/share/jupyter/kernels,
 * ~/.ipython/kernels. A directory counts when it holds a kernel.json.
 * ERR_NOT_FOUND names the kernelspecs that exist. */
int kernelspec_find(const char *extra, const char *name,
                    struct kernelspec **ret, struct err *err);

/* All of them, sorted by name; broken ones are left out. The array and its
 * members belong to the caller (kernelspec_free_list). */
int kernelspec_list(const char *extra, struct kernelspec ***ret, size_t *count,
                    struct err *err);

/* Parses one kernel.json. Pure. ERR_INVALID names the fault. */
int kernelspec_parse(const char *text, size_t length, const char *name,
                     const char *directory, struct kernelspec **ret,
                     struct err *err);

/* argv with {connection_file}, {resource_dir} and {prefix} filled in, unknown
 * {x} left as is, ~ expanded. {prefix} is what stands in front of
 * /share/jupyter/kernels/NAME in the spec's directory, else /usr. A program
 * that is just "python", "python3" … is the one in {prefix}/bin, never another
 * one that PATH happens to find: the system's only where pip installs for that
 * (/usr/local, ~/.local) and for kernelspecs elsewhere; PATH is searched when
 * the kernelspec sets it. NULL-terminated; kernelspec_free_argv. */
char **kernelspec_expand_argv(const struct kernelspec *spec,
                              const char *connection_file);
void kernelspec_free_argv(char **argv);

void kernelspec_free(struct kernelspec *spec);
void kernelspec_done(struct kernelspec **spec);
void kernelspec_free_list(struct kernelspec **list, size_t count);

#endif
