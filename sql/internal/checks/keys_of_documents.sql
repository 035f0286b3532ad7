-- finds: a document that one ingest recorded twice for the same source and path
-- severity: error
-- by: location
SELECT ingest_id, source, path, count(*) AS n_rows
FROM documents
GROUP BY ingest_id, source, path
HAVING count(*) > 1
