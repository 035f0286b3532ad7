-- The quarantine rows, with the bytes, of the quarantined documents in the archives that are not read again.
SELECT quarantine.* EXCLUDE (ingest_id)
FROM quarantine
SEMI JOIN (FROM skipped_documents WHERE status = 'quarantined') AS quarantined_documents
    ON quarantine.source = quarantined_documents.source
    AND quarantine.path = quarantined_documents.path
    AND quarantine.sha256 = quarantined_documents.sha256
WHERE quarantine.game_id IS NULL
