-- finds: ingests that ended before they began: the clock of the machine was set back meanwhile
-- severity: warning
-- by: lake
SELECT ingest_id, started_at, finished_at
FROM ingests
WHERE started_at > finished_at
