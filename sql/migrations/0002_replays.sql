-- One row a replay: the successful cells of a task's history, run again in a new
-- kernel to bring the variables back.
CREATE TABLE replays (
  id           TEXT NOT NULL PRIMARY KEY CHECK (length(id) = 36),
  task         TEXT NOT NULL REFERENCES tasks (id),
  asked_at     INTEGER NOT NULL,
  asked_by     TEXT NOT NULL,
  -- known when it starts
  instance     TEXT REFERENCES instances (id),
  kernel       TEXT REFERENCES kernels (id),
  started_at   INTEGER,
  cancel_requested_at INTEGER,
  -- known when it ends; never changes after
  ended_at     INTEGER,
  status       TEXT NOT NULL CHECK (status IN ('asked', 'running', 'complete',
                 'incomplete', 'cancelled', 'lost')),
  cells        INTEGER,
  same         INTEGER,
  different    INTEGER,
  failed       INTEGER,
  skipped      INTEGER,
  differences  TEXT CHECK (json_type(differences) = 'array'),
  CHECK ((ended_at IS NULL) = (status IN ('asked', 'running')))
) STRICT, WITHOUT ROWID;
CREATE INDEX replays_open ON replays (task, asked_at) WHERE ended_at IS NULL;
CREATE INDEX replays_by_kernel ON replays (kernel, asked_at)
  WHERE kernel IS NOT NULL;

CREATE TRIGGER replays_end_once
  BEFORE UPDATE ON replays
  WHEN OLD.ended_at IS NOT NULL
BEGIN
  SELECT raise(ABORT, 'an ended replay cannot be changed');
END;
CREATE TRIGGER replays_keep_their_identity
  BEFORE UPDATE OF id, task, asked_at, asked_by ON replays
BEGIN
  SELECT raise(ABORT, 'a replay cannot become another');
END;
CREATE TRIGGER replays_stay
  BEFORE DELETE ON replays
BEGIN
  SELECT raise(ABORT, 'a replay cannot be removed');
END;
