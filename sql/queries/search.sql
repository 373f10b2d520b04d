-- What an audit asks for: any conditions together, and figures by the hour.

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
 ORDER BY sequence DESC LIMIT :limit;

-- name: run_hours
-- The percentiles by nearest rank, of the runs that started and ended.
WITH chosen AS (
  SELECT queued_at / 3600000000 AS hour, ended_at - started_at AS ran,
         status NOT IN ('queued', 'running', 'ok', 'cancelled') AS failed
    FROM runs
   WHERE sequence >= :from AND sequence < :before
     AND queued_at >= :since AND queued_at < :until),
ranked AS (
  SELECT hour, ran, failed,
         row_number() OVER (PARTITION BY hour ORDER BY ran NULLS LAST) AS place,
         count(ran) OVER (PARTITION BY hour) AS timed
    FROM chosen)
SELECT hour * 3600000000 AS at, count(*) AS runs, sum(failed) AS failed,
       min(ran) FILTER (WHERE place * 100 >= timed * 50) AS median_us,
       min(ran) FILTER (WHERE place * 100 >= timed * 95) AS p95_us
  FROM ranked
 GROUP BY hour
 ORDER BY hour;

-- name: run_hours_task
WITH chosen AS (
  SELECT queued_at / 3600000000 AS hour, ended_at - started_at AS ran,
         status NOT IN ('queued', 'running', 'ok', 'cancelled') AS failed
    FROM runs
   WHERE task = :task
     AND sequence >= :from AND sequence < :before
     AND queued_at >= :since AND queued_at < :until),
ranked AS (
  SELECT hour, ran, failed,
         row_number() OVER (PARTITION BY hour ORDER BY ran NULLS LAST) AS place,
         count(ran) OVER (PARTITION BY hour) AS timed
    FROM chosen)
SELECT hour * 3600000000 AS at, count(*) AS runs, sum(failed) AS failed,
       min(ran) FILTER (WHERE place * 100 >= timed * 50) AS median_us,
       min(ran) FILTER (WHERE place * 100 >= timed * 95) AS p95_us
  FROM ranked
 GROUP BY hour
 ORDER BY hour;
