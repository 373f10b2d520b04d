-- name: event_append
INSERT INTO events (at, task, run, kind, content)
VALUES (:at, :task, :run, :kind, coalesce(:content, '{}'));

-- name: event_list
SELECT * FROM events WHERE id > :after AND id <= :last ORDER BY id LIMIT :limit;

-- name: event_list_task
SELECT * FROM events
 WHERE task = :task AND id > :after AND id <= :last
 ORDER BY id LIMIT :limit;

-- name: event_bounds
-- Two look-ups, not a walk over all.
SELECT (SELECT min(id) FROM events) AS oldest,
       (SELECT max(id) FROM events) AS newest;
