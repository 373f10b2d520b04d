/* What the configuration says: one field a key of the table in conf_table.c. */
#ifndef CELLPOST_CONF_CONF_SETTINGS_H
#define CELLPOST_CONF_CONF_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

enum conf_sync { CONF_SYNC_NEVER, CONF_SYNC_BACKGROUND, CONF_SYNC_ALWAYS };
enum conf_auth { CONF_AUTH_OFF, CONF_AUTH_AUTO, CONF_AUTH_ON };
enum conf_jail { CONF_JAIL_OFF, CONF_JAIL_AUTO, CONF_JAIL_REQUIRED };

/* Durations are seconds, sizes are bytes (the file may say 10M, 1G).
 * Field order is the order of the reference. */
struct conf {
  /* [server] */
  char *listen;     /* path of the FastCGI socket, at most 107 bytes
                       (unix(7)); default: fcgi.sock in run_directory */
  char *hosts;      /* Host names served, separated by spaces */
  int64_t threads;  /* request threads */
  int64_t watchers; /* of the live feed, at once */
  char *user;       /* user of app and kernels when started as root */
  bool auto_create; /* execute creates a missing task */
  /* [auth] who may ask (fcgi/http/caller.h) */
  enum conf_auth required;
  char *trusted_header;    /* "off": none names a caller */
  char *trusted_addresses; /* whose header counts, spaces between */
  char *proxies;      /* whose word of the client's address counts; "off" */
  double session_age; /* of a browser's log-in */
  /* [state] */
  char *state_directory; /* cellpost.db, tasks/ */
  char *run_directory;   /* sockets, kernels/ */
  enum conf_sync sync;
  /* [kernels] */
  char *kernelspec;      /* default kernelspec name */
  char *kernelspec_path; /* more directories, separated by colons, first */
  int64_t max_kernels;
  double start_timeout;
  double idle_timeout;     /* 0: never culled */
  double interrupt_grace;  /* after SIGINT, before SIGTERM */
  double terminate_grace;  /* after SIGTERM, before SIGKILL */
  bool replay_after_death; /* of tasks that do not say */
  char *environment; /* NAME=value pairs for every kernel, spaces between */
  bool warm;      /* Python kernels are forked (core/keeper/zygote/zygote.h) */
  char *preload;  /* modules that they have imported, spaces between */
  int64_t spares; /* kernels ready before they are asked for */
  double spare_age; /* how long one waits for a task; 0: for ever */
  /* [limits] */
  int64_t body_bytes;         /* one HTTP request body */
  int64_t code_bytes;         /* one cell */
  double timeout;             /* default for a run */
  double timeout_max;         /* what a request may ask for */
  double tool_wait;           /* of an MCP client for a cell */
  int64_t queue;              /* runs waiting per task */
  int64_t output_bytes;       /* kept per run */
  int64_t output_bytes_hard;  /* the run is interrupted beyond */
  int64_t outputs;            /* kept per run */
  int64_t image_bytes;        /* one image */
  int64_t inline_image_bytes; /* one image given as base64; larger: by uri */
  int64_t text_limit;         /* characters of `text` */
  int64_t files_scanned;      /* directory entries looked at per run */
  int64_t files_listed;       /* changed files told per run */
  /* what a kernel may use when its task does not say, and what a task may ask
     for (core/process/kernel_limits.h) */
  int64_t memory, memory_max;
  int64_t pids, pids_max;
  double cpus, cpus_max; /* processors' worth of time; 0: no limit */
  int64_t workspace_bytes, workspace_bytes_max;
  int64_t workspace_files, workspace_files_max;
  int64_t tmp_bytes;  /* /tmp, and as much again for /dev/shm */
  int64_t open_files; /* per process */
  int64_t file_bytes; /* one file */
  /* [jail] */
  enum conf_jail jail;
  int64_t uid_first; /* each kernel is a user of its own, when the keeper is */
  int64_t uid_count; /* root: uid_first and the uid_count - 1 after it */
  char *read_only_paths; /* more that kernels see, colons between */
  char *cgroup; /* beneath which those of kernels are; "auto": the keeper's */
  /* [retention] 0: for ever, without bound, never */
  double run_age;     /* of finished runs in the history */
  double event_age;   /* of the log behind the live feed */
  double deleted_age; /* of the files of a deleted task */
  int64_t task_bytes; /* of a task's history with its artifacts */
  double interval;    /* between two clean-ups */
  /* [redis] where events are published (core/feed/publisher.h) */
  char *redis_address;       /* "off": nowhere */
  char *redis_channel;       /* with {task}, {run}, {kind} */
  char *redis_password_file; /* its first line; "": none */
  /* [log] */
  char *log_level; /* error, warning, info, debug */
};

#endif
