-- What an auditor reads. Times are ISO 8601 in UTC with microseconds, or NULL
-- (NULL || text is NULL).
-- Made anew at each opening when this text has changed; sql/README.md explains
-- every column.

-- One row a run, newest first.
CREATE VIEW audit AS
SELECT strftime('%Y-%m-%dT%H:%M:%S', runs.queued_at / 1000000, 'unixepoch')
         || printf('.%06dZ', runs.queued_at % 1000000) AS accepted,
       strftime('%Y-%m-%dT%H:%M:%S', runs.started_at / 1000000, 'unixepoch')
         || printf('.%06dZ', runs.started_at % 1000000) AS started,
       strftime('%Y-%m-%dT%H:%M:%S', runs.ended_at / 1000000, 'unixepoch')
         || printf('.%06dZ', runs.ended_at % 1000000) AS ended,
       runs.task,
       runs.number,
       runs.caller,
       runs.address,
       runs.code,
       runs.status,
       CASE runs.status
         WHEN 'queued' THEN 'waits for its turn'
         WHEN 'running' THEN 'is running'
         WHEN 'ok' THEN 'ran to its end'
         WHEN 'error' THEN 'raised ' || coalesce(runs.error ->> 'ename', 'an error')
         WHEN 'timeout' THEN 'was stopped at its limit of '
           || printf('%g s', runs.timeout_ms / 1000.0)
         WHEN 'interrupted' THEN 'was interrupted'
           || coalesce(' by ' || runs.cancel_requested_by, '')
         WHEN 'cancelled' THEN 'was cancelled before it started'
           || coalesce(' by ' || runs.cancel_requested_by, '')
         WHEN 'output_limit' THEN 'was stopped for too much output'
         WHEN 'oom' THEN 'was ended by the memory limit'
         WHEN 'kernel_died' THEN 'ended with its kernel'
           || coalesce(': ' || kernels.reason, '')
         WHEN 'lost' THEN 'was cut off: the process that led it ended'
         WHEN 'not_run' THEN 'was accepted, but no kernel could be had'
       END AS outcome,
       (runs.error ->> 'ename') || ': ' || coalesce(runs.error ->> 'evalue', '')
         AS error,
       runs.error ->> 'line' AS error_line,
       runs.ended_by,
       (coalesce(runs.started_at, runs.ended_at) - runs.queued_at) / 1000.0
         AS waited_ms,
       (runs.ended_at - runs.started_at) / 1000.0 AS ran_ms,
       runs.cpu_ms,
       runs.memory_peak_bytes,
       runs.output_bytes,
       (SELECT count(*) FROM outputs WHERE run = runs.sequence) AS outputs,
       runs.late_outputs,
       (SELECT count(*) FROM run_artifacts WHERE run = runs.sequence)
         AS artifacts,
       coalesce(json_array_length(runs.files), 0) AS files,
       runs.truncated,
       runs.notes,
       runs.section,
       runs.cell,
       runs.execution_count,
       runs.tags,
       iif(runs.silent, 'yes', 'no') AS silent,
       runs.timeout_ms / 1000.0 AS timeout_s,
       kernels.kernelspec,
       runs.kernel,
       runs.generation AS kernel_generation,
       CASE runs.kernel_state
         WHEN 'kept' THEN 'variables kept from the run before'
         WHEN 'fresh' THEN 'first run of a new kernel'
         WHEN 'lost' THEN 'variables lost'
       END || coalesce(': ' || runs.kernel_reason, '') AS kernel_state,
       strftime('%Y-%m-%dT%H:%M:%S', runs.cancel_requested_at / 1000000, 'unixepoch')
         || printf('.%06dZ', runs.cancel_requested_at % 1000000) AS stop_asked,
       runs.cancel_requested_by AS stop_asked_by,
       instances.program || ' ' || instances.pid AS led_by,
       runs.request_id,
       runs.idempotency_key,
       runs.code_sha256,
       (SELECT hash FROM chain
         WHERE task = runs.task AND end_number = runs.end_number) AS hash,
       runs.id AS run
  FROM runs
  LEFT JOIN kernels ON kernels.id = runs.kernel
  LEFT JOIN instances ON instances.id = runs.instance
 ORDER BY runs.sequence DESC;

-- Finished runs, the longest first.
CREATE VIEW slowest_runs AS
SELECT (ended_at - started_at) / 1000000.0 AS ran_s,
       cpu_ms / 1000.0 AS cpu_s,
       task,
       number,
       caller,
       status,
       code,
       strftime('%Y-%m-%dT%H:%M:%S', started_at / 1000000, 'unixepoch')
         || printf('.%06dZ', started_at % 1000000) AS started,
       id AS run
  FROM runs
 WHERE ended_at IS NOT NULL AND started_at IS NOT NULL
 ORDER BY ended_at - started_at DESC;

-- What goes wrong, and how often, the most frequent first.
CREATE VIEW failures_by_error AS
SELECT status,
       error ->> 'ename' AS error,
       count(*) AS runs,
       count(DISTINCT task) AS tasks,
       strftime('%Y-%m-%dT%H:%M:%S', min(ended_at) / 1000000, 'unixepoch')
         || printf('.%06dZ', min(ended_at) % 1000000) AS first,
       strftime('%Y-%m-%dT%H:%M:%S', max(ended_at) / 1000000, 'unixepoch')
         || printf('.%06dZ', max(ended_at) % 1000000) AS last,
       max(error ->> 'evalue') AS example,
       max(id) AS last_run
  FROM runs
 WHERE status NOT IN ('queued', 'running', 'ok')
 GROUP BY status, error ->> 'ename'
 ORDER BY runs DESC;

