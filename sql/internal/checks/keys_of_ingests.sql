-- finds: ingests that are not numbered 1, 2, 3 and so on
-- severity: error
-- by: lake
SELECT ingest_id, number, started_at, finished_at
FROM (SELECT *, row_number() OVER (ORDER BY ingest_id) AS number FROM ingests) AS numbered
WHERE ingest_id <> number
