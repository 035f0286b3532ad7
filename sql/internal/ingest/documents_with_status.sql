-- Every scanned document with its final game and status. `scanned_game_id` is the game's id by the document
-- alone; `is_game_added` says that the lake gets the game from this document, and `is_known_game_missing`
-- that the document was skipped because the lake had its game, but the lake has lost it since.
WITH documents_with_game AS (
    SELECT
        documents.* RENAME (game_id AS scanned_game_id),
        documents.status_alone = 'game' AND decoded_duplicates.source_order IS NULL AS is_game_added,
        CASE
            WHEN documents.status_alone NOT IN ('game', 'known') THEN NULL
            WHEN documents.game_index IS NULL THEN games_of_bytes.game_id
            ELSE documents.game_id
        END AS game_id
    FROM scanned_documents AS documents
    LEFT JOIN decoded_duplicates
        ON documents.status_alone = 'game'
        AND documents.source_order = decoded_duplicates.source_order
    LEFT JOIN games_of_unindexed_documents AS games_of_bytes
        ON documents.game_index IS NULL
        AND documents.sha256 = games_of_bytes.sha256
        AND documents.assigned_model IS NOT DISTINCT FROM games_of_bytes.assigned_model
)
SELECT
    documents.* REPLACE (coalesce(documents.format, lake_games.format) AS format),
    documents.status_alone = 'known'
        AND lake_games.game_id IS NULL
        AND (documents.game_index IS NOT NULL OR documents.game_id IS NULL) AS is_known_game_missing,
    CASE
        WHEN documents.game_id IS NULL THEN documents.status_alone
        WHEN previous_games.game_id = documents.game_id THEN 'unchanged'
        WHEN NOT documents.is_game_added THEN 'duplicate'
        WHEN previous_games.game_id IS NOT NULL THEN 'replacing'
        ELSE 'ingested'
    END AS status
FROM documents_with_game AS documents
LEFT JOIN previous_games_by_location AS previous_games
    ON documents.game_id IS NOT NULL
    AND previous_games.is_for_comparison
    AND documents.location = previous_games.location
LEFT JOIN lake_games
    ON documents.status_alone = 'known' AND documents.game_id = lake_games.game_id
