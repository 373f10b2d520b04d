#include "core/cgroup/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/cgroup/cgroup_file.h"
#include "core/cgroup/cgroup_group.h"

/* As this process sees it, of this process (pid 0) or another one. */
static int read_view(int64_t pid, struct buf *mountinfo, struct buf *membership,
                     struct err *err) {
  char path[64] = "/proc/self/cgroup";
  if (pid != 0)
    snprintf(path, sizeof path, "/proc/%lld/cgroup", (long long)pid);
  CLEANUP(mem_close_descriptor)
  int mounts = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
  CLEANUP(mem_close_descriptor) int groups = open(path, O_RDONLY | O_CLOEXEC);
  if (mounts < 0 || groups < 0)
    return err_errno(err, ERR_IO, errno, "cannot read %s", path);
  if (fs_read_all(mounts, mountinfo, err) < 0 ||
      fs_read_all(groups, membership, err) < 0)
    return -1;
  return 0;
}

static void give_up_unused(struct cgroup_host *host) {
  for (size_t i = 0; i < CGROUP_COUNT; i++) {
    if (host->faults[i] == NULL)
      continue;
    free(host->instance.directories[i]);
    host->instance.directories[i] = NULL;
  }
}

static void look_only(struct cgroup_host *host) {
  for (size_t i = 0; i < CGROUP_COUNT; i++) {
    const char *base = host->base.directories[i];
    if (base == NULL)
      continue;
    host->instance.directories[i] = mem_copy_text(base);
    if (access(base, W_OK) < 0)
      cgroup_give_up(host, (enum cgroup_controller)i,
                     "no control group can be made in %s: %s", base,
                     strerror(errno));
  }
}

int cgroup_host_open(const char *base, const char *instance,
                     const struct cgroup_view *view, struct cgroup_host **ret,
                     struct err *err) {
  CLEANUP(buf_free) struct buf mountinfo = BUF_INIT(4 * BUF_SMALL);
  CLEANUP(buf_free) struct buf membership = BUF_INIT(BUF_SMALL);
  if (view == NULL && read_view(0, &mountinfo, &membership, err) < 0)
    return -1;
  struct cgroup_view own = {buf_string(&mountinfo), buf_string(&membership)};
  CLEANUP(mem_free_pointer)
  char *name = mem_format("cellpost-%s", instance == NULL ? "" : instance);
  struct cgroup_host *host = mem_new(sizeof *host);
  cgroup_locate(view == NULL ? &own : view, base, host);
  host->instance.version = host->base.version;
  host->looked = instance == NULL;
  if (instance == NULL)
    look_only(host);
  else if (host->base.version != 0)
    cgroup_backend_of(&host->base)->prepare(host, name);
  give_up_unused(host);
  *ret = host;
  return 0;
}

void cgroup_host_close(struct cgroup_host *host) {
  if (host == NULL)
    return;
  for (size_t i = 0; i < CGROUP_COUNT && !host->looked; i++)
    if (host->instance.directories[i] != NULL)
      rmdir(host->instance.directories[i]);
  cgroup_clear(&host->base);
  cgroup_clear(&host->instance);
  for (size_t i = 0; i < CGROUP_COUNT; i++)
    free(host->faults[i]);
  free(host);
}

const char *cgroup_fault(const struct cgroup_host *host,
                         enum cgroup_controller controller) {
  return host->faults[controller];
}

int cgroup_version(const struct cgroup_host *host) {
  for (size_t i = 0; i < CGROUP_COUNT; i++)
    if (host->instance.directories[i] != NULL)
      return host->instance.version;
  return 0;
}

void cgroup_free(struct cgroup *group) {
  if (group != NULL)
    cgroup_clear(group);
  free(group);
}

void cgroup_done(struct cgroup **group) { cgroup_free(*group); }

static int make_directories(const struct cgroup *group, struct err *err) {
  for (size_t i = 0; i < CGROUP_COUNT; i++)
    if (group->directories[i] != NULL &&
        mkdir(group->directories[i], 0755) < 0 && errno != EEXIST)
      return err_errno(err, ERR_UNAVAILABLE, errno,
                       "cannot make the control group %s",
                       group->directories[i]);
  return 0;
}

