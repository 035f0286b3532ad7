-- The rows of ${documents} that are in one of ${archives}, with the archive's number. An archive contains
-- only documents of the same ingest.
--
-- The prefix of a file of lines ends in `#`, and the number of the line follows it. Other files beside it can
-- be called `a.jsonl#x.json`, or `a.jsonl#1`, which is ignored. Any other prefix ends in `/`, or is empty if
-- the archive is the source; the documents of the archive follow the prefix in the order of the paths.
WITH line_documents AS (
    SELECT *, regexp_extract(path, '(?s)^(.*#)[0-9]+\z', 1) AS prefix
    FROM ${documents}
    WHERE sha256 IS NOT NULL OR status = 'quarantined'
),
archive_members AS (
    SELECT documents.*, archives.prefix, archives.archive_number
    FROM ${documents} AS documents
    ASOF JOIN (FROM ${archives} WHERE NOT ends_with(prefix, '#')) AS archives
        ON documents.ingest_id = archives.ingest_id
        AND documents.source = archives.source
        AND documents.path >= archives.prefix
)
SELECT line_documents.* EXCLUDE (prefix), archives.archive_number
FROM line_documents
INNER JOIN (FROM ${archives} WHERE ends_with(prefix, '#')) AS archives
    ON line_documents.ingest_id = archives.ingest_id
    AND line_documents.source = archives.source
    AND line_documents.prefix = archives.prefix
UNION ALL BY NAME
SELECT * EXCLUDE (prefix) FROM archive_members WHERE starts_with(path, prefix)
