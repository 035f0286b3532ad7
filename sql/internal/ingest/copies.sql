-- The documents decoded whose game is not taken from them: another holds it, or the lake has it.
SELECT seen.source_order
FROM seen
ANTI JOIN chosen_documents ON seen.source_order = chosen_documents.source_order
WHERE seen.found = 'game'
