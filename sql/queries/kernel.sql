-- name: kernel_latest
SELECT * FROM kernels WHERE task = :task ORDER BY generation DESC LIMIT 1;

-- name: kernel_generation
SELECT * FROM kernels WHERE task = :task AND generation = :generation;

-- name: kernel_get
SELECT * FROM kernels WHERE id = :id;

-- name: kernel_list_alive
SELECT * FROM kernels WHERE ended_at IS NULL ORDER BY started_at, id;

-- name: kernel_insert
INSERT INTO kernels (id, task, generation, kernelspec, pid, pid_start,
                     directory, started_at, memory_limit)
VALUES (:id, :task,
        1 + coalesce((SELECT max(generation) FROM kernels WHERE task = :task), 0),
        :kernelspec, :pid, :pid_start, :directory, :started_at, :memory_limit)
RETURNING generation;

-- name: kernel_set_end
UPDATE kernels
   SET ended_at = max(:ended_at, started_at), ending = :ending,
       exit_code = :exit_code, signal = :signal, reason = :reason,
       -- what counted it may have begun anew with each run
       memory_peak = nullif(max(coalesce(:memory_peak, 0),
         (SELECT coalesce(max(memory_peak_bytes), 0) FROM runs
           WHERE kernel = :id)), 0)
 WHERE id = :id AND ended_at IS NULL;

-- name: kernel_event_started
INSERT INTO events (at, task, kind, content)
SELECT :at, task, 'kernel.started',
       json_object('kernel', id, 'generation', generation,
                   'kernelspec', kernelspec)
  FROM kernels WHERE id = :id;

-- name: kernel_event_ended
INSERT INTO events (at, task, kind, content)
SELECT :at, task, 'kernel.ended',
       json_object('kernel', id, 'generation', generation, 'end', ending,
                   'exit_code', exit_code, 'signal', signal, 'reason', reason)
  FROM kernels WHERE id = :id;

-- name: kernel_activity
-- The chain has the order of the ends, so its last row is the task's last
-- end; the open runs are few.
SELECT max(coalesce((SELECT (SELECT ended_at FROM runs WHERE id = chain.run)
                       FROM chain
                      WHERE task = :task
                      ORDER BY end_number DESC LIMIT 1), 0),
           coalesce((SELECT max(coalesce(started_at, queued_at)) FROM runs
                      WHERE task = :task AND ended_at IS NULL), 0)) AS last_at,
       EXISTS (SELECT 1 FROM runs
                WHERE task = :task AND ended_at IS NULL) AS busy;