static int limit(const struct cgroup *group, const struct cgroup_limits *limits,
                 struct err *err) {
  const struct cgroup_backend *backend = cgroup_backend_of(group);
  char *const *directories = group->directories;
  int64_t quota = (int64_t)(limits->cpus * CGROUP_CPU_PERIOD_US);
  if (directories[CGROUP_MEMORY] != NULL &&
      backend->limit_memory(directories[CGROUP_MEMORY], limits->memory) < 0)
    return err_errno(err, ERR_IO, errno, "cannot limit memory");
  if (directories[CGROUP_PIDS] != NULL &&
      cgroup_file_write_number(directories[CGROUP_PIDS], "pids.max",
                               limits->pids) < 0)
    return err_errno(err, ERR_IO, errno, "cannot limit processes");
  if (directories[CGROUP_CPU] != NULL && quota > 0 &&
      backend->limit_cpu(directories[CGROUP_CPU], quota) < 0)
    return err_errno(err, ERR_IO, errno, "cannot limit processor time");
  return 0;
}

int cgroup_make(struct cgroup_host *host, const char *name,
                const struct cgroup_limits *limits, struct cgroup **ret,
                struct err *err) {
  CLEANUP(cgroup_done)
  struct cgroup *group = cgroup_child(&host->instance, name);
  if (group->version != 0 &&
      (make_directories(group, err) < 0 || limit(group, limits, err) < 0)) {
    cgroup_remove(group, 0, NULL);
    return -1;
  }
  *ret = MEM_STEAL(group);
  return 0;
}

int cgroup_describe(const struct cgroup *group, struct buf *out) {
  for (size_t i = 0; i < CGROUP_COUNT; i++)
    if (group->directories[i] != NULL)
      buf_format(out, "%d %zu %s\n", group->version, i, group->directories[i]);
  return out->overflowed ? -1 : 0;
}

int cgroup_parse(const char *text, struct cgroup **ret, struct err *err) {
  CLEANUP(cgroup_done) struct cgroup *group = mem_new(sizeof *group);
  while (*text != '\0') {
    int version = 0, length = 0;
    size_t place = CGROUP_COUNT;
    char path[2048];
    if (sscanf(text, "%d %zu %2047[^\n]%n", &version, &place, path, &length) !=
            3 ||
        version < 1 || version > 2 || place >= CGROUP_COUNT || *path != '/' ||
        text[length] != '\n' || group->directories[place] != NULL)
      return err_set(err, ERR_INVALID, "the control group's record is garbled");
    group->version = version;
    group->directories[place] = mem_copy_text(path);
    text += length + 1;
  }
  *ret = MEM_STEAL(group);
  return 0;
}

int cgroup_open_entries(const struct cgroup *group, int entries[CGROUP_COUNT],
                        struct err *err) {
  int count = 0;
  for (size_t i = 0; i < CGROUP_COUNT; i++) {
    if (group->directories[i] == NULL || cgroup_is_repeated(group, i))
      continue;
    int entry =
        cgroup_file_open(group->directories[i], "cgroup.procs", O_WRONLY);
    if (entry < 0) {
      err_errno(err, ERR_UNAVAILABLE, errno, "cannot open the control group %s",
                group->directories[i]);
      while (count > 0)
        close(entries[--count]);
      return -1;
    }
    entries[count++] = entry;
  }
  return count;
}

