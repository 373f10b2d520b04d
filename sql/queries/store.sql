-- name: begin
BEGIN IMMEDIATE;

-- name: commit
COMMIT;

-- name: rollback
ROLLBACK;

-- name: schema_objects
SELECT type, name, sql FROM sqlite_schema
 WHERE sql IS NOT NULL AND type IN ('table', 'index', 'trigger');

-- name: schema_object
SELECT sql FROM sqlite_schema WHERE type = :type AND name = :name;

-- name: schema_views
SELECT name FROM sqlite_schema WHERE type = 'view';

-- name: meta_get
SELECT value FROM meta WHERE name = :name;

-- name: meta_set
INSERT INTO meta (name, value) VALUES (:name, :value)
ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: instance_start
INSERT INTO instances (id, program, pid, pid_start, started_at)
VALUES (:id, :program, :pid, :pid_start, :started_at);

-- name: instance_end
UPDATE instances SET ended_at = :ended_at
 WHERE id = :id AND ended_at IS NULL;
