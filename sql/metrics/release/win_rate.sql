-- metric: win_rate
-- title: Win Rate
-- place: 1
-- edition: release
-- row: what one game came to for one tested side
-- combine: sum
-- term: chameleon_as_chameleon | 1e0 / 7 | chameleon | least(num_of_game, 20)
-- term: chameleon_as_non_chameleon | 1e0 / 7 | chameleon | least(num_of_game, 20)
-- term: undercover_as_undercover | 1e0 / 7 | undercover | least(num_of_game, 20)
-- term: undercover_as_civilian | 1e0 / 7 | undercover | least(num_of_game, 20)
-- term: cost_sharing | 1e0 / 7 | cost_sharing
-- term: prisoners_dilemma | 1e0 / 7 | prisoners_dilemma
-- term: public_good | 1e0 / 7 | public_good
-- range: 0..1.03
-- unknown: {} games have the number of another game: the script is for one run
-- source: metrics_release.py: seven scores, the first four over 20 games however many there are
SELECT
    results.*,
    competition AS term,
    CASE
        WHEN win_credit = 1 THEN 'won'
        WHEN win_credit = 0 THEN 'lost'
        WHEN win_credit > 0 THEN 'shared'
    END AS what,
    -- The script reads a run: one file for each number. Over several, its fixed 20 games mean nothing.
    CASE
        WHEN game_type NOT IN ('chameleon', 'undercover')
            OR min(game_id) OVER (PARTITION BY model, competition, game_index)
                = max(game_id) OVER (PARTITION BY model, competition, game_index)
            THEN coalesce(win_credit, CAST(0 AS DOUBLE))
    END AS hit,
    TRUE AS is_counted
FROM results
CROSS JOIN release_parameters
WHERE is_tested
    AND game_index < num_of_game
