#include "core/conf/conf_table.h"

#include "core/base/mem.h"

#define KIB 1024.0
#define MIB (1024.0 * KIB)
#define GIB (1024.0 * MIB)
#define HOUR 3600.0
#define DAY (24 * HOUR)

#define PATH 4000
#define LINE 8000

static const char *const syncs[] = {[CONF_SYNC_NEVER] = "never",
                                    [CONF_SYNC_BACKGROUND] = "background",
                                    [CONF_SYNC_ALWAYS] = "always",
                                    NULL};
static const char *const auths[] = {[CONF_AUTH_OFF] = "off",
                                    [CONF_AUTH_AUTO] = "auto",
                                    [CONF_AUTH_ON] = "on",
                                    NULL};
static const char *const jails[] = {[CONF_JAIL_OFF] = "off",
                                    [CONF_JAIL_AUTO] = "auto",
                                    [CONF_JAIL_REQUIRED] = "required",
                                    NULL};
static const char *const levels[] = {"error", "warning", "info", "debug", NULL};

/* name, type, range, default, meaning */
#define KEY(section_, name_, type_, least_, most_, value_, choices_, meaning_) \
  {                                                                            \
    .section = section_, .name = #name_, .type = type_,                        \
    .offset = offsetof(struct conf, name_), .least = least_, .most = most_,    \
    .value = value_, .choices = choices_, .meaning = meaning_                  \
  }

