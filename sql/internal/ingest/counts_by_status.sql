-- The number and size of the documents with each status. `n_known_by_content` counts documents that name no
-- model, but to which an earlier ingest assigned one. `n_read_votes` counts the votes of new games that only
-- a text states, and `n_undecided_votes` those among them whose text is not decisive. `n_unnumbered` counts
-- the duplicates in interchange JSON that does not number its games.
SELECT
    status,
    count(*) AS n_documents,
    CAST(sum(n_bytes) AS BIGINT) AS n_bytes,
    count(*) FILTER (
        status_alone = 'known' AND assigned_model IS NOT NULL
    ) AS n_known_by_content,
    CAST(sum(n_read_votes) FILTER (is_game_added) AS BIGINT) AS n_read_votes,
    CAST(sum(n_undecided_votes) FILTER (is_game_added) AS BIGINT) AS n_undecided_votes,
    count(*) FILTER (
        status = 'duplicate' AND status_alone = 'game' AND format = 'interchange'
        AND stated_index IS NULL
    ) AS n_unnumbered
FROM documents_with_status
GROUP BY status
