-- The decoded documents whose game is not read from them, because another document holds it or the lake has
-- it.
SELECT seen.source_order
FROM seen
ANTI JOIN chosen_documents ON seen.source_order = chosen_documents.source_order
WHERE seen.found = 'game'
