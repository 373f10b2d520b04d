-- What an auditor reads. Made anew at each opening when this text has changed.

-- One row a run, newest first.
CREATE VIEW audit AS
SELECT strftime('%Y-%m-%dT%H:%M:%S', queued_at / 1000000, 'unixepoch') ||
         printf('.%06dZ', queued_at % 1000000) AS accepted,
       task, number, caller, code, status, id AS run
  FROM runs
 ORDER BY sequence DESC;