-- Kernel lives that nobody asked to end, newest first.
CREATE VIEW kernel_deaths AS
SELECT strftime('%Y-%m-%dT%H:%M:%S', ended_at / 1000000, 'unixepoch')
         || printf('.%06dZ', ended_at % 1000000) AS ended,
       task,
       generation,
       CASE ending
         WHEN 'exit' THEN 'ended by itself'
         WHEN 'signal' THEN 'killed by a signal'
         WHEN 'oom' THEN 'killed at the memory limit'
         WHEN 'killed' THEN 'killed: it did not answer an interrupt'
         WHEN 'start' THEN 'never became ready'
         WHEN 'vanished' THEN 'ended while nobody watched'
       END AS death,
       exit_code,
       signal,
       reason,
       (ended_at - started_at) / 1000000.0 AS lived_s,
       memory_peak,
       memory_limit,
       (SELECT count(*) FROM runs WHERE kernel = kernels.id) AS runs,
       (SELECT id FROM runs WHERE kernel = kernels.id
         ORDER BY sequence DESC LIMIT 1) AS last_run,
       (SELECT code FROM runs WHERE kernel = kernels.id
         ORDER BY sequence DESC LIMIT 1) AS last_code,
       id AS kernel
  FROM kernels
 WHERE ending IN ('exit', 'signal', 'oom', 'killed', 'start', 'vanished')
 ORDER BY ended_at DESC;

-- What each task has used, the busiest first.
CREATE VIEW usage_by_task AS
SELECT task,
       count(*) AS runs,
       sum(status = 'ok') AS ok,
       sum(status NOT IN ('queued', 'running', 'ok')) AS failed,
       count(DISTINCT caller) AS callers,
       sum(ended_at - started_at) / 1000000.0 AS ran_s,
       sum(cpu_ms) / 1000.0 AS cpu_s,
       max(memory_peak_bytes) AS memory_peak_bytes,
       sum(output_bytes) AS output_bytes,
       (SELECT coalesce(sum(bytes), 0) FROM artifacts
         WHERE artifacts.task = runs.task) AS artifact_bytes,
       (SELECT count(*) FROM kernels WHERE kernels.task = runs.task) AS kernels,
       strftime('%Y-%m-%dT%H:%M:%S', min(queued_at) / 1000000, 'unixepoch')
         || printf('.%06dZ', min(queued_at) % 1000000) AS first,
       strftime('%Y-%m-%dT%H:%M:%S', max(queued_at) / 1000000, 'unixepoch')
         || printf('.%06dZ', max(queued_at) % 1000000) AS last
  FROM runs
 GROUP BY task
 ORDER BY ran_s DESC;

-- What each day (UTC) has seen, newest first.
CREATE VIEW usage_by_day AS
SELECT date(queued_at / 1000000, 'unixepoch') AS day,
       count(*) AS runs,
       sum(status = 'ok') AS ok,
       sum(status NOT IN ('queued', 'running', 'ok')) AS failed,
       count(DISTINCT task) AS tasks,
       count(DISTINCT caller) AS callers,
       sum(ended_at - started_at) / 1000000.0 AS ran_s,
       sum(cpu_ms) / 1000.0 AS cpu_s,
       sum(output_bytes) AS output_bytes
  FROM runs
 GROUP BY day
 ORDER BY day DESC;

-- Rich outputs by their type, the largest share first.
CREATE VIEW artifacts_by_type AS
SELECT mime,
       count(*) AS artifacts,
       sum(bytes) AS bytes,
       max(bytes) AS largest_bytes,
       count(DISTINCT task) AS tasks,
       sum((SELECT count(*) FROM run_artifacts WHERE artifact = artifacts.id))
         AS uses
  FROM artifacts
 GROUP BY mime
 ORDER BY bytes DESC;

-- What was done that is no run, newest first.
CREATE VIEW journal_by_time AS
SELECT strftime('%Y-%m-%dT%H:%M:%S', journal.at / 1000000, 'unixepoch')
         || printf('.%06dZ', journal.at % 1000000) AS at,
       journal.kind,
       journal.task,
       journal.caller,
       journal.address,
       journal.content,
       tokens.name AS token,
       journal.request_id
  FROM journal LEFT JOIN tokens ON tokens.id = journal.token
 ORDER BY journal.id DESC;

-- Tokens and what they are good for; whoever reads this learns none.
CREATE VIEW token_overview AS
SELECT name,
       tenant,
       hint,
       scopes,
       tasks,
       limits,
       CASE WHEN revoked_at IS NOT NULL THEN 'revoked'
            WHEN expires_at <= unixepoch() * 1000000 THEN 'expired'
            ELSE 'good' END AS state,
       strftime('%Y-%m-%dT%H:%M:%SZ', created_at / 1000000, 'unixepoch')
         AS created,
       created_by,
       strftime('%Y-%m-%dT%H:%M:%SZ', expires_at / 1000000, 'unixepoch')
         AS expires,
       strftime('%Y-%m-%dT%H:%M:%SZ', rotated_at / 1000000, 'unixepoch')
         AS rotated,
       strftime('%Y-%m-%dT%H:%M:%SZ', revoked_at / 1000000, 'unixepoch')
         AS revoked,
       strftime('%Y-%m-%dT%H:%M:%SZ', last_used_at / 1000000, 'unixepoch')
         AS last_used
  FROM tokens;
