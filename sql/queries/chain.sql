-- name: chain_content
-- What the hash of a finished run covers, as one text. Late outputs and later
-- revisions of outputs come after the end and are not part of it.
SELECT json_array(id, task, number, code_sha256, section, tags, silent, caller,
         address, request_id, idempotency_key, body_sha256, instance,
         timeout_ms, options, queued_at, status, cancel_requested_at,
         cancel_requested_by, started_at, kernel, generation, kernel_state,
         kernel_reason, cell, ended_at, end_number, execution_count, error,
         text, files, truncated, images, notes, late_told, ended_by, cpu_ms,
         memory_peak_bytes, output_bytes,
         (SELECT json_group_array(sha256)
            FROM (SELECT sha256 FROM outputs
                   WHERE run = runs.sequence AND late = 0 ORDER BY position))),
       (SELECT hash FROM chain
         WHERE task = runs.task AND end_number = runs.end_number - 1)
  FROM runs WHERE sequence = :run;

-- name: chain_insert
INSERT INTO chain (task, end_number, run, hash)
SELECT task, end_number, id, :hash FROM runs WHERE sequence = :run;
