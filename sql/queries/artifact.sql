-- name: artifact_insert
INSERT INTO artifacts (task, name, sha256, mime, bytes, width, height, created_at)
VALUES (:task, :name, :sha256, :mime, :bytes, :width, :height, :created_at)
ON CONFLICT (task, name) DO NOTHING;

-- name: run_artifact_insert
INSERT OR IGNORE INTO run_artifacts (run, output, artifact)
SELECT :run, :output, id FROM artifacts WHERE task = :task AND name = :name;
