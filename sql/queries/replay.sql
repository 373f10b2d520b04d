-- name: replay_insert
INSERT INTO replays (id, task, asked_at, asked_by, status)
SELECT :id, :task, :asked_at, coalesce(:asked_by, 'anonymous'), 'asked'
 WHERE EXISTS (SELECT 1 FROM tasks WHERE id = :task AND deleted_at IS NULL);

-- name: replay_start
-- All that were asked for meanwhile are answered by the same one.
UPDATE replays
   SET status = 'running', instance = :instance, kernel = :kernel,
       started_at = :started_at
 WHERE task = :task AND ended_at IS NULL AND status = 'asked';

-- name: replay_finish
UPDATE replays
   SET status = :status,
       ended_at = max(:ended_at, coalesce(started_at, asked_at)),
       cells = :cells, same = :same,
       different = :different, failed = :failed, skipped = :skipped,
       differences = :differences
 WHERE task = :task AND ended_at IS NULL AND kernel = :kernel;

-- name: replay_cancel_asked
UPDATE replays
   SET status = 'cancelled',
       ended_at = max(:ended_at, coalesce(started_at, asked_at))
 WHERE id = :id AND status = 'asked';

-- name: replay_get
SELECT * FROM replays WHERE id = :id;

-- name: replay_asked
SELECT * FROM replays
 WHERE task = :task AND ended_at IS NULL AND status = 'asked'
 ORDER BY asked_at LIMIT 1;

-- name: replay_of_kernel
SELECT * FROM replays WHERE kernel = :kernel ORDER BY asked_at LIMIT 1;

-- name: replay_request_cancel
UPDATE replays SET cancel_requested_at = :at
 WHERE task = :task AND ended_at IS NULL AND status = 'running'
   AND cancel_requested_at IS NULL;

-- name: replay_cancel_requested
SELECT 1 FROM replays
 WHERE task = :task AND ended_at IS NULL AND cancel_requested_at IS NOT NULL
 LIMIT 1;

-- name: replay_instances
SELECT id, pid, pid_start FROM instances
 WHERE id IN (SELECT instance FROM replays WHERE ended_at IS NULL);

-- name: replay_lose
UPDATE replays
   SET status = 'lost',
       ended_at = max(:ended_at, coalesce(started_at, asked_at))
 WHERE ended_at IS NULL AND instance = :instance;

-- name: replay_event_finished
INSERT INTO events (at, task, kind, content)
SELECT :at, task, 'replay.finished',
       json_object('replay', id, 'kernel', kernel, 'status', status,
                   'cells', cells, 'same', same, 'different', different,
                   'failed', failed, 'skipped', skipped)
  FROM replays
 WHERE kernel = :kernel;

-- name: replay_event_started
INSERT INTO events (at, task, kind, content)
SELECT :at, task, 'replay.started',
       json_object('replay', id, 'kernel', kernel, 'asked_by', asked_by)
  FROM replays
 WHERE kernel = :kernel AND ended_at IS NULL;

-- name: replay_list_runs
-- What went well in the task's present life, in order.
SELECT * FROM runs
 WHERE task = :task AND status = 'ok' AND ended_at IS NOT NULL
   AND sequence > coalesce((SELECT sequence FROM runs WHERE id = :after), 0)
   AND queued_at >= (SELECT created_at FROM tasks WHERE id = :task)
 ORDER BY sequence LIMIT :limit;

-- name: replay_count_removed
SELECT count(*) FROM chain
 WHERE task = :task AND removed_at IS NOT NULL;
