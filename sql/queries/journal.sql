-- name: journal_last_hash
SELECT hash FROM journal ORDER BY id DESC LIMIT 1;

-- name: journal_insert
INSERT INTO journal (at, kind, task, caller, token, address, request_id, content,
                     hash)
VALUES (:at, :kind, :task, :caller, :token, :address, :request_id,
        coalesce(:content, '{}'), :hash);

-- name: journal_list
SELECT * FROM journal WHERE id > :after ORDER BY id LIMIT :limit;
