-- Why documents were ignored, the most frequent reasons first, each with the first of its documents.
SELECT reason, count(*) AS n_documents, arg_min(location, source_order) AS example
FROM resolved
WHERE status = 'ignored'
GROUP BY reason
ORDER BY n_documents DESC, reason
LIMIT 10
