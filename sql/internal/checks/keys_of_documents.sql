-- finds: a document that one ingest saw twice at the same place
-- severity: error
-- by: place
SELECT ingest_id, source, path, count(*) AS n_rows
FROM documents
GROUP BY ingest_id, source, path
HAVING count(*) > 1
