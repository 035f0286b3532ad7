-- The quarantine rows of the scanned documents after this ingest, including rows that earlier ingests
-- stored, without the bytes.
SELECT kept_rows.*
FROM kept_quarantine_rows AS kept_rows
SEMI JOIN documents_with_status AS documents
    ON kept_rows.location = documents.location
    AND kept_rows.sha256 IS NOT DISTINCT FROM documents.sha256
UNION ALL BY NAME
SELECT CAST(${ingest_id} AS BIGINT) AS ingest_id, * FROM new_errors
