-- metric: deception
-- title: Deception
-- order: 4
-- edition: paper
-- row: the result of one finished game for one tested side
-- value: wins / games on the hidden side + 0.25 * wrong guesses / guesses on the civilian side
-- range: 0..1.25
-- source: arXiv 2311.08562, S_D = n_wuc / n_uc + 0.25 n_wcg / n_cg
WITH attempts AS (
    SELECT
        *,
        CASE WHEN side = 'hidden' THEN 'hidden_wins' ELSE 'wrong_guesses' END AS term,
        CASE
            WHEN side = 'hidden' THEN CASE WHEN is_win THEN 'won' WHEN NOT is_win THEN 'lost' END
            WHEN guess_is_correct THEN 'guessed right'
            WHEN NOT guess_is_correct THEN 'guessed wrong'
        END AS what,
        CAST(CASE WHEN side = 'hidden' THEN is_win ELSE NOT guess_is_correct END AS DOUBLE) AS hit,
        parse_status <> 'outage'
            AND (side <> 'hidden' OR is_win IS NOT NULL)
            AS is_counted
    FROM results
    WHERE is_tested
        AND is_finished
        AND (
            side = 'hidden'
            OR (side = 'civilian' AND game_type = 'chameleon' AND guess_is_correct IS NOT NULL)
        )
),
counted AS (
    SELECT
        *,
        -- A word is guessed only in Chameleon.
        system IN (SELECT system FROM shared.played WHERE game_type = 'chameleon') AS has_guesses
    FROM attempts
    WHERE is_counted
)
SELECT
    system,
    model,
    coalesce(game_type, 'all') AS game_type,
    avg(hit) FILTER (WHERE term = 'hidden_wins')
        + CASE
            WHEN game_type <> 'chameleon' OR NOT bool_or(has_guesses) THEN 0
            ELSE 0.25 * avg(hit) FILTER (WHERE term = 'wrong_guesses')
        END AS value,
    CASE WHEN game_type <> 'chameleon' OR NOT bool_or(has_guesses) THEN sum(hit) END AS hits,
    CASE WHEN game_type <> 'chameleon' OR NOT bool_or(has_guesses) THEN count(*) END AS counted,
    count(DISTINCT game_id) AS n_games
FROM counted
GROUP BY GROUPING SETS ((system, model, game_type), (system, model))
