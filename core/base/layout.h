/* The map of the disk: every path and file name of the two directories, once.
 *
 *   <state>/cellpost.db                     registry and history
 *          /auth.on                         while tokens are needed: the web
 *                                           server asks about each file
 *          /tasks/<task>/notebook.ipynb     served by nginx
 *                       /.notebook.spare    its last version but one
 *                       /.notebook.index    where its cells are
 *                       /files/             the kernel's working directory
 *                       /artifacts/         images and other rich outputs
 *                       /.upload/           an archive that is being unpacked
 *          /spares/<id>/                    the workspace of a kernel without
 *                                           a task
 *   <run>/fcgi.sock                         the app's (key listen)
 *        /keeper.sock, keeper.lock          the keeper's
 *        /publisher.lock                    held by the app that publishes
 *        /jail.json, warm.json              what the keeper tells the app
 *        /kernels/<id>/                     the kernel's own, 0700:
 *                     /connection.json      and the ipc sockets that it names
 *                     /start.py             how a Python program starts
 *                     /stack.txt, setup.txt written by ipykernel/setup
 *        /shims/<id>/                       the keeper's own, 0700:
 *                   /log.0, log.1, exit, asked
 *        /turns/<task>.lock                 whose turn it is, see
 * core/control/task_lock.h /zygote/                           caches of the
 * zygotes' libraries
 *
 * A path is made by mem_format("%s/" LAYOUT_DATABASE, conf->state_directory).
 */
#ifndef CELLPOST_BASE_LAYOUT_H
#define CELLPOST_BASE_LAYOUT_H

/* In the state directory. */
#define LAYOUT_DATABASE "cellpost.db"
#define LAYOUT_AUTH_MARK "auth.on"
#define LAYOUT_TASKS "tasks"
#define LAYOUT_SPARES "spares"

/* In a task's directory, which is also the path of its URIs. */
#define LAYOUT_NOTEBOOK "notebook.ipynb"
#define LAYOUT_NOTEBOOK_SPARE ".notebook.spare"
#define LAYOUT_NOTEBOOK_INDEX ".notebook.index"
#define LAYOUT_FILES "files"
#define LAYOUT_UPLOAD ".upload"
#define LAYOUT_ARTIFACTS "artifacts"

/* In the run directory. */
#define LAYOUT_APP_SOCKET "fcgi.sock"
#define LAYOUT_KEEPER_SOCKET "keeper.sock"
#define LAYOUT_KEEPER_LOCK "keeper.lock"
#define LAYOUT_PUBLISHER_LOCK "publisher.lock"
#define LAYOUT_JAIL_REPORT "jail.json"
#define LAYOUT_WARM_REPORT "warm.json"
#define LAYOUT_KERNELS "kernels"
#define LAYOUT_SHIMS "shims"
#define LAYOUT_TURNS "turns"
#define LAYOUT_ZYGOTE "zygote"

/* In a kernel's directory. */
#define LAYOUT_CONNECTION "connection.json"
#define LAYOUT_STACK "stack.txt"
#define LAYOUT_START "start.py" /* launch_python.py */
#define LAYOUT_SETUP                                                           \
  "setup.txt" /* the digest of the source of ipykernel/setup */

/* In a shim's directory. */
#define LAYOUT_LOG "log" /* ".0" and ".1", see core/process/log_ring.h */
#define LAYOUT_EXIT "exit"
#define LAYOUT_ASKED "asked" /* which end was asked for, and why */

#endif
