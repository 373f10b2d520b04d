-- name: verify_next_task
SELECT min(task) FROM chain WHERE task > :after;

-- name: verify_chain
SELECT end_number, run, hash, removed_at,
       (SELECT sequence FROM runs WHERE id = chain.run) AS sequence
  FROM chain
 WHERE task = :task AND end_number > :after
 ORDER BY end_number LIMIT :limit;

-- name: verify_run
SELECT task, number, end_number, code, code_sha256 FROM runs
 WHERE sequence = :run;

-- name: verify_outputs
SELECT position, coalesce(first_content, content), sha256 FROM outputs
 WHERE run = :run ORDER BY position;

-- name: verify_ended
-- Runs in the order of acceptance, and whether each that ended is in the chain.
SELECT sequence, id, task,
       ended_at IS NULL OR EXISTS (
         SELECT 1 FROM chain
          WHERE chain.task = runs.task AND chain.end_number = runs.end_number
            AND chain.run = runs.id) AS chained
  FROM runs
 WHERE sequence > :after
 ORDER BY sequence LIMIT :limit;

-- name: verify_artifacts
-- A task that was deleted, or made anew since, may have lost its files.
SELECT id, task, name, sha256, bytes,
       EXISTS (SELECT 1 FROM run_artifacts
                 JOIN runs ON runs.sequence = run_artifacts.run
                 JOIN tasks ON tasks.id = runs.task
                WHERE run_artifacts.artifact = artifacts.id
                  AND tasks.deleted_at IS NULL
                  AND runs.queued_at >= tasks.created_at) AS needed
  FROM artifacts
 WHERE id > :after
 ORDER BY id LIMIT :limit;

-- name: verify_artifact_is_there
SELECT 1 FROM artifacts WHERE id = :id;

-- name: verify_removed
-- Whether retention removed the run.
SELECT 1 FROM chain WHERE run = :run AND removed_at IS NOT NULL;
