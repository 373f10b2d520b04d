-- Runs whose late outputs or updates stand here, but perhaps not yet in the
-- notebook: a process that is killed between the two leaves a row behind.
CREATE TABLE unwritten (
  run      INTEGER NOT NULL PRIMARY KEY
             REFERENCES runs (sequence) ON DELETE CASCADE,
  since    INTEGER NOT NULL
) STRICT;
