-- finds: an ingest that counted fewer documents than documents has of it, or other games
-- severity: error
-- by: lake
-- An unchanged document is counted by the ingest, but has no row.
WITH document_counts AS (
    SELECT
        ingest_id,
        count(*) AS documents,
        count(*) FILTER (WHERE status = 'ingested') AS ingested,
        count(*) FILTER (WHERE status = 'replacing') AS replacing,
        count(*) FILTER (WHERE status = 'unchanged') AS unchanged,
        count(*) FILTER (WHERE status = 'duplicate') AS duplicate,
        count(*) FILTER (WHERE status = 'quarantined') AS quarantined,
        count(*) FILTER (WHERE status = 'ignored') AS ignored
    FROM documents
    GROUP BY ingest_id
)
SELECT
    ingest_id,
    n_documents,
    n_ingested + n_replacing + n_unchanged + n_duplicate + n_quarantined + n_ignored AS n_summed,
    coalesce(documents, 0) AS n_rows
FROM ingests
FULL JOIN document_counts USING (ingest_id)
WHERE n_documents IS DISTINCT FROM n_summed
    OR n_ingested <> coalesce(ingested, 0)
    OR n_replacing <> coalesce(replacing, 0)
    OR n_duplicate <> coalesce(duplicate, 0)
    OR n_unchanged < coalesce(unchanged, 0)
    OR n_quarantined < coalesce(quarantined, 0)
    OR n_ignored < coalesce(ignored, 0)