const struct conf_key conf_keys[] = {
    KEY("server", listen, CONF_PATH, 0, CONF_SOCKET_PATH, NULL, NULL,
        "The FastCGI socket; by default fcgi.sock in run_directory."),
    KEY("server", hosts, CONF_TEXT, 0, LINE, "localhost 127.0.0.1 [::1]", NULL,
        "Host names that are served; a request for another is refused."),
    KEY("server", threads, CONF_INTEGER, 1, 4096, "256", NULL,
        "Request threads. A run holds one from its request to its end; those "
        "waiting for their turn, too. A quarter, 8 at the least, is kept from "
        "runs; one more than the rest is answered with 503."),
    KEY("server", watchers, CONF_INTEGER, 0, 100000, "2000", NULL,
        "Watchers of the live feed at once; they hold no thread. One more is "
        "answered with 503."),
    KEY("server", user, CONF_TEXT, 0, 255, "www-data", NULL,
        "The user of app and kernels when the service is started as root."),
    KEY("server", auto_create, CONF_SWITCH, 0, 0, "on", NULL,
        "Whether executing in a task that does not exist creates it."),
    KEY("auth", required, CONF_CHOICE, 0, 0, "auto", auths,
        "Whether a request must show a token (`cellpost token add`): auto, as "
        "soon as there has been one."),
    KEY("auth", trusted_header, CONF_TEXT, 0, 100, "off", NULL,
        "The request header in which a web server in front names its user, as "
        "X-Remote-User; where tokens are needed, by the name of one; off: "
        "none."),
    KEY("auth", trusted_addresses, CONF_TEXT, 0, LINE, "127.0.0.1 ::1", NULL,
        "Addresses and networks from which that header counts; whoever is "
        "there can name anybody."),
    KEY("auth", proxies, CONF_TEXT, 0, LINE, "off", NULL,
        "Web servers in front, as 10.0.0.2, whose X-Forwarded-For tells nginx "
        "the client's address; off: none."),
    KEY("auth", session_age, CONF_DURATION, 60, 365 * DAY, "12h", NULL,
        "How long a log-in to the pages lasts."),
    KEY("state", state_directory, CONF_PATH, 0, PATH, "/var/lib/cellpost", NULL,
        "Holds cellpost.db and tasks/. A local file system."),
    KEY("state", run_directory, CONF_PATH, 0, CONF_SOCKET_PATH, "/run/cellpost",
        NULL, "Holds the sockets and kernels/; kept short, as sockets need."),
    KEY("state", sync, CONF_CHOICE, 0, 0, "background", syncs,
        "When notebooks are forced to disk: never, soon after a run, or "
        "before its answer."),
    KEY("kernels", kernelspec, CONF_TEXT, 0, 255, "python3", NULL,
        "The kernelspec of a task that names none."),
    KEY("kernels", kernelspec_path, CONF_PATHS, 0, LINE, "", NULL,
        "More directories of kernelspecs, looked through first."),
    KEY("kernels", max_kernels, CONF_INTEGER, 1, 100000, "64", NULL,
        "Kernels alive at once. For a task that needs one more, the idle "
        "kernel "
        "that was used least recently ends; while all are in use, its run is "
        "answered with 503."),
    KEY("kernels", start_timeout, CONF_DURATION, 0.1, HOUR, "60", NULL,
        "How long a kernel may take until it answers."),
    KEY("kernels", idle_timeout, CONF_DURATION, 0, 365 * DAY, "3600", NULL,
        "A kernel unused for so long is ended; 0: never."),
    KEY("kernels", interrupt_grace, CONF_DURATION, 0, HOUR, "5", NULL,
        "From SIGINT to SIGTERM."),
    KEY("kernels", terminate_grace, CONF_DURATION, 0, HOUR, "3", NULL,
        "From SIGTERM to SIGKILL."),
    KEY("kernels", replay_after_death, CONF_SWITCH, 0, 0, "off", NULL,
        "Whether, when a kernel's variables were lost, the cells that had gone "
        "well are run again in the next one, for tasks that do not say."),
    KEY("kernels", environment, CONF_PAIRS, 0, LINE, "", NULL,
        "Environment variables of every kernel."),
    KEY("kernels", warm, CONF_SWITCH, 0, 0, "on", NULL,
        "Whether Python kernels are forked from a process that has imported "
        "their libraries already."),
    KEY("kernels", preload, CONF_TEXT, 0, LINE, "numpy pandas matplotlib", NULL,
        "The modules that it imports, with spaces between."),
    KEY("kernels", spares, CONF_INTEGER, 0, 1000, "2", NULL,
        "Kernels that are ready before a task asks for one, when warm is on."),
    KEY("kernels", spare_age, CONF_DURATION, 0, 365 * DAY, "1800", NULL,
        "How long one may wait for its task until it is replaced; 0: for "
        "ever."),
    KEY("limits", body_bytes, CONF_SIZE, KIB, 64 * MIB, "16M", NULL,
        "One HTTP request body."),
    KEY("limits", code_bytes, CONF_SIZE, KIB, 64 * MIB, "4M", NULL,
        "The code of one cell."),
    KEY("limits", timeout, CONF_DURATION, 0.001, 365 * DAY, "60", NULL,
        "How long a run may take when the request does not say."),
    KEY("limits", timeout_max, CONF_DURATION, 0.001, 365 * DAY, "86400", NULL,
        "The longest timeout that a request may ask for."),
    KEY("limits", tool_wait, CONF_DURATION, 0.001, HOUR, "45", NULL,
        "How long an MCP client waits for a cell before it is told that the "
        "cell goes on. Many clients give up after 60 seconds."),
    KEY("limits", queue, CONF_INTEGER, 0, 100000, "64", NULL,
        "Runs waiting per task; one more is answered with 429."),
    KEY("limits", output_bytes, CONF_SIZE, KIB, GIB, "10M", NULL,
        "Text kept per run; more is counted and dropped. Images and other "
        "artifacts have as much again, or twice image_bytes when that is "
        "more; what is beyond is given by its uri."),
    KEY("limits", output_bytes_hard, CONF_SIZE, KIB, 1024 * GIB, "256M", NULL,
        "A run that puts out more is interrupted."),
    KEY("limits", outputs, CONF_INTEGER, 1, 1000000, "1000", NULL,
        "Outputs kept per run."),
    KEY("limits", image_bytes, CONF_SIZE, KIB, 256 * MIB, "10M", NULL,
        "One image in the notebook; a larger one is kept as a file, and given "
        "by its uri."),
    KEY("limits", inline_image_bytes, CONF_SIZE, 0, 256 * MIB, "5M", NULL,
        "One image in base64; a larger one is given by its uri."),
    KEY("limits", text_limit, CONF_INTEGER, 100, 10000000, "12000", NULL,
        "Characters of the answer's text."),
    KEY("limits", files_scanned, CONF_INTEGER, 0, 10000000, "20000", NULL,
        "Directory entries looked at per run to find changed files."),
    KEY("limits", files_listed, CONF_INTEGER, 0, 100000, "200", NULL,
        "Changed files told per run."),
    KEY("limits", memory, CONF_SIZE, 64 * MIB, 1024 * GIB, "2G", NULL,
        "Memory of a kernel and all that it starts, files in /tmp included."),
    KEY("limits", memory_max, CONF_SIZE, 64 * MIB, 1024 * GIB, "16G", NULL,
        "The most memory that a task may ask for."),
    KEY("limits", pids, CONF_INTEGER, 16, 1000000, "512", NULL,
        "Processes and threads of a kernel."),
    KEY("limits", pids_max, CONF_INTEGER, 16, 1000000, "4096", NULL,
        "The most processes and threads that a task may ask for."),
    KEY("limits", cpus, CONF_DECIMAL, 0, 4096, "0", NULL,
        "Processors whose time a kernel may use, as 1.5; 0: all there are."),
    KEY("limits", cpus_max, CONF_DECIMAL, 0, 4096, "0", NULL,
        "The most processors that a task may ask for; 0: all there are."),
    KEY("limits", workspace_bytes, CONF_SIZE, MIB, 1024 * GIB, "8G", NULL,
        "A task's files together; a run that goes beyond is interrupted."),
    KEY("limits", workspace_bytes_max, CONF_SIZE, MIB, 1024 * GIB, "64G", NULL,
        "The most workspace_bytes that a task may ask for."),
    KEY("limits", workspace_files, CONF_INTEGER, 100, 100000000, "200000", NULL,
        "How many files and directories a task may have."),
    KEY("limits", workspace_files_max, CONF_INTEGER, 100, 100000000, "1000000",
        NULL, "The most workspace_files that a task may ask for."),
    KEY("limits", tmp_bytes, CONF_SIZE, MIB, 1024 * GIB, "512M", NULL,
        "Size of a kernel's /tmp, and of its /dev/shm."),
    KEY("limits", open_files, CONF_INTEGER, 64, 1000000, "4096", NULL,
        "Files that one process of a kernel may have open."),
    KEY("limits", file_bytes, CONF_SIZE, MIB, 1024 * GIB, "8G", NULL,
        "One file that a kernel writes."),
    KEY("jail", jail, CONF_CHOICE, 0, 0, "auto", jails,
        "Whether kernels are confined: not, as far as the host can, or else "
        "not started."),
    KEY("jail", uid_first, CONF_INTEGER, 1000, 4290000000, "1900000000", NULL,
        "Each kernel gets a user id of its own from here on, when the service "
        "is started as root. Nobody else may use them."),
    KEY("jail", uid_count, CONF_INTEGER, 1, 1000000, "65536", NULL,
        "How many user ids there are for kernels; at least max_kernels."),
    KEY("jail", read_only_paths, CONF_PATHS, 0, LINE, "", NULL,
        "More files and directories that kernels can read."),
    KEY("jail", cgroup, CONF_TEXT, 0, PATH, "auto", NULL,
        "The control group beneath which those of the kernels are made, as "
        "/cellpost; auto: the keeper's own."),
    KEY("retention", run_age, CONF_DURATION, 0, 36500 * DAY, "0", NULL,
        "A run that ended longer ago is removed from the history, but for the "
        "newest of its task; 0: never."),
    KEY("retention", event_age, CONF_DURATION, 0, 36500 * DAY, "7d", NULL,
        "Events older than this are removed from the log; 0: never."),
    KEY("retention", deleted_age, CONF_DURATION, 0, 36500 * DAY, "0", NULL,
        "The files of a task that was deleted longer ago are removed; 0: "
        "never."),
    KEY("retention", task_bytes, CONF_SIZE, 0, 1024 * GIB, "0", NULL,
        "A task's oldest runs are removed while its history and artifacts take "
        "more; 0: no bound."),
    KEY("retention", interval, CONF_DURATION, 0, 365 * DAY, "1h", NULL,
        "How often the service removes what is too old or too much; 0: only "
        "`cellpost gc` does."),
    KEY("redis", redis_address, CONF_TEXT, 0, PATH, "off", NULL,
        "The Redis server that events are published to: HOST:PORT or the path "
        "of its socket; off: none. One that is away slows nothing."),
    KEY("redis", redis_channel, CONF_TEXT, 0, 255, "task:{task}:messages", NULL,
        "The channel of an event; {task}, {run} and {kind} are replaced."),
    KEY("redis", redis_password_file, CONF_PATHS, 0, PATH, "", NULL,
        "The file whose first line is its password."),
    KEY("log", log_level, CONF_WORD, 0, 0, "info", levels,
        "The least severe line that is logged."),
};

const size_t conf_key_count = COUNT_OF(conf_keys);
