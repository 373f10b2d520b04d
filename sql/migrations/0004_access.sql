-- Who may do what. A token is found by the SHA-256 of its text, which is shown
-- once and stands nowhere. The row stays when it is revoked: the history names it.
CREATE TABLE tokens (
  id         INTEGER PRIMARY KEY,
  name       TEXT NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 64),
  tenant     TEXT NOT NULL CHECK (length(tenant) BETWEEN 1 AND 64),
  hash       TEXT NOT NULL UNIQUE CHECK (length(hash) = 64),
  hint       TEXT NOT NULL,
  scopes     TEXT NOT NULL CHECK (scopes <> ''),
  tasks      TEXT NOT NULL CHECK (tasks <> ''),
  limits     TEXT NOT NULL CHECK (json_type(limits) = 'object'),
  created_at INTEGER NOT NULL,
  created_by TEXT NOT NULL,
  expires_at INTEGER,
  -- the text before the last rotation, while it is still taken
  rotated_at          INTEGER,
  previous_hash       TEXT UNIQUE CHECK (length(previous_hash) = 64),
  previous_expires_at INTEGER,
  revoked_at   INTEGER,
  last_used_at INTEGER, -- to the hour
  CHECK ((previous_hash IS NULL) = (previous_expires_at IS NULL))
) STRICT;

-- Browsers that have logged in, by the SHA-256 of their cookie. A session lasts
-- as long as the text of the token that it was opened with.
CREATE TABLE sessions (
  hash       TEXT NOT NULL PRIMARY KEY CHECK (length(hash) = 64),
  token      INTEGER NOT NULL REFERENCES tokens (id),
  token_hash TEXT NOT NULL CHECK (length(token_hash) = 64),
  address    TEXT,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What links are signed with.
CREATE TABLE link_keys (
  id         INTEGER PRIMARY KEY,
  key        TEXT NOT NULL CHECK (length(key) = 64),
  created_at INTEGER NOT NULL,
  retired_at INTEGER
) STRICT;

-- What was done that is no run: one row each, chained by their hashes.
CREATE TABLE journal (
  id         INTEGER PRIMARY KEY,
  at         INTEGER NOT NULL,
  kind       TEXT NOT NULL CHECK (kind GLOB '?*.?*'),
  task       TEXT,
  caller     TEXT NOT NULL,
  token      INTEGER REFERENCES tokens (id),
  address    TEXT,
  request_id TEXT,
  content    TEXT NOT NULL CHECK (json_type(content) = 'object'),
  hash       TEXT NOT NULL CHECK (length(hash) = 64)
) STRICT;
CREATE INDEX journal_by_task ON journal (task) WHERE task IS NOT NULL;

CREATE TRIGGER tokens_keep_their_identity
  BEFORE UPDATE OF id, name, tenant, created_at, created_by ON tokens
BEGIN
  SELECT raise(ABORT, 'a token cannot become another');
END;
CREATE TRIGGER tokens_stay_revoked
  BEFORE UPDATE ON tokens
  WHEN OLD.revoked_at IS NOT NULL
BEGIN
  SELECT raise(ABORT, 'a revoked token cannot be changed');
END;
CREATE TRIGGER tokens_stay
  BEFORE DELETE ON tokens
BEGIN
  SELECT raise(ABORT, 'a token is revoked, not removed: the history names it');
END;
CREATE TRIGGER journal_stays_as_written
  BEFORE UPDATE ON journal
BEGIN
  SELECT raise(ABORT, 'the journal cannot be changed');
END;
CREATE TRIGGER journal_stays
  BEFORE DELETE ON journal
BEGIN
  SELECT raise(ABORT, 'the journal cannot be cut');
END;
