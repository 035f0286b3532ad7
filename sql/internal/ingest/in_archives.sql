-- Of ${documents} those that are in one of ${archives} as the same ingest saw it, with its number.
-- A file of lines has a prefix that ends in `#`, then comes the line's number; a file beside it can be called
-- `a.jsonl#x.json`, or `a.jsonl#1`, which is passed over. Any other prefix ends in `/`, or is empty where the
-- archive is the source, and what is in the archive comes after it in the order of paths.
WITH lines AS (
    SELECT *, regexp_extract(path, '(?s)^(.*#)[0-9]+\z', 1) AS prefix
    FROM ${documents}
    WHERE sha256 IS NOT NULL OR status = 'quarantined'
),
members AS (
    SELECT documents.*, archives.prefix, archives.number
    FROM ${documents} AS documents
    ASOF JOIN (FROM ${archives} WHERE NOT ends_with(prefix, '#')) AS archives
        ON documents.ingest_id = archives.ingest_id
        AND documents.source = archives.source
        AND documents.path >= archives.prefix
)
SELECT lines.* EXCLUDE (prefix), archives.number
FROM lines
INNER JOIN (FROM ${archives} WHERE ends_with(prefix, '#')) AS archives
    ON lines.ingest_id = archives.ingest_id
    AND lines.source = archives.source
    AND lines.prefix = archives.prefix
UNION ALL BY NAME
SELECT * EXCLUDE (prefix) FROM members WHERE starts_with(path, prefix)
