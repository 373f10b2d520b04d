/* Everything that a process has started, found through /proc. */
#ifndef CELLPOST_PROCESS_DESCENDANTS_H
#define CELLPOST_PROCESS_DESCENDANTS_H

#include <stddef.h>
#include <sys/types.h>

/* Sends SIGKILL to every descendant of `root` (not to itself; children of
 * children too, whatever their session or process group), after all of them
 * were stopped, so that none can fork meanwhile and get away. `spare` (sorted,
 * may be NULL) names processes that are left alone with all below them.
 *
 * A process whose parent has ended belongs to the next sub-reaper above
 * (PR_SET_CHILD_SUBREAPER, prctl(2)): call this for the sub-reaper, and again
 * until waitpid(2) says that no child is left. Returns how many were killed
 * (zombies not counted), -1 when /proc cannot be read. */
int descendants_kill(pid_t root, const pid_t *spare, size_t spare_count);

/* The descendants of `root` that have not ended, `root` and they as /proc names
 * them; free(3). Returns how many, -1 when /proc cannot be read. */
int descendants_list(pid_t root, pid_t **ret);

#endif
