-- The reasons for which documents were ignored, the most frequent first, each with its first document.
SELECT reason, count(*) AS n_documents, arg_min(location, source_order) AS example
FROM resolved
WHERE status = 'ignored'
GROUP BY reason
ORDER BY n_documents DESC, reason
LIMIT 10
