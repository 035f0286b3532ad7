-- finds: a guess of the secret word that contradicts the outcome or the result
-- severity: contradiction
-- systems: magic, chatarena
-- by: game
SELECT
    game_id,
    games.outcome,
    guesses.is_correct,
    guesses.parse_status,
    results.guess_is_correct
FROM games
LEFT JOIN guesses USING (game_id)
LEFT JOIN results USING (game_id)
WHERE games.game_type = 'chameleon'
    AND games.outcome IS NOT NULL
    AND (
        (games.outcome IN ('guessed_wrong', 'guessed_right')) <> (guesses.game_id IS NOT NULL)
        OR guesses.is_correct <> (games.outcome = 'guessed_right')
        OR results.guess_is_correct
            IS DISTINCT FROM CASE
                WHEN guesses.parse_status <> 'outage' THEN guesses.is_correct
            END
    )
