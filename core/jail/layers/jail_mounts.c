#include "core/jail/layers/jail_mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/layout.h"
#include "core/base/mem.h"
#include "core/jail/layers/jail_mount.h"

#define READ_ONLY (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define WRITABLE (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define DEVICE (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC)
#define NOTHING "/var/empty" /* what covers other directories */
#define PRIVATE_BYTES (INT64_C(64) << 20)
#define MOST_INODES "200000"

const char *const jail_mounts_programs[] = {
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", NULL};

/* What programs and libraries read and what holds no secrets: the linker, time,
 * fonts, certificates, defaults of languages. Beyond /etc: fonts and formats
 * that were prepared for all users, and how many processors there are. */
const char *const jail_mounts_settings[] = {
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/timezone",
    "/etc/locale.alias",
    "/etc/alternatives",
    "/etc/fonts",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/ca-certificates",
    "/etc/mime.types",
    "/etc/magic",
    "/etc/services",
    "/etc/protocols",
    "/etc/inputrc",
    "/etc/bash.bashrc",
    "/etc/matplotlibrc",
    "/etc/jupyter",
    "/etc/ipython",
    "/etc/python3",
    "/etc/python3.9",
    "/etc/python3.10",
    "/etc/python3.11",
    "/etc/python3.12",
    "/etc/python3.13",
    "/etc/python3.14",
    "/etc/R",
    "/etc/octave",
    "/etc/julia",
    "/etc/java-11-openjdk",
    "/etc/java-17-openjdk",
    "/etc/java-21-openjdk",
    "/etc/OpenCL",
    "/etc/ImageMagick-6",
    "/etc/ImageMagick-7",
    "/etc/texmf",
    "/etc/papersize",
    "/etc/ghostscript",
    "/var/cache/fontconfig",
    "/var/lib/texmf",
    "/var/lib/ghostscript",
    "/sys/devices/system/cpu",
    NULL,
};

const char *const jail_mounts_written[] = {LAYOUT_STACK, LAYOUT_SETUP, NULL};

/* What /proc tells of the machine beyond what programs need. */
static const char *const masked[] = {"proc/acpi",          "proc/asound",
                                     "proc/bus",           "proc/fs",
                                     "proc/irq",           "proc/scsi",
                                     "proc/driver",        "proc/cmdline",
                                     "proc/config.gz",     "proc/interrupts",
                                     "proc/iomem",         "proc/ioports",
                                     "proc/kallsyms",      "proc/kcore",
                                     "proc/keys",          "proc/key-users",
                                     "proc/kmsg",          "proc/kpagecount",
                                     "proc/kpageflags",    "proc/latency_stats",
                                     "proc/modules",       "proc/mtrr",
                                     "proc/sched_debug",   "proc/slabinfo",
                                     "proc/sysrq-trigger", "proc/timer_list",
                                     "proc/vmallocinfo",   NULL};

static int bind_list(int root, const char *const *paths, struct err *err) {
  for (; *paths != NULL; paths++)
    if (jail_mount_bind(root, *paths, READ_ONLY, err) < 0)
      return -1;
  return 0;
}

static bool is_beneath_usr(const char *path) {
  return strncmp(path, "/usr/", 5) == 0;
}

/* After /tmp has been covered: such a path may lie in it. */
static int bind_configured(int root, const struct jail *jail, struct err *err) {
  for (char *const *path = jail->read_only; path != NULL && *path != NULL;
       path++)
    if (!is_beneath_usr(*path) &&
        jail_mount_bind(root, *path, READ_ONLY, err) < 0)
      return -1;
  return 0;
}

static int write_settings(int root, const struct jail *jail, struct err *err) {
  char users[512], groups[256];
  snprintf(users, sizeof users,
           "root:x:0:0:root:/root:/usr/sbin/nologin\n"
           "%s:x:%u:%u:" JAIL_USER_NAME ":" JAIL_WORKSPACE ":/bin/bash\n"
           "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
           JAIL_USER_NAME, (unsigned)jail->uid, (unsigned)jail->gid);
  snprintf(groups, sizeof groups,
           "root:x:0:\ntty:x:5:\n%s:x:%u:\nnogroup:x:65534:\n", JAIL_USER_NAME,
           (unsigned)jail->gid);
  const char *const files[][2] = {
      {"etc/passwd", users},
      {"etc/group", groups},
      {"etc/hosts", "127.0.0.1 localhost cellpost\n::1 localhost cellpost\n"},
      {"etc/hostname", "cellpost\n"},
      {"etc/host.conf", "multi on\n"},
      {"etc/nsswitch.conf",
       "passwd: files\ngroup: files\nshadow: files\nhosts: files\n"
       "networks: files\nprotocols: files\nservices: files\n"},
      {"etc/resolv.conf", "# there is no network in here\n"},
  };
  for (size_t i = 0; i < COUNT_OF(files); i++)
    if (jail_mount_file(root, files[i][0], files[i][1], err) < 0)
      return -1;
  return 0;
}

static int mount_memory(int root, const char *target, int64_t bytes,
                        const char *mode, uint64_t attributes,
                        const struct jail *owner, struct err *err) {
  char size[32], uid[16], gid[16];
  snprintf(size, sizeof size, "%lld", (long long)bytes);
  snprintf(uid, sizeof uid, "%u", owner == NULL ? 0 : (unsigned)owner->uid);
  snprintf(gid, sizeof gid, "%u", owner == NULL ? 0 : (unsigned)owner->gid);
  const struct jail_option options[] = {
      {"size", size}, {"nr_inodes", MOST_INODES},
      {"mode", mode}, {owner == NULL ? NULL : "uid", uid},
      {"gid", gid},   {NULL, NULL}};
  CLEANUP(mem_close_descriptor)
  int mount = jail_mount_fresh("tmpfs", attributes, options, err);
  return mount < 0 ? -1 : jail_mount_attach(mount, root, target, true, err);
}

/* Files are hidden behind /dev/null, directories behind an empty one. */
static int mask(int root, const char *path, struct err *err) {
  struct stat status;
  if (fstatat(root, path, &status, AT_SYMLINK_NOFOLLOW) < 0)
    return 0;
  bool directory = S_ISDIR(status.st_mode);
  CLEANUP(mem_close_descriptor)
  int cover = directory
                  ? jail_mount_copy(root, &NOTHING[1], READ_ONLY, 0, err)
                  : jail_mount_copy(AT_FDCWD, "/dev/null", DEVICE, 0, err);
  return cover < 0 ? -1 : jail_mount_attach(cover, root, path, directory, err);
}

static int mount_processes(int root, struct err *err) {
  static const struct jail_option hidden[] = {{"hidepid", "2"}, {NULL, NULL}};
  CLEANUP(mem_close_descriptor)
  int mount =
      jail_mount_fresh("proc", READ_ONLY | MOUNT_ATTR_NOEXEC, hidden, err);
  if (mount < 0 || jail_mount_attach(mount, root, "proc", true, err) < 0)
    return -1;
  for (const char *const *path = masked; *path != NULL; path++)
    if (mask(root, *path, err) < 0)
      return -1;
  return 0;
}

static int mount_terminals(int root, struct err *err) {
  static const struct jail_option options[] = {
      {"ptmxmode", "0666"}, {"mode", "0620"}, {NULL, NULL}};
  CLEANUP(mem_close_descriptor)
  int mount = jail_mount_fresh("devpts", DEVICE, options, err);
  if (mount < 0 || jail_mount_attach(mount, root, "dev/pts", true, err) < 0)
    return -1;
  return jail_mount_link(root, "dev/ptmx", "pts/ptmx", err);
}

static int mount_devices(int root, const struct jail *jail, struct err *err) {
  static const char *const devices[] = {"/dev/null",    "/dev/zero",
                                        "/dev/full",    "/dev/random",
                                        "/dev/urandom", "/dev/tty"};
  static const char *const links[][2] = {{"dev/fd", "/proc/self/fd"},
                                         {"dev/stdin", "/proc/self/fd/0"},
                                         {"dev/stdout", "/proc/self/fd/1"},
                                         {"dev/stderr", "/proc/self/fd/2"}};
  for (size_t i = 0; i < COUNT_OF(devices); i++)
    if (jail_mount_bind(root, devices[i], DEVICE, err) < 0)
      return -1;
  for (size_t i = 0; i < COUNT_OF(links); i++)
    if (jail_mount_link(root, links[i][0], links[i][1], err) < 0)
      return -1;
  if (mount_terminals(root, err) < 0)
    return -1;
  return mount_memory(root, "dev/shm", jail->limits.tmp_bytes, "1777",
                      WRITABLE | MOUNT_ATTR_NOEXEC, NULL, err);
}

static int mount_scratch(int root, const struct jail *jail, struct err *err) {
  if (mount_memory(root, "tmp", jail->limits.tmp_bytes, "1777", WRITABLE, NULL,
                   err) < 0 ||
      mount_memory(root, JAIL_PRIVATE, PRIVATE_BYTES, "0700", WRITABLE, jail,
                   err) < 0)
    return -1;
  return jail_mount_link(root, "var/tmp", "../tmp", err);
}

/* The path may lead elsewhere by now: it must be the directory that the keeper
 * has opened. */
static int mount_workspace(int root, const struct jail *jail, struct err *err) {
  struct stat status;
  CLEANUP(mem_close_descriptor)
  int directory =
      open(jail->workspace, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (directory < 0 || fstat(directory, &status) < 0)
    return err_errno(err, ERR_UNAVAILABLE, errno, "cannot open %s",
                     jail->workspace);
  if (status.st_dev != jail->workspace_device ||
      status.st_ino != jail->workspace_inode)
    return err_set(err, ERR_UNAVAILABLE, "%s was replaced by another directory",
                   jail->workspace);
  CLEANUP(mem_close_descriptor)
  int mount =
      jail_mount_copy(directory, "", WRITABLE, jail->workspace_owner, err);
  return mount < 0 ? -1
                   : jail_mount_attach(mount, root, JAIL_WORKSPACE, true, err);
}

/* Models know the workspace by these names. A directory of the host that was
 * configured to stand there stays. */
static int link_workspace(int root, struct err *err) {
  static const char *const names[][2] = {{"home", "home/user"},
                                         {"mnt", "mnt/data"}};
  for (size_t i = 0; i < COUNT_OF(names); i++)
    if (jail_mount_directory(root, names[i][0], err) < 0 ||
        jail_mount_link(root, names[i][1], JAIL_WORKSPACE, err) < 0)
      return -1;
  return 0;
}

/* A copy of the file in the kernel's own memory; ipykernel writes it anew, and
 * insists on mode 0600. */
static int copy_connection(int root, const struct jail *jail, const char *path,
                           struct err *err) {
  static const char copy[] = JAIL_PRIVATE "/" LAYOUT_CONNECTION;
  CLEANUP(buf_free) struct buf text = BUF_INIT(BUF_SMALL);
  CLEANUP(mem_close_descriptor)
  int from = openat(root, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  CLEANUP(mem_close_descriptor)
  int to =
      openat(root, copy + 1, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (from < 0 || to < 0 ||
      (jail->switch_user && fchown(to, jail->uid, jail->gid) < 0))
    return err_errno(err, ERR_UNAVAILABLE, errno, "cannot copy /%s", path);
  if (fs_read_all(from, &text, err) < 0 ||
      fs_write_all(to, buf_string(&text), text.length, err) < 0)
    return -1;
  return jail_mount_copy(root, copy + 1, WRITABLE | MOUNT_ATTR_NOEXEC, 0, err);
}

/* Each is a mount of its own: the directory becomes read-only later. */
static int mount_written(int root, const char *directory, struct err *err) {
  for (const char *const *name = jail_mounts_written; *name != NULL; name++) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, *name);
    if (faccessat(root, path, F_OK, 0) < 0)
      continue;
    CLEANUP(mem_close_descriptor)
    int file =
        jail_mount_copy(root, path, WRITABLE | MOUNT_ATTR_NOEXEC, 0, err);
    if (file < 0 || jail_mount_attach(file, root, path, false, err) < 0)
      return -1;
  }
  return 0;
}

/* `copy` was made before the new root covered that directory. */
static int mount_run(int root, const struct jail *jail, int copy,
                     struct err *err) {
  if (jail_mount_attach(copy, root, jail->run, true, err) < 0 ||
      mount_written(root, jail->run + 1, err) < 0)
    return -1;
  char path[4096];
  snprintf(path, sizeof path, "%s/" LAYOUT_CONNECTION, jail->run + 1);
  if (faccessat(root, path, F_OK, 0) < 0)
    return 0;
  CLEANUP(mem_close_descriptor)
  int file = copy_connection(root, jail, path, err);
  return file < 0 ? -1 : jail_mount_attach(file, root, path, false, err);
}

static int fill(int root, const struct jail *jail, int run, struct err *err) {
  if (jail_mount_directory(root, NOTHING, err) < 0 ||
      bind_list(root, jail_mounts_programs, err) < 0 ||
      bind_list(root, jail_mounts_settings, err) < 0 ||
      write_settings(root, jail, err) < 0 || mount_processes(root, err) < 0 ||
      mount_devices(root, jail, err) < 0 ||
      mount_scratch(root, jail, err) < 0 ||
      bind_configured(root, jail, err) < 0 ||
      mount_workspace(root, jail, err) < 0 || link_workspace(root, err) < 0)
    return -1;
  return mount_run(root, jail, run, err);
}

/* The old root is stacked below the new one for a moment, then detached with
 * all that is mounted in it (pivot_root(2)). */
static int change_root(int root, struct err *err) {
  const struct mount_attr read_only = {.attr_set = MOUNT_ATTR_RDONLY};
  if (mount_setattr(root, "", AT_EMPTY_PATH, (struct mount_attr *)&read_only,
                    sizeof read_only) < 0 ||
      fchdir(root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 ||
      umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
    return err_errno(err, ERR_UNAVAILABLE, errno, "cannot enter the new root");
  return 0;
}

/* A mount needs a directory below it: the kernel's own is sure to exist. */
int jail_mounts_enter(const struct jail *jail, struct err *err) {
  static const struct jail_option options[] = {
      {"size", "1M"}, {"nr_inodes", "4096"}, {"mode", "0755"}, {NULL, NULL}};
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
    return err_errno(err, ERR_UNAVAILABLE, errno,
                     "cannot keep mounts to this namespace");
  CLEANUP(mem_close_descriptor)
  int run = jail_mount_copy(AT_FDCWD, jail->run, WRITABLE | MOUNT_ATTR_NOEXEC,
                            -1, err);
  CLEANUP(mem_close_descriptor)
  int root = jail_mount_fresh("tmpfs", WRITABLE, options, err);
  if (run < 0 || root < 0)
    return -1;
  if (move_mount(root, "", AT_FDCWD, jail->run, MOVE_MOUNT_F_EMPTY_PATH) < 0)
    return err_errno(err, ERR_UNAVAILABLE, errno, "cannot attach a new root");
  if (fill(root, jail, run, err) < 0)
    return -1;
  return change_root(root, err);
}

/* A process of its own enters the kernel's namespaces for it. */
int jail_mounts_close_run(int process, const char *run, bool user_namespace,
                          struct err *err) {
  struct mount_attr read_only = {.attr_set = MOUNT_ATTR_RDONLY};
  int status = -1;
  pid_t pid = fork();
  if (pid == 0) {
    int space = CLONE_NEWNS | (user_namespace ? CLONE_NEWUSER : 0);
    if (setns(process, space) < 0 ||
        mount_setattr(AT_FDCWD, run, AT_SYMLINK_NOFOLLOW, &read_only,
                      sizeof read_only) < 0)
      _exit(errno);
    _exit(0);
  }
  if (pid < 0)
    return err_errno(err, ERR_IO, errno, "cannot fork");
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
    continue;
  if (status != 0)
    return err_errno(err, ERR_IO, WEXITSTATUS(status),
                     "cannot make %s read-only for its kernel", run);
  return 0;
}
