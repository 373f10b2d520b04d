-- Sandboxes of the E2B interface.

-- name: sandbox_insert
INSERT INTO sandboxes (task, template, metadata, started_at, ends_at)
VALUES (:task, :template, coalesce(:metadata, '{}'), :started_at, :ends_at);

-- name: sandbox_get
SELECT * FROM sandboxes WHERE task = :task AND ended_at IS NULL;

-- name: sandbox_list
SELECT * FROM sandboxes
 WHERE ended_at IS NULL AND task > coalesce(:after, '')
 ORDER BY task LIMIT :limit;

-- name: sandbox_prolong
UPDATE sandboxes SET ends_at = :ends_at
 WHERE task = :task AND ended_at IS NULL;

-- name: sandbox_end
UPDATE sandboxes SET ended_at = :ended_at
 WHERE task = :task AND ended_at IS NULL;

-- name: sandbox_next
-- The one that ends first.
SELECT * FROM sandboxes WHERE ended_at IS NULL ORDER BY ends_at LIMIT 1;
