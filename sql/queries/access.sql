-- Tokens, sessions, keys of links.
--
-- Every statement that looks at many tasks takes :globs and :tenant and has this
-- condition. :globs is NULL for those who may see all; else a JSON array of
-- patterns; :tenant is NULL for those who have no tasks of their own.
--
--   (:globs IS NULL OR task IN (
--     SELECT tasks.id FROM tasks
--      WHERE EXISTS (SELECT 1 FROM json_each(:globs) WHERE tasks.id GLOB value)
--         OR EXISTS (SELECT 1 FROM tokens
--                     WHERE name = tasks.created_by AND tenant = :tenant)))

-- name: token_insert
INSERT INTO tokens (name, tenant, hash, hint, scopes, tasks, limits, created_at,
                    created_by, expires_at)
VALUES (:name, :tenant, :hash, :hint, :scopes, :tasks, coalesce(:limits, '{}'),
        :created_at, :created_by, :expires_at)
ON CONFLICT (name) DO NOTHING;

-- name: token_rotate
UPDATE tokens
   SET previous_hash = hash, previous_expires_at = :previous_expires_at,
       hash = :hash, hint = :hint, rotated_at = :rotated_at
 WHERE name = :name AND revoked_at IS NULL;

-- name: token_revoke
UPDATE tokens SET revoked_at = :revoked_at
 WHERE name = :name AND revoked_at IS NULL;

-- name: token_use
UPDATE tokens SET last_used_at = :last_used_at
 WHERE id = :id AND revoked_at IS NULL;

-- name: token_by_hash
SELECT * FROM tokens WHERE hash = :hash OR previous_hash = :hash;

-- name: token_by_name
SELECT * FROM tokens WHERE name = :name;

-- name: token_list
SELECT * FROM tokens ORDER BY id;

-- name: token_exists
SELECT EXISTS (SELECT 1 FROM tokens);

-- name: token_of_session
-- The row, and as `hash` the text's that the session was opened with.
SELECT tokens.*, sessions.token_hash AS session_hash FROM sessions
  JOIN tokens ON tokens.id = sessions.token
 WHERE sessions.hash = :hash AND sessions.expires_at > :now
   AND sessions.token_hash IN (tokens.hash, tokens.previous_hash);

-- name: session_insert
INSERT INTO sessions (hash, token, token_hash, address, created_at, expires_at)
VALUES (:hash, :token, :token_hash, :address, :created_at, :expires_at);

-- name: session_delete
DELETE FROM sessions WHERE hash = :hash;

-- name: session_expire
DELETE FROM sessions WHERE expires_at <= :now;

-- name: link_key_newest
SELECT id, key FROM link_keys WHERE retired_at IS NULL ORDER BY id DESC LIMIT 1;

-- name: link_key_get
SELECT id, key FROM link_keys WHERE id = :id AND retired_at IS NULL;

-- name: link_key_insert
INSERT INTO link_keys (key, created_at)
SELECT :key, :now
 WHERE NOT EXISTS (SELECT 1 FROM link_keys WHERE retired_at IS NULL);

-- name: task_tenant
-- Of a task's maker; of a deleted one, too.
SELECT id, (SELECT tenant FROM tokens WHERE name = tasks.created_by)
  FROM tasks WHERE id = :task;

-- name: run_tenant
-- Of the maker of a run's task.
SELECT tasks.id, (SELECT tenant FROM tokens WHERE name = tasks.created_by)
  FROM runs JOIN tasks ON tasks.id = runs.task
 WHERE runs.id = :run;

-- name: tenant_kernels
-- Kernels alive in tasks of a tenant, but for those of the tasks :but (JSON).
SELECT count(*) FROM kernels
  JOIN tasks ON tasks.id = kernels.task
  JOIN tokens ON tokens.name = tasks.created_by
 WHERE kernels.ended_at IS NULL AND tokens.tenant = :tenant
   AND kernels.task NOT IN (SELECT value FROM json_each(:but));

-- name: tenant_tasks
SELECT coalesce(json_group_array(tasks.id), '[]') FROM tasks
  JOIN tokens ON tokens.name = tasks.created_by
 WHERE tokens.tenant = :tenant;
