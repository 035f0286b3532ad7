-- The ten most frequent reasons why documents were ignored, each with its first document.
SELECT reason, count(*) AS n_documents, arg_min(location, source_order) AS example
FROM documents_with_status
WHERE status = 'ignored'
GROUP BY reason
ORDER BY n_documents DESC, reason
LIMIT 10
