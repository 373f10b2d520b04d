-- name: output_insert
INSERT INTO outputs (run, position, kind, content, sha256, late, added_at)
VALUES (:run, :position, :kind, :content, :sha256, :late, :added_at);

-- name: output_list
SELECT content FROM outputs
 WHERE run = (SELECT sequence FROM runs WHERE id = :id)
 ORDER BY position;

-- name: output_list_first
-- As they were when the run ended.
SELECT coalesce(first_content, content) FROM outputs
 WHERE run = (SELECT sequence FROM runs WHERE id = :id) AND late = 0
 ORDER BY position;

-- name: output_get
SELECT content FROM outputs
 WHERE run = (SELECT sequence FROM runs WHERE id = :id)
   AND position = :position;

-- name: output_revise
UPDATE outputs
   SET content = :content, revised_at = :revised_at,
       first_content = coalesce(first_content, content)
 WHERE run = (SELECT sequence FROM runs WHERE id = :id)
   AND position = :position;

-- name: output_next_position
SELECT sequence, ended_at IS NOT NULL AS ended,
       (SELECT coalesce(max(position) + 1, 0) FROM outputs
         WHERE run = runs.sequence) AS position,
       kernel
  FROM runs WHERE id = :id;

-- name: run_count_late
UPDATE runs SET late_outputs = late_outputs + :count WHERE sequence = :run;

-- name: run_event_late
INSERT INTO events (at, task, run, kind, content)
SELECT :at, task, id, 'run.late',
       json_object('position', :position, 'outputs', json(:outputs))
  FROM runs WHERE sequence = :run;

-- name: display_insert
INSERT OR IGNORE INTO displays (kernel, display_id, run, position)
VALUES (:kernel, :display_id, :run, :position);

-- name: display_find
-- cell_position: in the notebook, where a late stream goes on in the stream that
-- is before it.
  WITH joined AS MATERIALIZED (
       SELECT later.run, later.position
         FROM outputs AS later
         JOIN outputs AS former ON former.run = later.run
                               AND former.position = later.position - 1
        WHERE later.run IN (SELECT run FROM displays
                             WHERE kernel = :kernel AND display_id = :display_id)
          AND later.late = 1
          AND later.kind = 'stream' AND former.kind = 'stream'
          AND later.content ->> '$.name' = former.content ->> '$.name'
     )
SELECT runs.id AS run, displays.position,
       displays.position - (SELECT count(*) FROM joined
                             WHERE joined.run = displays.run
                               AND joined.position < displays.position)
         AS cell_position
  FROM displays JOIN runs ON runs.sequence = displays.run
 WHERE displays.kernel = :kernel AND displays.display_id = :display_id
   AND runs.task = :task
 ORDER BY displays.run, displays.position;

-- name: unwritten_add
INSERT INTO unwritten (run, since)
SELECT sequence, :at FROM runs WHERE id = :id AND cell IS NOT NULL
    ON CONFLICT (run) DO NOTHING;

-- name: unwritten_add_lost
-- A run that is closed after its leader's death may be in the notebook although
-- its start is not in the registry.
INSERT INTO unwritten (run, since)
SELECT sequence, :at FROM runs WHERE id = :id AND NOT silent
    ON CONFLICT (run) DO NOTHING;

-- name: unwritten_remove
DELETE FROM unwritten
 WHERE run = (SELECT sequence FROM runs WHERE id = :id);

-- name: unwritten_list
SELECT runs.id, runs.task, runs.status FROM unwritten
  JOIN runs ON runs.sequence = unwritten.run
 ORDER BY unwritten.run;

-- name: unwritten_has
SELECT 1 FROM unwritten
 WHERE run = (SELECT sequence FROM runs WHERE id = :id);
