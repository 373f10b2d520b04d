-- name: task_find
SELECT kernelspec, settings, deleted_at FROM tasks WHERE id = :id;

-- name: task_insert
INSERT INTO tasks (id, kernelspec, settings, created_by, created_at)
VALUES (:id, :kernelspec, coalesce(:settings, '{}'),
        coalesce(:created_by, 'anonymous'), :created_at)
ON CONFLICT (id) DO UPDATE SET
  kernelspec = excluded.kernelspec, settings = excluded.settings,
  created_by = excluded.created_by, created_at = excluded.created_at,
  deleted_at = NULL;

-- name: task_set_settings
UPDATE tasks SET settings = coalesce(:settings, '{}') WHERE id = :id;

-- name: task_get
SELECT tasks.*,
       coalesce((SELECT number FROM runs WHERE task = tasks.id
                  ORDER BY sequence DESC LIMIT 1), 0) AS runs,
       (SELECT queued_at FROM runs WHERE task = tasks.id
         ORDER BY sequence DESC LIMIT 1) AS last_run_at,
       (SELECT status FROM runs WHERE task = tasks.id
         ORDER BY sequence DESC LIMIT 1) AS last_status
  FROM tasks
 WHERE id = :id AND deleted_at IS NULL;

-- name: task_list
SELECT tasks.*,
       coalesce((SELECT number FROM runs WHERE task = tasks.id
                  ORDER BY sequence DESC LIMIT 1), 0) AS runs,
       (SELECT queued_at FROM runs WHERE task = tasks.id
         ORDER BY sequence DESC LIMIT 1) AS last_run_at,
       (SELECT status FROM runs WHERE task = tasks.id
         ORDER BY sequence DESC LIMIT 1) AS last_status
  FROM tasks
 WHERE id > :after AND deleted_at IS NULL
   AND (:globs IS NULL OR id IN (
     SELECT tasks.id FROM tasks
      WHERE EXISTS (SELECT 1 FROM json_each(:globs) WHERE tasks.id GLOB value)
         OR EXISTS (SELECT 1 FROM tokens
                     WHERE name = tasks.created_by AND tenant = :tenant)))
 ORDER BY id
 LIMIT :limit;

-- name: task_count_failures
-- Each status is found in the index by itself: what went well is not looked at.
SELECT count(*) FROM runs
 WHERE task = :id AND ended_at IS NOT NULL
   AND status IN ('error', 'timeout', 'interrupted', 'output_limit', 'oom',
                  'kernel_died', 'lost', 'not_run');

-- name: task_delete
UPDATE tasks SET deleted_at = :deleted_at
 WHERE id = :id AND deleted_at IS NULL;

-- name: task_event_created
INSERT INTO events (at, task, kind, content)
SELECT :at, id, 'task.created',
       json_object('kernelspec', kernelspec, 'created_by', created_by)
  FROM tasks WHERE id = :id;

-- name: task_event_deleted
INSERT INTO events (at, task, kind, content)
VALUES (:at, :id, 'task.deleted', '{}');
