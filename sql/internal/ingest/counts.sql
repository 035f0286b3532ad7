-- Number and bytes of the documents by status; how many of them do not name their model and are known by
-- bytes that an earlier ingest assigned a model to; the votes of new games that only a text states, and how
-- many of them are undecided; and how many duplicates are interchange JSON without a game index.
SELECT
    status,
    count(*) AS n_documents,
    CAST(sum(n_bytes) AS BIGINT) AS n_bytes,
    count(*) FILTER (found = 'known' AND assigned_model IS NOT NULL) AS n_known_by_content,
    CAST(sum(n_read_votes) FILTER (is_chosen) AS BIGINT) AS n_read_votes,
    CAST(sum(n_undecided_votes) FILTER (is_chosen) AS BIGINT) AS n_undecided_votes,
    count(*) FILTER (
        status = 'duplicate' AND found = 'game' AND format = 'interchange'
        AND stated_index IS NULL
    ) AS n_unnumbered
FROM resolved
GROUP BY status
