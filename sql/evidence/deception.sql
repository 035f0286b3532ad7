-- row: one result, compared with how its game ended, or with the guess and the secret word
SELECT
    attempts.*,
    CASE WHEN side = 'hidden' THEN endings.ending ELSE guessed_words.guessed_words END
        AS compared_with
FROM attempts
LEFT JOIN shared.endings
    ON endings.game_id = attempts.game_id
LEFT JOIN shared.guessed_words
    ON guessed_words.game_id = attempts.game_id
