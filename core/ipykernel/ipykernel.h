/* The Python that runs inside kernels, where C names it. The files are compiled
 * in; embedded_find() gives their text. */
#ifndef CELLPOST_IPYKERNEL_IPYKERNEL_H
#define CELLPOST_IPYKERNEL_IPYKERNEL_H

/* What Cellpost does in every Python kernel: the modules in setup/ and load.py,
 * as one source (tools/bundle). Run it with the global `digest`, a text; then
 * call its set_up(directory), the kernel's own run directory, which gets
 * LAYOUT_STACK and, with the digest, LAYOUT_SETUP. A kernel that has been set
 * up has sys._cellpost_setup, the digest. */
#define IPYKERNEL_SETUP "core/ipykernel/setup"

/* What a hint is made from: its answer() looks at the last exception. */
#define IPYKERNEL_PROBE "core/ipykernel/probe.py"

#endif
