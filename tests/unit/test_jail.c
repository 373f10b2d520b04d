/* The jail from the inside, with shell scripts in the kernel's place. Each test
 * has a host of its own; what the machine cannot give is skipped by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/mem.h"
#include "core/jail/host/jail_host.h"
#include "core/jail/host/jail_paths.h"
#include "core/jail/layers/jail_namespaces.h"
#include "core/keeper/shim/shim.h"
#include "core/process/exit_record.h"
#include "core/process/log_ring.h"
#include "core/process/process.h"

#define LIMIT_MS 20000
#define USER_ID 33 /* of the app, when the tests run as root */
#define KERNEL "01890000-0000-7000-8000-000000000001"

struct prison {
  char path[64];
  char *files, *run, *tasks;
  int files_fd, run_fd, shim_fd;
  struct conf *conf;
  struct jail_host *host;
};

static struct err err;

static int make_directory(const struct prison *prison, const char *name,
                          char **ret) {
  char *path = mem_format("%s/%s", prison->path, name);
  assert_int_equal(fs_make_directories(path, 0755, NULL), 0);
  int opened = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  assert_true(opened >= 0);
  if (geteuid() == 0)
    assert_int_equal(fchown(opened, USER_ID, USER_ID), 0);
  if (ret != NULL)
    *ret = path;
  else
    free(path);
  return opened;
}

static void put(int directory, const char *name, const char *text,
                mode_t mode) {
  struct iovec part = {(void *)text, strlen(text)};
  assert_int_equal(
      fs_write_atomic(directory, name, mode, &part, 1, FS_SYNC_NONE, NULL), 0);
}

static struct jail plain(void) {
  bool root = geteuid() == 0;
  return (struct jail){.switch_user = root,
                       .uid = root ? USER_ID : geteuid(),
                       .gid = root ? USER_ID : getegid()};
}

static void open_host(struct prison *prison, const char *more) {
  CLEANUP(mem_free_pointer)
  char *text = mem_format("[state]\nstate_directory = %s/state\n"
                          "run_directory = %s/run\n%s",
                          prison->path, prison->path, more);
  struct jail who = plain();
  if (conf_parse(text, strlen(text), "c.conf", &prison->conf, &err) != 0 ||
      jail_host_open(prison->conf, &who, prison->run, prison->tasks,
                     &prison->host, &err) != 0)
    fail_msg("%s", err.text);
}

/* Not beneath /tmp where that can be: the kernel has a /tmp of its own, and may
 * write there. */
static const char *top(void) { return geteuid() == 0 ? "/run" : "/tmp"; }

static int make_prison(void **state) {
  struct prison *prison = mem_new(sizeof *prison);
  *state = prison;
  snprintf(prison->path, sizeof prison->path, "%s/cellpost-test-XXXXXX", top());
  if (mkdtemp(prison->path) == NULL || chmod(prison->path, 0755) != 0)
    return -1;
  prison->files_fd =
      make_directory(prison, "state/tasks/t/files", &prison->files);
  close(make_directory(prison, "state/tasks", &prison->tasks));
  close(make_directory(prison, "state/tasks/other/files", NULL));
  prison->run_fd = make_directory(prison, "run/kernels/k", &prison->run);
  prison->shim_fd = make_directory(prison, "run/shims/k", NULL);
  if (geteuid() == 0 && fchown(prison->shim_fd, 0, 0) != 0)
    return -1;
  put(prison->run_fd, "connection.json", "{}", 0600);
  return 0;
}

