-- name: event_append
INSERT INTO events (at, task, run, kind, content)
VALUES (:at, :task, :run, :kind, coalesce(:content, '{}'));

-- name: event_list
SELECT * FROM events WHERE id > :after ORDER BY id LIMIT :limit;

-- name: event_list_task
SELECT * FROM events WHERE task = :task AND id > :after ORDER BY id LIMIT :limit;
