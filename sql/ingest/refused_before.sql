-- The documents recalled that were refused: what identifies them in the quarantine.
SELECT source, path, sha256
FROM recalled
WHERE status = 'quarantined'