static int remove_prison(void **state) {
  struct prison *prison = *state;
  if (prison->host != NULL) {
    jail_host_release(prison->host, KERNEL);
    while (jail_host_turn(prison->host) != INT64_MAX)
      poll(NULL, 0, 5);
    jail_host_close(prison->host);
  }
  conf_free(prison->conf);
  close(prison->files_fd);
  close(prison->run_fd);
  close(prison->shim_fd);
  int above = open(top(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int result = fs_remove_tree(above, strrchr(prison->path, '/') + 1, NULL);
  close(above);
  free(prison->files);
  free(prison->run);
  free(prison->tasks);
  free(prison);
  return result;
}

static void need(const struct prison *prison, enum jail_layer layer) {
  const struct jail_status *status =
      &jail_host_survey(prison->host)->status[layer];
  if (jail_host_has(prison->host, layer))
    return;
  print_message("skipped for want of %s: %s\n", jail_layer_name(layer),
                status->note);
  skip();
}

static struct shim_process start(struct prison *prison, char *const *argv) {
  struct kernel_limits limits;
  assert_int_equal(kernel_limits_read(prison->conf, NULL, &limits, &err), 0);
  const struct jail_request request = {.id = KERNEL,
                                       .limits = &limits,
                                       .workspace = prison->files,
                                       .workspace_directory = prison->files_fd,
                                       .run = prison->run,
                                       .run_directory = prison->run_fd,
                                       .shim_directory = prison->shim_fd,
                                       .argv = argv,
                                       .kernelspec = NULL};
  char *environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin", NULL};
  struct jail jail;
  if (jail_host_prepare(prison->host, &request, &jail, &err) != 0)
    fail_msg("%s", err.text);
  struct shim_order order = {.title = "test",
                             .argv = argv,
                             .environment = environment,
                             .working_directory = jail_has(&jail, JAIL_MOUNT)
                                                      ? JAIL_WORKSPACE
                                                      : prison->files,
                             .directory = prison->shim_fd,
                             .terminate_grace_ms = 200,
                             .jail = jail};
  struct shim_process process = {0};
  int result = shim_start(&order, &process, &err);
  jail_host_started(&order.jail);
  if (result != 0)
    fail_msg("%s", err.text);
  return process;
}

static void await_end(const struct shim_process *process) {
  int descriptor = process_open(process->pid, process->pid_start);
  assert_true(descriptor >= 0);
  struct pollfd polled = {.fd = descriptor, .events = POLLIN};
  assert_int_equal(poll(&polled, 1, LIMIT_MS), 1);
  close(descriptor);
  assert_int_equal(waitpid(process->pid, NULL, 0), process->pid);
}

/* What the script says, as one text; the caller's. */
static char *say(struct prison *prison, const char *script) {
  char *argv[] = {"sh", "-c", (char *)script, NULL};
  struct shim_process process = start(prison, argv);
  await_end(&process);
  struct buf text = BUF_INIT(4 * LOG_RING_FILE);
  assert_int_equal(log_ring_read(prison->shim_fd, &text), 0);
  return buf_take(&text);
}

static void assert_says(struct prison *prison, const char *script,
                        const char *expected) {
  CLEANUP(mem_free_pointer) char *said = say(prison, script);
  assert_string_equal(said, expected);
}

static void nothing_is_entered_when_off(void **state) {
  struct prison *prison = *state;
  open_host(prison, "[jail]\njail = off\n");
  for (size_t i = 0; i < JAIL_LAYERS; i++)
    assert_int_equal(jail_host_survey(prison->host)->status[i].state, JAIL_OFF);
  CLEANUP(mem_free_pointer)
  char *expected = mem_format("%s\nyes\n", prison->files);
  assert_says(prison, "pwd; [ -d /home ] && echo yes", expected);
}

static void the_root_holds_what_is_needed_and_no_more(void **state) {
  struct prison *prison = *state;
  open_host(prison, "");
  need(prison, JAIL_MOUNT);
  CLEANUP(mem_free_pointer)
  char *said = say(prison, "pwd; ls / /run /dev; ls /var; cd /; "
                           "ls -d /root /home /etc/shadow /srv; "
                           "for d in / /usr /etc /run /dev /proc /sys; do "
                           "touch $d/x && echo wrote $d; done; "
                           "touch /work/x /tmp/x /dev/shm/x /run/user/x && "
                           "echo done; cat /etc/passwd | wc -l");
  static const char *const wanted[] = {"/work\n",
                                       "\nproc\n",
                                       "\nusr\n",
                                       "\nnull\n",
                                       "\npts\n",
                                       "\nptmx\n",
                                       "cannot access '/root'",
                                       "cannot access '/srv'",
                                       "cannot access '/etc/shadow'",
                                       "done\n3\n"};
  for (size_t i = 0; i < COUNT_OF(wanted); i++)
    if (strstr(said, wanted[i]) == NULL)
      fail_msg("no %s in %s", wanted[i], said);
  static const char *const unwanted[] = {"wrote", "\nkvm", "\nvda", "\nmem\n"};
  for (size_t i = 0; i < COUNT_OF(unwanted); i++)
    if (strstr(said, unwanted[i]) != NULL)
      fail_msg("%s in %s", unwanted[i], said);
}

static void files_belong_to_one_user_outside(void **state) {
  struct prison *prison = *state;
  open_host(prison, "");
  need(prison, JAIL_MOUNT);
  put(prison->files_fd, "before", "b", 0600);
  if (geteuid() == 0)
    assert_int_equal(fchownat(prison->files_fd, "before", USER_ID, USER_ID, 0),
                     0);
  CLEANUP(mem_free_pointer)
  char *said = say(
      prison, "[ -O before ] && cat before; mkdir d; "
              "echo x > d/after; stat -c %a d/after; [ -O d/after ] || exit; "
              "echo y >> before; id -un");
  struct stat status;
  assert_int_equal(fstatat(prison->files_fd, "d/after", &status, 0), 0);
  struct jail who = plain();
  assert_int_equal(status.st_uid, who.uid);
  assert_int_equal(status.st_gid, who.gid);
  char expected[128];
  bool own = jail_host_has(prison->host, JAIL_IDS);
  snprintf(expected, sizeof expected, "b%s\nuser\n", own ? "664" : "644");
  assert_string_equal(said, expected);
}

static void nobody_else_is_seen(void **state) {
  struct prison *prison = *state;
  open_host(prison, "");
  need(prison, JAIL_MOUNT);
  need(prison, JAIL_PID);
  assert_says(prison,
              "echo $$; set -- /proc/[0-9]*; echo $*; ls -d /proc/1; "
              "kill -9 1; kill -0 1; for i in 1 2 3; do :; done; echo lives; "
              "cat /proc/cmdline | wc -c; ls /proc/bus | wc -l",
              "2\n/proc/2\n"
              "ls: cannot access '/proc/1': No such file or directory\n"
              "sh: 1: kill: Operation not permitted\n\n"
              "sh: 1: kill: Operation not permitted\n\nlives\n0\n0\n");
}

static void there_is_no_network_but_a_loopback(void **state) {
  struct prison *prison = *state;
  open_host(prison, "");
  need(prison, JAIL_NETWORK);
  need(prison, JAIL_MOUNT);
  assert_says(prison,
              "/usr/bin/python3 -c \"\n"
              "import socket\n"
              "print(sorted(n for _, n in socket.if_nameindex()))\n"
              "s = socket.create_server(('127.0.0.1', 0))\n"
              "c = socket.create_connection(s.getsockname(), 1)\n"
              "for address in (('127.0.0.1', 80), ('10.0.0.1', 80)):\n"
              "  try: socket.create_connection(address, 1)\n"
              "  except OSError as e: print(e)\n"
              "try: socket.getaddrinfo('example.org', 80)\n"
              "except OSError as e: print(e)\n\"",
              "['lo']\n"
              "[Errno 111] Connection refused\n"
              "[Errno 101] Network is unreachable\n"
              "[Errno -2] Name or service not known\n");
}

static void no_privilege_is_left(void **state) {
  struct prison *prison = *state;
  open_host(prison, "");
  need(prison, JAIL_CAPABILITIES);
  need(prison, JAIL_SECCOMP);
  need(prison, JAIL_LANDLOCK);
  assert_says(prison,
              "grep -E '^(Cap(Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs|Seccomp):' "
              "/proc/self/status | tr -s '\\t\\n' '  '; "
              "unshare -U true; mount -t tmpfs x /tmp; "
              "ulimit -c",
              "CapInh: 0000000000000000 CapPrm: 0000000000000000 "
              "CapEff: 0000000000000000 CapBnd: 0000000000000000 "
              "CapAmb: 0000000000000000 NoNewPrivs: 1 Seccomp: 2 "
              "unshare: unshare failed: Operation not permitted\n"
              "mount: /tmp: must be superuser to use mount.\n"
              "       dmesg(1) may have more information after failed mount "
              "system call.\n0\n");
}

static void the_connection_file_is_a_copy(void **state) {
  struct prison *prison = *state;
  open_host(prison, "");
  need(prison, JAIL_MOUNT);
  CLEANUP(mem_free_pointer)
  char *script =
      mem_format("cd %s; cat connection.json; stat -c %%a connection.json; "
                 "rm -f connection.json; mv connection.json y; "
                 "echo other > connection.json; cat connection.json; "
                 "echo stack > stack.txt && cat stack.txt",
                 prison->run);
  CLEANUP(mem_free_pointer) char *said = say(prison, script);
  static const char *const wanted[] = {"{}600\n", "\nother\n", "stack\n"};
  for (size_t i = 0; i < COUNT_OF(wanted); i++)
    if (strstr(said, wanted[i]) == NULL)
      fail_msg("no %s in %s", wanted[i], said);
  struct buf text = BUF_INIT(BUF_SMALL);
  assert_int_equal(fs_read_file(prison->run_fd, "connection.json", &text, NULL),
                   0);
  assert_string_equal(buf_string(&text), "{}");
  buf_free(&text);
}

static void only_sockets_are_made_beside_it(void **state) {
  struct prison *prison = *state;
  open_host(prison, "");
  need(prison, JAIL_MOUNT);
  need(prison, JAIL_LANDLOCK);
  if (jail_paths_is_beneath(prison->run, "/tmp"))
    skip();
  CLEANUP(mem_free_pointer)
  char *script = mem_format(
      "cd %s; echo x > y || mkdir z || ln -s / l; /usr/bin/python3 -c \""
      "import socket; s = socket.socket(socket.AF_UNIX); s.bind('ipc-1')\"; "
      "ls; stat -c %%a ipc-1",
      prison->run);
  CLEANUP(mem_free_pointer) char *said = say(prison, script);
  bool own = jail_host_has(prison->host, JAIL_IDS);
  CLEANUP(mem_free_pointer)
  char *expected =
      mem_format("connection.json\nipc-1\nsetup.txt\nstack.txt\n%s\n",
                 own ? "775" : "755");
  if (strstr(said, expected) == NULL)
    fail_msg("%s", said);
}

/* Whoever the app is, it must be able to speak with the kernel. */
static void the_app_reaches_the_sockets(void **state) {
  struct prison *prison = *state;
  open_host(prison, "");
  need(prison, JAIL_IDS);
  struct stat status;
  CLEANUP(mem_free_pointer)
  char *script = mem_format("/usr/bin/python3 -c \"import socket; "
                            "socket.socket(socket.AF_UNIX).bind('%s/ipc-1')\"",
                            prison->run);
  free(say(prison, script));
  assert_int_equal(fstat(prison->run_fd, &status), 0);
  assert_int_equal(status.st_gid, USER_ID);
  assert_int_equal(status.st_mode & 07777, 02770);
  int64_t first = prison->conf->uid_first;
  assert_in_range(status.st_uid, first, first + prison->conf->uid_count - 1);
  assert_int_equal(fstatat(prison->run_fd, "ipc-1", &status, 0), 0);
  assert_int_equal(status.st_gid, USER_ID);
  assert_true((status.st_mode & 0020) != 0);
  assert_int_equal(fstatat(prison->run_fd, "connection.json", &status, 0), 0);
  assert_int_equal(status.st_uid, USER_ID);
  assert_int_equal(status.st_mode & 0777, 0600);
}

static void everything_ends_with_the_kernel(void **state) {
  struct prison *prison = *state;
  open_host(prison, "");
  need(prison, JAIL_PID);
  char *argv[] = {"sh", "-c",
                  "(setsid sleep 600 &) ; (sleep 600 &) ; sleep 600 & "
                  "echo > ready; exit 4",
                  NULL};
  struct shim_process process = start(prison, argv);
  await_end(&process);
  struct exit_record record;
  assert_int_equal(exit_record_read(prison->shim_fd, &record, &err), 0);
  assert_int_equal(record.exit_code, 4);
  assert_int_equal(faccessat(prison->files_fd, "ready", F_OK, 0), 0);
  struct cgroup_usage usage;
  if (jail_host_has(prison->host, JAIL_LIMIT_PIDS)) {
    assert_true(jail_host_usage(prison->host, KERNEL, &usage));
    assert_int_equal(usage.pids, 0);
    assert_true(usage.cpu_us > 0);
    assert_int_equal(usage.memory_limit, prison->conf->memory);
  }
}

static void a_killed_shim_takes_all_along(void **state) {
  struct prison *prison = *state;
  open_host(prison, "");
  need(prison, JAIL_PID);
  char *argv[] = {"sh", "-c", "setsid sleep 600 & echo > ready; wait", NULL};
  struct shim_process process = start(prison, argv);
  for (int i = 0; i < LIMIT_MS; i++) {
    if (faccessat(prison->files_fd, "ready", F_OK, 0) == 0)
      break;
    poll(NULL, 0, 1);
  }
  assert_true(process_is_alive(process.kernel_pid, process.kernel_start));
  kill(process.pid, SIGKILL);
  await_end(&process);
  assert_false(process_is_alive(process.kernel_pid, process.kernel_start));
  struct cgroup_usage usage = {0};
  if (jail_host_usage(prison->host, KERNEL, &usage) && usage.pids >= 0)
    assert_int_equal(usage.pids, 0);
}

static pid_t parent_of(pid_t pid) {
  char path[64], text[512] = "";
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  FILE *file = fopen(path, "re");
  assert_non_null(file);
  assert_non_null(fgets(text, sizeof text, file));
  fclose(file);
  int parent = -1;
  assert_int_equal(sscanf(strrchr(text, ')') + 1, " %*c %d", &parent), 1);
  return parent;
}

static void the_kernel_is_known_by_its_pid_outside(void **state) {
  struct prison *prison = *state;
  open_host(prison, "");
  char *argv[] = {"sleep", "600", NULL};
  struct shim_process process = start(prison, argv);
  assert_int_equal(parent_of(process.kernel_pid), process.pid);
  assert_int_equal(process_start_time(process.kernel_pid),
                   process.kernel_start);
  kill(process.pid, SIGQUIT);
  await_end(&process);
  struct exit_record record;
  assert_int_equal(exit_record_read(prison->shim_fd, &record, &err), 0);
  assert_int_equal(record.signal, SIGKILL);
}

static void another_keeper_knows_it_again(void **state) {
  struct prison *prison = *state;
  open_host(prison, "");
  need(prison, JAIL_LIMIT_MEMORY);
  char *argv[] = {"sleep", "600", NULL};
  struct shim_process process = start(prison, argv);
  jail_host_close(prison->host);
  conf_free(prison->conf);
  open_host(prison, "");
  struct cgroup_usage usage;
  assert_false(jail_host_usage(prison->host, KERNEL, &usage));
  jail_host_adopt(prison->host, KERNEL, prison->shim_fd);
  assert_true(jail_host_usage(prison->host, KERNEL, &usage));
  assert_int_equal(usage.pids, 1);
  jail_host_sweep(prison->host);
  assert_true(process_is_alive(process.kernel_pid, process.kernel_start));
  jail_host_release(prison->host, KERNEL);
  assert_false(process_is_alive(process.kernel_pid, process.kernel_start));
  await_end(&process);
}

static void a_replaced_workspace_is_refused(void **state) {
  struct prison *prison = *state;
  open_host(prison, "");
  need(prison, JAIL_MOUNT);
  int other = make_directory(prison, "state/tasks/other/files", NULL);
  close(prison->files_fd);
  prison->files_fd = other;
  struct kernel_limits limits;
  char *argv[] = {"true", NULL};
  assert_int_equal(kernel_limits_read(prison->conf, NULL, &limits, &err), 0);
  const struct jail_request request = {
      KERNEL,         &limits,         prison->files, other, prison->run,
      prison->run_fd, prison->shim_fd, argv,          NULL};
  struct jail jail;
  assert_int_equal(jail_host_prepare(prison->host, &request, &jail, &err), 0);
  struct shim_order order = {.title = "test",
                             .argv = argv,
                             .environment = argv + 1,
                             .working_directory = "/",
                             .directory = prison->shim_fd,
                             .terminate_grace_ms = 200,
                             .jail = jail};
  struct shim_process process;
  assert_int_equal(shim_start(&order, &process, &err), -1);
  assert_non_null(strstr(err.text, "was replaced"));
  jail_host_started(&order.jail);
}

/* Where a version 2 file system is mounted, whatever controllers it has. */
static const char *unified_mount(void) {
  static const char *const places[] = {"/sys/fs/cgroup/unified",
                                       "/sys/fs/cgroup"};
  for (size_t i = 0; i < COUNT_OF(places); i++) {
    CLEANUP(mem_free_pointer)
    char *procs = mem_format("%s/cgroup.procs", places[i]);
    CLEANUP(mem_free_pointer)
    char *version = mem_format("%s/cgroup.controllers", places[i]);
    if (access(procs, W_OK) == 0 && access(version, R_OK) == 0)
      return places[i];
  }
  return NULL;
}

static void a_kernel_is_born_in_its_group(void **state) {
  (void)state;
  const char *mount = unified_mount();
  if (mount == NULL)
    skip();
  char name[64];
  snprintf(name, sizeof name, "cellpost-unit-%d", (int)getpid());
  CLEANUP(mem_free_pointer) char *path = mem_format("%s/%s", mount, name);
  assert_int_equal(mkdir(path, 0755), 0);
  struct jail jail = {.group_directory =
                          open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                      .entry_count = 1};
  int report[2];
  assert_int_equal(pipe(report), 0);
  pid_t pid = jail_namespaces_fork_kernel(&jail);
  if (pid == 0) {
    char text[4096];
    int file = open("/proc/self/cgroup", O_RDONLY);
    ssize_t got = read(file, text, sizeof text - 1);
    text[got > 0 ? got : 0] = '\0';
    /* there is nothing left to enter */
    bool right = strstr(text, name) != NULL && jail.entry_count == 0;
    _exit(write(report[1], right ? "y" : "n", 1) == 1 ? 0 : 1);
  }
  assert_true(pid > 0);
  char answer = 0;
  assert_int_equal(read(report[0], &answer, 1), 1);
  assert_int_equal(waitpid(pid, NULL, 0), pid);
  close(report[0]);
  close(report[1]);
  close(jail.group_directory);
  assert_int_equal(rmdir(path), 0);
  assert_int_equal(answer, 'y');
}

static void nothing_less_than_required_is_taken(void **state) {
  struct prison *prison = *state;
  open_host(prison, "");
  bool complete = true;
  for (size_t i = 0; i < JAIL_LAYERS; i++)
    complete &= jail_host_survey(prison->host)->status[i].state != JAIL_OFF;
  jail_host_close(prison->host);
  prison->host = NULL;
  conf_free(prison->conf);
  prison->conf = NULL;
  CLEANUP(mem_free_pointer)
  char *text = mem_format("[state]\nrun_directory = %s\n[jail]\n"
                          "jail = required\ncgroup = /no/such/place\n",
                          prison->path);
  struct jail who = plain();
  assert_int_equal(conf_parse(text, strlen(text), "c", &prison->conf, &err), 0);
  struct jail_host *host = NULL;
  assert_int_equal(jail_host_open(prison->conf, &who, prison->run,
                                  prison->tasks, &host, &err),
                   -1);
  assert_int_equal(err.kind, ERR_UNAVAILABLE);
  if (complete)
    assert_non_null(strstr(err.text, "the layer \"memory\""));
  assert_non_null(host);
  jail_host_close(host);
}

#define TEST(name)                                                             \
  cmocka_unit_test_setup_teardown(name, make_prison, remove_prison)

int main(int argc, char **argv) {
  (void)argc;
  umask(022);
  shim_take_title_room(argv);
  const struct CMUnitTest tests[] = {
      TEST(nothing_is_entered_when_off),
      TEST(the_root_holds_what_is_needed_and_no_more),
      TEST(files_belong_to_one_user_outside),
      TEST(nobody_else_is_seen),
      TEST(there_is_no_network_but_a_loopback),
      TEST(no_privilege_is_left),
      TEST(the_connection_file_is_a_copy),
      TEST(only_sockets_are_made_beside_it),
      TEST(the_app_reaches_the_sockets),
      TEST(everything_ends_with_the_kernel),
      TEST(a_killed_shim_takes_all_along),
      TEST(the_kernel_is_known_by_its_pid_outside),
      TEST(another_keeper_knows_it_again),
      TEST(a_replaced_workspace_is_refused),
      cmocka_unit_test(a_kernel_is_born_in_its_group),
      TEST(nothing_less_than_required_is_taken),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
