-- The rows that an ingest adds to the quarantine, with the bytes.
SELECT CAST(${ingest_id} AS BIGINT) AS ingest_id, whole.* EXCLUDE (location)
FROM faults_with_raw AS whole
SEMI JOIN new_faults
    ON whole.location = new_faults.location AND whole.sha256 IS NOT DISTINCT FROM new_faults.sha256
