-- name: retention_events
-- The oldest, in order of their ids; the newest of all stays. (From 0 on: a
-- walk along the key that the limit ends, not a scan.)
DELETE FROM events
 WHERE id IN (SELECT id FROM (SELECT id, at FROM events WHERE id > 0
                               ORDER BY id LIMIT :most)
               WHERE at < :before)
   AND id < (SELECT max(id) FROM events);

-- name: retention_runs
-- In the order of acceptance, with what decides whether they may go.
SELECT sequence, task, end_number, queued_at, ended_at,
       EXISTS (SELECT 1 FROM runs AS later
                WHERE later.task = runs.task
                  AND later.sequence > runs.sequence) AS followed
  FROM runs
 WHERE sequence > :after
 ORDER BY sequence LIMIT :most;

-- name: retention_runs_of_task
SELECT sequence, task, end_number, queued_at, ended_at,
       EXISTS (SELECT 1 FROM runs AS later
                WHERE later.task = runs.task
                  AND later.sequence > runs.sequence) AS followed
  FROM runs
 WHERE task = :task AND sequence > :after AND sequence <= :cut
 ORDER BY sequence LIMIT :most;

-- name: retention_sizes
-- From the newest run back. An artifact counts for the newest run that has it.
SELECT sequence,
       length(CAST(code AS BLOB)) + coalesce(length(CAST(text AS BLOB)), 0)
         + coalesce(length(CAST(error AS BLOB)), 0)
         + (SELECT coalesce(sum(length(CAST(content AS BLOB))), 0)
              FROM outputs WHERE run = runs.sequence)
         + (SELECT coalesce(sum(bytes), 0) FROM artifacts
             WHERE id IN (SELECT artifact FROM run_artifacts
                           WHERE run = runs.sequence)
               AND NOT EXISTS (SELECT 1 FROM run_artifacts AS later
                                WHERE later.artifact = artifacts.id
                                  AND later.run > runs.sequence)) AS bytes
  FROM runs
 WHERE task = :task AND sequence < :before
 ORDER BY sequence DESC LIMIT :most;

-- name: retention_mark
UPDATE chain SET removed_at = :at, removed_why = :why
 WHERE task = :task AND end_number = :end_number AND removed_at IS NULL;

-- name: retention_artifacts_of_run
SELECT DISTINCT artifact FROM run_artifacts WHERE run = :run;

-- name: retention_remove_run
DELETE FROM runs WHERE sequence = :run;

-- name: retention_remove_artifact
DELETE FROM artifacts
 WHERE id = :id
   AND NOT EXISTS (SELECT 1 FROM run_artifacts WHERE artifact = :id)
RETURNING task, name;

-- name: retention_tasks
-- Deleted ones, too.
SELECT id, deleted_at FROM tasks WHERE id > :after ORDER BY id LIMIT :most;

-- name: retention_knows_task
SELECT 1 FROM tasks WHERE id = :task;

-- name: retention_knows_artifact
SELECT 1 FROM artifacts WHERE task = :task AND name = :name;
