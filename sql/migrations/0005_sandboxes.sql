-- Tasks that were made as E2B sandboxes: they end by themselves.
CREATE TABLE sandboxes (
  task       TEXT NOT NULL PRIMARY KEY REFERENCES tasks (id),
  template   TEXT NOT NULL,
  metadata   TEXT NOT NULL CHECK (json_type(metadata) = 'object'),
  started_at INTEGER NOT NULL,
  ends_at    INTEGER NOT NULL,
  ended_at   INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX sandboxes_alive ON sandboxes (ends_at) WHERE ended_at IS NULL;
