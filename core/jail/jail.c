#include "core/jail/jail.h"

static const struct {
  const char *name, *meaning;
} layers[JAIL_LAYERS] = {
    [JAIL_MOUNT] = {"mount", "a root of its own, read-only but for the task's "
                             "files and /tmp"},
    [JAIL_PID] = {"pid", "no other processes are seen or reached"},
    [JAIL_IPC] = {"ipc", "shared memory of its own"},
    [JAIL_UTS] = {"uts", "a host name of its own"},
    [JAIL_NETWORK] = {"network", "a loopback of its own and nothing else"},
    [JAIL_CGROUP] = {"cgroup", "other control groups are not seen"},
    [JAIL_USER] = {"user", "a user namespace of its own"},
    [JAIL_IDS] = {"ids", "a user id of its own"},
    [JAIL_CAPABILITIES] = {"capabilities", "no capabilities, no new ones"},
    [JAIL_LANDLOCK] = {"landlock", "files a second time, abstract sockets, "
                                   "signals"},
    [JAIL_SECCOMP] = {"seccomp", "system calls that no kernel needs"},
    [JAIL_RLIMITS] = {"rlimits", "open files, size of a file, no core dumps"},
    [JAIL_LIMIT_MEMORY] = {"memory", "memory of all its processes together"},
    [JAIL_LIMIT_PIDS] = {"pids", "number of processes and threads"},
    [JAIL_LIMIT_CPU] = {"cpu", "processor time"},
    [JAIL_KILL] = {"kill", "all that it started ends at once"},
    [JAIL_QUOTA] = {"quota", "size of the task's files"},
};

const char *jail_layer_name(enum jail_layer layer) {
  return layers[layer].name;
}

const char *jail_layer_meaning(enum jail_layer layer) {
  return layers[layer].meaning;
}

size_t jail_descriptors(const struct jail *jail, int ret[JAIL_DESCRIPTORS]) {
  size_t count = 0;
  for (int i = 0; i < jail->entry_count; i++)
    ret[count++] = jail->entries[i];
  if (jail->workspace_owner > 0)
    ret[count++] = jail->workspace_owner;
  if (jail->group_directory > 0)
    ret[count++] = jail->group_directory;
  return count;
}
