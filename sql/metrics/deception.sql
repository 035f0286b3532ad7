-- metric: deception
-- title: Deception
-- place: 4
-- edition: paper
-- row: what one finished game came to for one tested side
-- combine: sum
-- term: hidden_wins | 1 | chameleon, undercover
-- term: wrong_guesses | 0.25 | chameleon
-- range: 0..1.25
-- source: arXiv 2311.08562, S_D = n_wuc / n_uc + 0.25 n_wcg / n_cg
SELECT
    *,
    CASE WHEN side = 'hidden' THEN 'hidden_wins' ELSE 'wrong_guesses' END AS term,
    CASE
        WHEN side = 'hidden' THEN CASE WHEN is_win THEN 'won' ELSE 'lost' END
        WHEN guess_is_correct THEN 'guessed right'
        ELSE 'guessed wrong'
    END AS what,
    CAST(CASE WHEN side = 'hidden' THEN is_win ELSE NOT guess_is_correct END AS DOUBLE) AS hit,
    parse_status <> 'outage'
        AND CASE WHEN side = 'hidden' THEN is_win ELSE guess_is_correct END IS NOT NULL
        AS is_counted
FROM results
WHERE is_tested
    AND is_finished
    AND (
        (side = 'hidden' AND game_type IN ('chameleon', 'undercover'))
        OR (side = 'civilian' AND game_type = 'chameleon')
    )
