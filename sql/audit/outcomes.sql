-- order: 2
-- title: outcomes that do not follow from the logged votes
-- metric: win_rate
-- row: the result of one finished game with a hidden role for one tested side
WITH tally AS (
    SELECT game_id, target, count(*) AS n_votes
    FROM votes
    WHERE target IS NOT NULL
    GROUP BY game_id, target
),
most AS (
    SELECT game_id, max(n_votes) AS n_votes
    FROM tally
    GROUP BY game_id
),
voted AS (
    SELECT
        tally.game_id,
        CASE
            WHEN count(*) > 1 THEN 'tie'
            WHEN count(hidden.player) > 0 THEN 'caught'
            ELSE 'voted_wrong'
        END AS outcome
    FROM tally
    JOIN most
        ON most.game_id = tally.game_id
        AND most.n_votes = tally.n_votes
    LEFT JOIN players AS hidden
        ON hidden.side = 'hidden'
        AND hidden.game_id = tally.game_id
        AND hidden.player = tally.target
    GROUP BY tally.game_id
),
counted AS (
    SELECT
        results.*,
        CASE
            WHEN games.outcome IN ('guessed_wrong', 'guessed_right') THEN 'caught'
            ELSE games.outcome
        END AS logged,
        voted.outcome AS says
    FROM results
    JOIN games
        ON games.game_id = results.game_id
    JOIN voted
        ON voted.game_id = results.game_id
    WHERE results.is_tested
        AND results.is_finished
        AND results.system IN ('magic', 'chatarena')
),
judged AS (
    SELECT
        counted.*,
        CASE
            WHEN win_credit IS NULL OR logged IS NOT DISTINCT FROM says THEN win_credit
            WHEN says = 'voted_wrong' THEN CAST(side = 'hidden' AS DOUBLE)
            WHEN says = 'tie' AND game_type = 'chameleon' THEN CAST(0.5 AS DOUBLE)
            WHEN says = 'tie' AND side = 'hidden' THEN 2e0 / 3
            WHEN says = 'tie' THEN 1e0 / 3
            -- What a chameleon would have guessed, nobody knows.
            WHEN game_type = 'undercover' THEN CAST(side <> 'hidden' AS DOUBLE)
        END AS hit_read
    FROM counted
)
SELECT
    game_id,
    player,
    seat,
    model,
    role,
    round,
    message_index,
    logged,
    says,
    logged IS DISTINCT FROM says AS is_found,
    CASE WHEN hit_read IS NOT NULL THEN win_credit END AS hit_logged,
    hit_read
FROM judged
