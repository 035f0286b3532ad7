-- How many documents have each status, their bytes, and how many of them do not name their model and are known
-- by bytes that were given one before.
SELECT
    status,
    count(*) AS n_documents,
    CAST(sum(n_bytes) AS BIGINT) AS n_bytes,
    count(*) FILTER (found = 'known' AND assigned_model IS NOT NULL) AS n_known_by_content
FROM resolved
GROUP BY status