int cgroup_open_directory(const struct cgroup *group) {
  if (group->version != 2)
    return -1;
  return open(group->directories[CGROUP_FREEZER],
              O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int cgroup_enter(const int *entries, int count, struct err *err) {
  for (int i = 0; i < count; i++)
    if (write(entries[i], "0", 1) != 1)
      return err_errno(err, ERR_UNAVAILABLE, errno,
                       "cannot enter the control group");
  return 0;
}

static int64_t read_cpu(const struct cgroup_backend *backend,
                        const char *directory) {
  int64_t used = backend->cpu_key == NULL
                     ? cgroup_file_read_number(directory, backend->cpu_file)
                     : cgroup_file_read_key(directory, backend->cpu_file,
                                            backend->cpu_key);
  return used < 0 ? -1 : used / backend->cpu_unit;
}

static int64_t read_fixed(const struct cgroup_backend *backend,
                          const char *directory) {
  int64_t anonymous =
      cgroup_file_read_key(directory, "memory.stat", backend->anonymous_key);
  int64_t shared =
      cgroup_file_read_key(directory, "memory.stat", backend->shared_key);
  return anonymous < 0 ? -1 : anonymous + (shared < 0 ? 0 : shared);
}

void cgroup_read_usage(const struct cgroup *group, struct cgroup_usage *ret) {
  *ret = (struct cgroup_usage){-1, -1, -1, -1, -1, -1, -1, -1};
  if (group->version == 0)
    return;
  const struct cgroup_backend *backend = cgroup_backend_of(group);
  const char *memory = group->directories[CGROUP_MEMORY];
  const char *pids = group->directories[CGROUP_PIDS];
  *ret = (struct cgroup_usage){
      .cpu_us = read_cpu(backend, group->directories[CGROUP_ACCOUNT]),
      .memory = cgroup_file_read_number(memory, backend->memory_file),
      .memory_peak = cgroup_file_read_number(memory, backend->peak_file),
      .memory_limit = cgroup_file_read_number(memory, backend->limit_file),
      .memory_fixed = read_fixed(backend, memory),
      .oom_kills = cgroup_file_read_key(memory, backend->oom_file, "oom_kill"),
      .pids = cgroup_file_read_number(pids, "pids.current"),
      .pids_refused = cgroup_file_read_key(pids, "pids.events", "max"),
  };
}

static bool is_named(const char *directory, const char *name) {
  const char *last = directory == NULL ? NULL : strrchr(directory, '/');
  return last != NULL && strcmp(last + 1, name) == 0;
}

static int open_meter(const struct cgroup *group,
                      enum cgroup_controller controller, const char *name,
                      const char *file, int flags) {
  const char *directory = group->directories[controller];
  return is_named(directory, name) ? cgroup_file_open(directory, file, flags)
                                   : -1;
}

static int open_peak(const struct cgroup *group, const char *name,
                     const char *file) {
  int peak = open_meter(group, CGROUP_MEMORY, name, file, O_RDWR);
  return peak >= 0 ? peak
                   : open_meter(group, CGROUP_MEMORY, name, file, O_RDONLY);
}

void cgroup_give_peak(const struct cgroup *group, uid_t user) {
  const char *directory = group->directories[CGROUP_MEMORY];
  if (directory == NULL)
    return;
  CLEANUP(mem_free_pointer)
  char *path =
      mem_format("%s/%s", directory, cgroup_backend_of(group)->peak_file);
  (void)!chown(path, user, (gid_t)-1);
}

static void host_clear(struct cgroup_host *host) {
  cgroup_clear(&host->base);
  for (size_t i = 0; i < CGROUP_COUNT; i++)
    free(host->faults[i]);
}

int cgroup_open_meters(int64_t pid, const char *name,
                       struct cgroup_meters *ret) {
  CLEANUP(buf_free) struct buf mountinfo = BUF_INIT(4 * BUF_SMALL);
  CLEANUP(buf_free) struct buf membership = BUF_INIT(BUF_SMALL);
  if (read_view(pid, &mountinfo, &membership, NULL) < 0)
    return -1;
  struct cgroup_view view = {buf_string(&mountinfo), buf_string(&membership)};
  CLEANUP(host_clear) struct cgroup_host host = {0};
  cgroup_locate(&view, NULL, &host);
  if (host.base.version == 0)
    return -1;
  const struct cgroup_backend *backend = cgroup_backend_of(&host.base);
  int cpu =
      open_meter(&host.base, CGROUP_ACCOUNT, name, backend->cpu_file, O_RDONLY);
  if (cpu < 0)
    return -1;
  ret->cpu = cpu;
  ret->cpu_unit = backend->cpu_unit;
  ret->peak = open_peak(&host.base, name, backend->peak_file);
  return 0;
}

struct cgroup_watch cgroup_watch_memory(const struct cgroup *group,
                                        int64_t soft) {
  if (group->version == 0)
    return (struct cgroup_watch){-1, 0};
  return cgroup_backend_of(group)->watch(group, soft);
}

void cgroup_watch_clear(const struct cgroup_watch *watch) {
  char text[1024];
  if (watch->descriptor >= 0 &&
      pread(watch->descriptor, text, sizeof text, 0) < 0 && errno == ESPIPE)
    (void)!read(watch->descriptor, text, sizeof(uint64_t));
}
