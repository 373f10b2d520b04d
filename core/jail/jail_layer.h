/* The layers a jail is made of: their names, and which of them hold. */
#ifndef CELLPOST_JAIL_JAIL_LAYER_H
#define CELLPOST_JAIL_JAIL_LAYER_H

#include <stdbool.h>

enum jail_layer {
  JAIL_MOUNT, /* a root of its own: what is not needed does not exist */
  JAIL_PID,
  JAIL_IPC,
  JAIL_UTS,
  JAIL_NETWORK,
  JAIL_CGROUP,
  JAIL_USER,         /* when the keeper is not root */
  JAIL_IDS,          /* a user of its own for each kernel */
  JAIL_CAPABILITIES, /* none, for ever */
  JAIL_LANDLOCK,
  JAIL_SECCOMP,
  JAIL_RLIMITS,
  JAIL_LIMIT_MEMORY, /* by control groups, as those that follow */
  JAIL_LIMIT_PIDS,
  JAIL_LIMIT_CPU,
  JAIL_KILL,  /* of all that a kernel started, at once */
  JAIL_QUOTA, /* of the workspace */
  JAIL_LAYERS,
};

#define JAIL_BIT(layer) (1U << (layer))

enum jail_state {
  JAIL_ON,
  JAIL_DEGRADED, /* holds in part; the note says what is missing */
  JAIL_OFF,      /* the note says why */
  JAIL_UNNEEDED, /* another layer does it; the note says which */
};

struct jail_status {
  enum jail_state state;
  char note[256];
};

const char *jail_layer_name(enum jail_layer layer);    /* "network" */
const char *jail_layer_meaning(enum jail_layer layer); /* one phrase */
const char *jail_state_name(enum jail_state state);

#endif
