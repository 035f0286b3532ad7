-- The documents decoded of which none is read: another holds the same game, or the lake has it.
SELECT seen.source_order
FROM seen
ANTI JOIN chosen_documents ON seen.source_order = chosen_documents.source_order
WHERE seen.found = 'game'
