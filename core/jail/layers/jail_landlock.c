#include "core/jail/layers/jail_landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/layout.h"
#include "core/base/mem.h"
#include "core/jail/layers/jail_mounts.h"

/* linux/landlock.h of Linux 6.12; headers may be older than the kernel. */
#define TRUNCATE (1ULL << 14)  /* ABI 3 */
#define IOCTL_DEV (1ULL << 15) /* ABI 5 */
#define TCP_ALL 3ULL           /* ABI 4: bind, connect */
#define SCOPE_ALL 3ULL         /* ABI 6: abstract unix sockets, signals */
struct ruleset {
  uint64_t files, network, scoped;
};

#define READ                                                                   \
  (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE |                 \
   LANDLOCK_ACCESS_FS_READ_DIR)
#define WRITE_DATA (LANDLOCK_ACCESS_FS_WRITE_FILE | TRUNCATE)
#define MAKE                                                                   \
  (LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |            \
   LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |                 \
   LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |               \
   LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER)
#define DEVICE_NODES                                                           \
  (LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK)
#define USE_DEVICES                                                            \
  (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR | WRITE_DATA |   \
   IOCTL_DEV)
/* Sockets may be made there and nothing else. */
#define MEET                                                                   \
  (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR |                \
   LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_REMOVE_FILE)
/* Rights that only directories have. */
#define OF_DIRECTORIES (MAKE | DEVICE_NODES | LANDLOCK_ACCESS_FS_READ_DIR)

struct wall {
  int rules; /* the ruleset's descriptor */
  uint64_t handled;
  struct err *err;
};

int jail_landlock_abi(void) {
  long version = syscall(SYS_landlock_create_ruleset, NULL, 0UL,
                         LANDLOCK_CREATE_RULESET_VERSION);
  return version < 0 ? 0 : (int)version;
}

static struct ruleset rules_of(const struct jail *jail) {
  int abi = jail->landlock_abi;
  struct ruleset rules = {.files = READ | LANDLOCK_ACCESS_FS_WRITE_FILE | MAKE |
                                   DEVICE_NODES};
  if (abi >= 3)
    rules.files |= TRUNCATE;
  if (abi >= 4 && !jail_has(jail, JAIL_NETWORK))
    rules.network = TCP_ALL;
  if (abi >= 5)
    rules.files |= IOCTL_DEV;
  if (abi >= 6)
    rules.scoped = SCOPE_ALL;
  return rules;
}

/* Older kernels know a shorter structure. */
static size_t size_of_rules(int abi) {
  if (abi >= 6)
    return sizeof(struct ruleset);
  return abi >= 4 ? offsetof(struct ruleset, scoped)
                  : offsetof(struct ruleset, network);
}

/* What does not exist cannot be reached either. */
static int allow(const struct wall *wall, const char *path, uint64_t access) {
  struct stat status;
  CLEANUP(mem_close_descriptor) int place = open(path, O_PATH | O_CLOEXEC);
  if (place < 0)
    return errno == ENOENT || errno == ENOTDIR || errno == EACCES
               ? 0
               : err_errno(wall->err, ERR_UNAVAILABLE, errno, "cannot open %s",
                           path);
  if (fstat(place, &status) == 0 && !S_ISDIR(status.st_mode))
    access &= ~(uint64_t)OF_DIRECTORIES;
  struct landlock_path_beneath_attr rule = {
      .allowed_access = access & wall->handled, .parent_fd = place};
  if (syscall(SYS_landlock_add_rule, wall->rules, LANDLOCK_RULE_PATH_BENEATH,
              &rule, 0U) < 0)
    return err_errno(wall->err, ERR_UNAVAILABLE, errno, "cannot allow %s",
                     path);
  return 0;
}

static int allow_list(const struct wall *wall, const char *const *paths,
                      uint64_t access) {
  for (; paths != NULL && *paths != NULL; paths++)
    if (allow(wall, *paths, access) < 0)
      return -1;
  return 0;
}

/* In a root of its own all of /etc is fit to be read. */
static int allow_system(const struct wall *wall, const struct jail *jail) {
  static const char *const own_root[] = {"/etc", "/var", "/mnt", NULL};
  if (allow_list(wall, jail_mounts_programs, READ) < 0 ||
      allow_list(wall, jail_mounts_settings, READ) < 0 ||
      allow_list(wall, (const char *const *)jail->read_only, READ) < 0)
    return -1;
  if (jail_has(jail, JAIL_MOUNT)) {
    if (allow_list(wall, own_root, READ) < 0 ||
        allow(wall, "/", LANDLOCK_ACCESS_FS_READ_DIR) < 0)
      return -1;
  } else if (allow(wall, "/etc/passwd", READ) < 0 ||
             allow(wall, "/etc/group", READ) < 0 ||
             allow(wall, "/etc/nsswitch.conf", READ) < 0) {
    return -1;
  }
  return allow(wall, "/proc", READ | WRITE_DATA);
}

static int allow_file(const struct wall *wall, const char *run,
                      const char *name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", run, name);
  return allow(wall, path, LANDLOCK_ACCESS_FS_READ_FILE | WRITE_DATA);
}

static int allow_run(const struct wall *wall, const struct jail *jail) {
  if (jail->run == NULL)
    return 0;
  if (!jail_has(jail, JAIL_MOUNT))
    return allow(wall, jail->run, READ | WRITE_DATA | MAKE);
  for (const char *const *name = jail_mounts_written; *name != NULL; name++)
    if (allow_file(wall, jail->run, *name) < 0)
      return -1;
  if (allow_file(wall, jail->run, LAYOUT_CONNECTION) < 0)
    return -1;
  return allow(wall, jail->run, MEET);
}

static int allow_own(const struct wall *wall, const struct jail *jail) {
  const char *const writable[] = {
      jail_has(jail, JAIL_MOUNT) ? JAIL_WORKSPACE : jail->workspace, "/tmp",
      "/dev/shm", jail_has(jail, JAIL_MOUNT) ? JAIL_PRIVATE : NULL, NULL};
  if (allow_list(wall, writable, READ | WRITE_DATA | MAKE) < 0)
    return -1;
  return allow(wall, "/dev", USE_DEVICES);
}

int jail_landlock_enter(const struct jail *jail, struct err *err) {
  struct ruleset rules = rules_of(jail);
  CLEANUP(mem_close_descriptor)
  int descriptor = (int)syscall(SYS_landlock_create_ruleset, &rules,
                                size_of_rules(jail->landlock_abi), 0U);
  if (descriptor < 0)
    return err_errno(err, ERR_UNAVAILABLE, errno, "cannot begin a rule set");
  struct wall wall = {descriptor, rules.files, err};
  if (allow_system(&wall, jail) < 0 || allow_own(&wall, jail) < 0 ||
      allow_run(&wall, jail) < 0)
    return -1;
  if (syscall(SYS_landlock_restrict_self, descriptor, 0U) < 0)
    return err_errno(err, ERR_UNAVAILABLE, errno, "cannot enter the rule set");
  return 0;
}
