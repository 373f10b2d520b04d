-- The registry and the history of Cellpost. sql/README.md tells every column.
-- Times are microseconds since 1970-01-01 UTC; NULL means unknown, none or not
-- yet. The views of sql/views.sql show all of it in words.

-- Facts about this database itself.
CREATE TABLE meta (
  name  TEXT NOT NULL PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- One row a process of ours (app or keeper) that started.
CREATE TABLE instances (
  id         TEXT NOT NULL PRIMARY KEY CHECK (id <> ''),
  program    TEXT NOT NULL,
  pid        INTEGER NOT NULL,
  pid_start  INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at   INTEGER
) STRICT, WITHOUT ROWID;

-- One row a task; a deleted one keeps its row.
CREATE TABLE tasks (
  id         TEXT NOT NULL PRIMARY KEY CHECK (length(id) BETWEEN 1 AND 128),
  kernelspec TEXT NOT NULL,
  settings   TEXT NOT NULL CHECK (json_type(settings) = 'object'),
  created_by TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  deleted_at INTEGER
) STRICT;

-- One row a kernel life. Written by the keeper alone.
CREATE TABLE kernels (
  id           TEXT NOT NULL PRIMARY KEY CHECK (length(id) = 36),
  task         TEXT NOT NULL REFERENCES tasks (id),
  generation   INTEGER NOT NULL CHECK (generation > 0),
  kernelspec   TEXT NOT NULL,
  pid          INTEGER,
  pid_start    INTEGER,
  directory    TEXT,
  started_at   INTEGER NOT NULL,
  ended_at     INTEGER,
  ending       TEXT CHECK (ending IN ('exit', 'signal', 'oom', 'stopped',
                 'restarted', 'killed', 'culled', 'start', 'vanished')),
  exit_code    INTEGER,
  signal       INTEGER,
  reason       TEXT,
  memory_peak  INTEGER,
  memory_limit INTEGER,
  UNIQUE (task, generation),
  CHECK ((ended_at IS NULL) = (ending IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX kernels_alive ON kernels (started_at) WHERE ended_at IS NULL;
CREATE INDEX kernels_ended ON kernels (ended_at) WHERE ended_at IS NOT NULL;

-- Exactly one row for each request that was accepted.
CREATE TABLE runs (
  sequence        INTEGER PRIMARY KEY,
  -- known when it is accepted; never changes
  id              TEXT NOT NULL UNIQUE CHECK (length(id) = 36),
  task            TEXT NOT NULL REFERENCES tasks (id),
  number          INTEGER NOT NULL CHECK (number > 0),
  code            TEXT NOT NULL,
  code_sha256     TEXT NOT NULL CHECK (length(code_sha256) = 64),
  section         TEXT,
  tags            TEXT CHECK (json_type(tags) = 'array'),
  silent          INTEGER NOT NULL CHECK (silent IN (0, 1)),
  caller          TEXT NOT NULL,
  address         TEXT,
  request_id      TEXT,
  idempotency_key TEXT,
  body_sha256     TEXT CHECK (length(body_sha256) = 64),
  instance        TEXT NOT NULL REFERENCES instances (id),
  timeout_ms      INTEGER CHECK (timeout_ms > 0),
  options         TEXT CHECK (options IS NULL OR json_valid(options)),
  queued_at       INTEGER NOT NULL,
  status          TEXT NOT NULL CHECK (status IN ('queued', 'running', 'ok',
                    'error', 'timeout', 'interrupted', 'cancelled',
                    'output_limit', 'oom', 'kernel_died', 'lost', 'not_run')),
  -- somebody asked for its end
  cancel_requested_at INTEGER,
  cancel_requested_by TEXT,
  -- known when it starts
  started_at      INTEGER,
  kernel          TEXT REFERENCES kernels (id),
  generation      INTEGER,
  kernel_state    TEXT CHECK (kernel_state IN ('kept', 'fresh', 'lost')),
  kernel_reason   TEXT,
  cell            TEXT,
  -- known when it ends; never changes after
  ended_at        INTEGER,
  end_number      INTEGER CHECK (end_number > 0),
  execution_count INTEGER,
  error           TEXT CHECK (json_type(error) = 'object'),
  text            TEXT,
  files           TEXT CHECK (json_type(files) = 'array'),
  truncated       TEXT CHECK (truncated IS NULL OR json_valid(truncated)),
  images          TEXT CHECK (json_type(images) = 'array'),
  notes           TEXT CHECK (json_type(notes) = 'array'),
  late_told       TEXT CHECK (json_type(late_told) = 'array'),
  ended_by        TEXT,
  cpu_ms            INTEGER,
  memory_peak_bytes INTEGER,
  output_bytes      INTEGER,
  -- may grow after the end
  late_outputs    INTEGER NOT NULL DEFAULT 0,
  CHECK ((ended_at IS NULL) = (status IN ('queued', 'running'))),
  CHECK ((ended_at IS NULL) = (end_number IS NULL)),
  CHECK (idempotency_key IS NULL OR body_sha256 IS NOT NULL)
) STRICT;
-- What was not run may be asked for again with its key.
CREATE UNIQUE INDEX runs_by_idempotency_key ON runs (task, idempotency_key)
  WHERE idempotency_key IS NOT NULL AND status <> 'not_run';
CREATE INDEX runs_by_task ON runs (task);
CREATE INDEX runs_open ON runs (task) WHERE ended_at IS NULL;
CREATE INDEX runs_by_kernel ON runs (kernel) WHERE kernel IS NOT NULL;
CREATE INDEX runs_by_task_and_end ON runs (task, status)
  WHERE ended_at IS NOT NULL;
CREATE INDEX runs_failed ON runs (status)
  WHERE status NOT IN ('queued', 'running', 'ok');

-- What a run gave out, one row an nbformat output.
CREATE TABLE outputs (
  run        INTEGER NOT NULL REFERENCES runs (sequence) ON DELETE CASCADE,
  position   INTEGER NOT NULL CHECK (position >= 0),
  kind       TEXT NOT NULL,
  content    TEXT NOT NULL CHECK (json_valid(content)),
  sha256     TEXT NOT NULL CHECK (length(sha256) = 64),
  late       INTEGER NOT NULL CHECK (late IN (0, 1)),
  added_at   INTEGER NOT NULL,
  revised_at INTEGER,
  -- as it was before the first revision: what sha256 is of
  first_content TEXT CHECK (first_content IS NULL OR json_valid(first_content)),
  PRIMARY KEY (run, position)
) STRICT;

-- Rich outputs stored as files beneath a task's artifacts/, each once.
CREATE TABLE artifacts (
  id         INTEGER PRIMARY KEY,
  task       TEXT NOT NULL REFERENCES tasks (id),
  name       TEXT NOT NULL CHECK (name <> ''),
  sha256     TEXT NOT NULL CHECK (length(sha256) = 64),
  mime       TEXT NOT NULL,
  bytes      INTEGER NOT NULL CHECK (bytes >= 0),
  width      INTEGER,
  height     INTEGER,
  created_at INTEGER NOT NULL,
  UNIQUE (task, name)
) STRICT;

-- Which output of which run is which artifact; output -1 is the full text.
CREATE TABLE run_artifacts (
  run      INTEGER NOT NULL REFERENCES runs (sequence) ON DELETE CASCADE,
  output   INTEGER NOT NULL CHECK (output >= -1),
  artifact INTEGER NOT NULL REFERENCES artifacts (id),
  PRIMARY KEY (run, output, artifact)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_artifacts_by_artifact ON run_artifacts (artifact);

-- Displays with an id, so that a later update finds its output.
CREATE TABLE displays (
  kernel     TEXT NOT NULL,
  display_id TEXT NOT NULL,
  run        INTEGER NOT NULL REFERENCES runs (sequence) ON DELETE CASCADE,
  position   INTEGER NOT NULL CHECK (position >= 0),
  PRIMARY KEY (kernel, display_id, run, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX displays_by_run ON displays (run);

-- The log behind the live feed. An id is never given twice, so that a reader can
-- resume after any id: the newest row stays (see the triggers), and the next one
-- counts on from it.
CREATE TABLE events (
  id      INTEGER PRIMARY KEY,
  at      INTEGER NOT NULL,
  task    TEXT,
  run     TEXT,
  kind    TEXT NOT NULL CHECK (kind GLOB '?*.?*'),
  content TEXT NOT NULL CHECK (json_valid(content))
) STRICT;
CREATE INDEX events_by_task ON events (task);

-- The integrity chain: one row a finished run, in the order of the ends within
-- the task. It stays when retention removes the run; then it tells when and why.
CREATE TABLE chain (
  task        TEXT NOT NULL,
  end_number  INTEGER NOT NULL CHECK (end_number > 0),
  run         TEXT NOT NULL,
  hash        TEXT NOT NULL CHECK (length(hash) = 64),
  removed_at  INTEGER,
  removed_why TEXT,
  PRIMARY KEY (task, end_number),
  CHECK ((removed_at IS NULL) = (removed_why IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX chain_removed ON chain (run) WHERE removed_at IS NOT NULL;

-- The history is append-only. These refuse, also in a plain sqlite3 shell.
CREATE TRIGGER runs_keep_their_identity
  BEFORE UPDATE OF sequence, id, task, number, code, code_sha256, section, tags,
    silent, caller, address, request_id, idempotency_key, body_sha256, instance,
    timeout_ms, options, queued_at ON runs
BEGIN
  SELECT raise(ABORT, 'what a run was asked to do cannot be changed');
END;
CREATE TRIGGER runs_end_once
  BEFORE UPDATE OF status, cancel_requested_at, cancel_requested_by, started_at,
    kernel, generation, kernel_state, kernel_reason, cell, ended_at, end_number,
    execution_count, error, text, files, truncated, images, notes, late_told,
    ended_by, cpu_ms, memory_peak_bytes, output_bytes ON runs
  WHEN OLD.ended_at IS NOT NULL
BEGIN
  SELECT raise(ABORT, 'a finished run cannot be changed');
END;
CREATE TRIGGER runs_late_outputs_grow
  BEFORE UPDATE OF late_outputs ON runs
  WHEN NEW.late_outputs < OLD.late_outputs
BEGIN
  SELECT raise(ABORT, 'late outputs cannot be taken back');
END;
CREATE TRIGGER runs_are_removed_by_retention
  BEFORE DELETE ON runs
  WHEN NOT EXISTS (SELECT 1 FROM chain
                    WHERE task = OLD.task AND end_number = OLD.end_number
                      AND removed_at IS NOT NULL)
BEGIN
  SELECT raise(ABORT, 'a run is removed by retention only');
END;
-- Its number counts on, and lists show its status.
CREATE TRIGGER runs_keep_the_newest
  BEFORE DELETE ON runs
  WHEN NOT EXISTS (SELECT 1 FROM runs
                    WHERE task = OLD.task AND sequence > OLD.sequence)
BEGIN
  SELECT raise(ABORT, 'the newest run of a task cannot be removed');
END;
CREATE TRIGGER outputs_keep_their_identity
  BEFORE UPDATE OF run, position, kind, sha256, late, added_at ON outputs
BEGIN
  SELECT raise(ABORT, 'an output can be revised, not replaced');
END;
CREATE TRIGGER outputs_tell_their_revision
  BEFORE UPDATE OF content ON outputs
  WHEN NEW.revised_at IS NULL
BEGIN
  SELECT raise(ABORT, 'a revised output tells when');
END;
CREATE TRIGGER outputs_keep_their_first_content
  BEFORE UPDATE OF content, first_content ON outputs
  WHEN NEW.first_content IS NOT coalesce(OLD.first_content, OLD.content)
BEGIN
  SELECT raise(ABORT, 'a revised output keeps what it was first');
END;
CREATE TRIGGER outputs_go_with_their_run
  BEFORE DELETE ON outputs
  WHEN EXISTS (SELECT 1 FROM runs WHERE sequence = OLD.run)
BEGIN
  SELECT raise(ABORT, 'an output is removed with its run only');
END;
CREATE TRIGGER kernels_end_once
  BEFORE UPDATE ON kernels
  WHEN OLD.ended_at IS NOT NULL
BEGIN
  SELECT raise(ABORT, 'an ended kernel life cannot be changed');
END;
CREATE TRIGGER kernels_keep_their_identity
  BEFORE UPDATE OF id, task, generation, kernelspec, started_at ON kernels
BEGIN
  SELECT raise(ABORT, 'a kernel life cannot become another');
END;
CREATE TRIGGER kernels_stay
  BEFORE DELETE ON kernels
BEGIN
  SELECT raise(ABORT, 'a kernel life cannot be removed');
END;
CREATE TRIGGER events_stay_as_written
  BEFORE UPDATE ON events
BEGIN
  SELECT raise(ABORT, 'an event cannot be changed');
END;
CREATE TRIGGER events_keep_the_newest
  BEFORE DELETE ON events
  WHEN NOT EXISTS (SELECT 1 FROM events WHERE id > OLD.id)
BEGIN
  SELECT raise(ABORT, 'the newest event cannot be removed');
END;
CREATE TRIGGER chain_stays_as_written
  BEFORE UPDATE OF task, end_number, run, hash ON chain
BEGIN
  SELECT raise(ABORT, 'the chain cannot be changed');
END;
CREATE TRIGGER chain_remembers_removals
  BEFORE UPDATE OF removed_at, removed_why ON chain
  WHEN OLD.removed_at IS NOT NULL
BEGIN
  SELECT raise(ABORT, 'a removal cannot be taken back');
END;
CREATE TRIGGER chain_stays
  BEFORE DELETE ON chain
BEGIN
  SELECT raise(ABORT, 'the chain cannot be cut');
END;
