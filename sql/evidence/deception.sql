-- row: one result, compared with how its game ended, or with the guess and the secret word
SELECT
    attempts.*,
    CASE WHEN side = 'hidden' THEN of_endings.ending ELSE of_guessed_words.guessed_words END
        AS compared_with
FROM attempts
LEFT JOIN shared.endings AS of_endings
    ON of_endings.game_id = attempts.game_id
LEFT JOIN shared.guessed_words AS of_guessed_words
    ON of_guessed_words.game_id = attempts.game_id
