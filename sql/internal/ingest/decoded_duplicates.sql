-- The decoded documents whose game is not added from them, because it is added from another document or the
-- lake has it already.
SELECT documents.source_order
FROM scanned_documents AS documents
ANTI JOIN first_documents_of_new_games AS first_documents
    ON documents.source_order = first_documents.source_order
WHERE documents.status_alone = 'game'
