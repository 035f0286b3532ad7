-- The rows that this ingest adds to the table `quarantine`, with the bytes of the documents.
SELECT CAST(${ingest_id} AS BIGINT) AS ingest_id, errors.* EXCLUDE (location)
FROM reported_errors AS errors
SEMI JOIN new_errors
    ON errors.location = new_errors.location
    AND errors.sha256 IS NOT DISTINCT FROM new_errors.sha256
