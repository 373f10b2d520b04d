-- What an audit asks for: any conditions together, and times for figures.

-- name: run_first_since
SELECT sequence FROM runs WHERE id >= :id ORDER BY id LIMIT 1;

-- name: run_last_until
SELECT sequence FROM runs WHERE id < :id ORDER BY id DESC LIMIT 1;

-- name: run_search
-- A condition that is not asked for is NULL.
SELECT * FROM runs
 WHERE sequence >= :from AND sequence < :before
   AND queued_at >= :since AND queued_at < :until
   AND (:status IS NULL OR status = :status)
   AND (NOT :failed OR status NOT IN ('queued', 'running', 'ok', 'cancelled'))
   AND (:error IS NULL OR error ->> 'ename' = :error)
   AND (:text IS NULL OR instr(lower(code), lower(:text)))
   AND (:globs IS NULL OR task IN (
     SELECT tasks.id FROM tasks
      WHERE EXISTS (SELECT 1 FROM json_each(:globs) WHERE tasks.id GLOB value)
         OR EXISTS (SELECT 1 FROM tokens
                     WHERE name = tasks.created_by AND tenant = :tenant)))
 ORDER BY sequence DESC LIMIT :limit;

-- name: run_search_task
SELECT * FROM runs
 WHERE task = :task
   AND sequence >= :from AND sequence < :before
   AND queued_at >= :since AND queued_at < :until
   AND (:status IS NULL OR status = :status)
   AND (NOT :failed OR status NOT IN ('queued', 'running', 'ok', 'cancelled'))
   AND (:error IS NULL OR error ->> 'ename' = :error)
   AND (:text IS NULL OR instr(lower(code), lower(:text)))
   AND (:globs IS NULL OR task IN (
     SELECT tasks.id FROM tasks
      WHERE EXISTS (SELECT 1 FROM json_each(:globs) WHERE tasks.id GLOB value)
         OR EXISTS (SELECT 1 FROM tokens
                     WHERE name = tasks.created_by AND tenant = :tenant)))
 ORDER BY sequence DESC LIMIT :limit;

-- name: run_times
-- When each run was accepted, how long it took, whether it failed.
SELECT queued_at, ended_at - started_at AS ran,
       status NOT IN ('queued', 'running', 'ok', 'cancelled') AS failed
  FROM runs
 WHERE sequence >= :from AND sequence < :before
   AND queued_at >= :since AND queued_at < :until
   AND (:globs IS NULL OR task IN (
     SELECT tasks.id FROM tasks
      WHERE EXISTS (SELECT 1 FROM json_each(:globs) WHERE tasks.id GLOB value)
         OR EXISTS (SELECT 1 FROM tokens
                     WHERE name = tasks.created_by AND tenant = :tenant)))
 ORDER BY sequence;

-- name: run_times_task
SELECT queued_at, ended_at - started_at AS ran,
       status NOT IN ('queued', 'running', 'ok', 'cancelled') AS failed
  FROM runs
 WHERE task = :task
   AND sequence >= :from AND sequence < :before
   AND queued_at >= :since AND queued_at < :until
   AND (:globs IS NULL OR task IN (
     SELECT tasks.id FROM tasks
      WHERE EXISTS (SELECT 1 FROM json_each(:globs) WHERE tasks.id GLOB value)
         OR EXISTS (SELECT 1 FROM tokens
                     WHERE name = tasks.created_by AND tenant = :tenant)))
 ORDER BY sequence;
