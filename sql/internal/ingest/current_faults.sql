-- The quarantine rows of the documents that were seen, also from earlier ingests, without the bytes.
SELECT staying.*
FROM staying
SEMI JOIN resolved
    ON staying.location = resolved.location AND staying.sha256 IS NOT DISTINCT FROM resolved.sha256
UNION ALL BY NAME
SELECT CAST(${ingest_id} AS BIGINT) AS ingest_id, * FROM new_faults
