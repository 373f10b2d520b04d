-- name: run_by_idempotency_key
SELECT id, body_sha256 FROM runs
 WHERE task = :task AND idempotency_key = :idempotency_key
   AND status <> 'not_run';

-- name: run_insert
-- A run that names no section goes on in that of the run before it.
INSERT INTO runs (id, task, number, code, code_sha256, section, tags, silent,
                  caller, address, request_id, idempotency_key, body_sha256,
                  instance, timeout_ms, options, queued_at, status)
SELECT :id, :task,
       1 + coalesce((SELECT number FROM runs WHERE task = :task
                      ORDER BY sequence DESC LIMIT 1), 0),
       :code, :code_sha256,
       coalesce(:section,
                (SELECT iif(queued_at >= (SELECT created_at FROM tasks
                                           WHERE id = :task), section, NULL)
                   FROM runs WHERE task = :task
                  ORDER BY sequence DESC LIMIT 1)),
       :tags, :silent,
       coalesce(:caller, 'anonymous'), :address, :request_id, :idempotency_key,
       :body_sha256, :instance, :timeout_ms, :options, :queued_at, 'queued'
 WHERE EXISTS (SELECT 1 FROM tasks WHERE id = :task AND deleted_at IS NULL);

-- name: run_start
UPDATE runs
   SET status = 'running', started_at = max(:started_at, queued_at),
       kernel = :kernel,
       generation = :generation, kernel_state = :kernel_state,
       kernel_reason = :kernel_reason, cell = :cell
 WHERE id = :id AND status = 'queued';

-- name: run_finish
-- What its start did not write (a short run, a full disk), its end does. A
-- kernel that ended with it has lost its variables.
UPDATE runs
   SET status = :status,
       -- no duration is negative, whatever the clock does
       ended_at = max(:ended_at, coalesce(started_at, :started_at, queued_at)),
       started_at = coalesce(started_at, :started_at),
       kernel = coalesce(kernel, :kernel),
       generation = coalesce(generation, :generation),
       kernel_state = coalesce(:kernel_state, kernel_state),
       kernel_reason = coalesce(:kernel_reason, kernel_reason),
       cell = coalesce(cell, :cell),
       end_number = 1 + coalesce((SELECT max(end_number) FROM chain
                                   WHERE task = runs.task), 0),
       execution_count = :execution_count, error = :error, text = :text,
       files = :files, truncated = :truncated, images = :images,
       notes = :notes, late_told = :late_told, ended_by = :ended_by,
       cpu_ms = :cpu_ms,
       memory_peak_bytes = :memory_peak_bytes, output_bytes = :output_bytes
 WHERE id = :id AND ended_at IS NULL
RETURNING sequence, task, kernel;

-- name: run_lose
UPDATE runs
   SET status = :status,
       ended_at = max(:ended_at, coalesce(started_at, queued_at)),
       end_number = 1 + coalesce((SELECT max(end_number) FROM chain
                                   WHERE task = runs.task), 0),
       text = :text, error = :error,
       notes = json_array('the process that led this run ended before it')
 WHERE id = :id AND ended_at IS NULL
RETURNING sequence, task, kernel;

-- name: run_request_cancel
UPDATE runs
   SET cancel_requested_at = :at, cancel_requested_by = :by
 WHERE id = :id AND ended_at IS NULL AND cancel_requested_at IS NULL;

-- name: run_state
SELECT status, ended_at IS NOT NULL AS ended,
       cancel_requested_at IS NOT NULL AS cancelled
  FROM runs WHERE id = :id;

-- name: run_event_queued
INSERT INTO events (at, task, run, kind, content)
SELECT :at, task, id, 'run.queued',
       json_object('number', number, 'caller', caller, 'section', section,
                   'silent', json(iif(silent, 'true', 'false')))
  FROM runs WHERE id = :id;

-- name: run_event_started
INSERT INTO events (at, task, run, kind, content)
SELECT :at, task, id, 'run.started',
       json_object('kernel', kernel, 'generation', generation,
                   'kernel_state', kernel_state,
                   'kernel_reason', kernel_reason, 'cell', cell)
  FROM runs WHERE id = :id;

-- name: run_event_finished
INSERT INTO events (at, task, run, kind, content)
SELECT :at, task, id, 'run.finished',
       json_object('status', status, 'execution_count', execution_count,
                   'cell', cell, 'ename', error ->> 'ename',
                   'evalue', error ->> 'evalue')
  FROM runs WHERE sequence = :run;

-- name: run_get
SELECT * FROM runs WHERE id = :id;

-- name: run_position
-- Where a list goes on after run :id.
SELECT sequence, task FROM runs WHERE id = :id;

-- name: run_list
SELECT * FROM runs
 WHERE sequence < :before
 ORDER BY sequence DESC LIMIT :limit;

-- name: run_list_ok
-- Most runs are: no index, the list is found on the way.
SELECT * FROM runs
 WHERE status = :status AND sequence < :before
 ORDER BY sequence DESC LIMIT :limit;

-- name: run_list_failed
SELECT * FROM runs
 WHERE status = :status AND status NOT IN ('queued', 'running', 'ok')
   AND sequence < :before
 ORDER BY sequence DESC LIMIT :limit;

-- name: run_list_unended
-- The open runs are few: they are taken from their index and sorted.
SELECT * FROM runs INDEXED BY runs_open
 WHERE status = :status AND ended_at IS NULL AND sequence < :before
 ORDER BY sequence DESC LIMIT :limit;

-- name: run_list_task
SELECT * FROM runs
 WHERE task = :task AND sequence < :before
 ORDER BY sequence DESC LIMIT :limit;

-- name: run_list_task_ended
SELECT * FROM runs
 WHERE task = :task AND status = :status AND ended_at IS NOT NULL
   AND sequence < :before
 ORDER BY sequence DESC LIMIT :limit;

-- name: run_list_task_unended
SELECT * FROM runs
 WHERE task = :task AND status = :status AND ended_at IS NULL
   AND sequence < :before
 ORDER BY sequence DESC LIMIT :limit;

-- name: run_list_open
SELECT * FROM runs
 WHERE task = :task AND ended_at IS NULL
 ORDER BY sequence;

-- name: run_open_instances
SELECT id, pid, pid_start FROM instances
 WHERE id IN (SELECT instance FROM runs WHERE ended_at IS NULL);

-- name: run_open_of_instance
SELECT id, task, silent, status FROM runs
 WHERE ended_at IS NULL AND instance = :instance
 ORDER BY task, sequence;

-- name: run_previous
SELECT * FROM runs
 WHERE kernel = :kernel AND task = :task AND ended_at IS NOT NULL
 ORDER BY sequence DESC LIMIT 1;
