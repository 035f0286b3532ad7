-- row: one game in which the secret word was guessed
-- column: guessed_words | the guesses in their order, and the secret word
SELECT
    game_id,
    'guessed ' || string_agg(coalesce(guess, 'nothing'), ', ' ORDER BY round, seat)
    || ', the word: ' || min(secret) AS guessed_words
FROM guesses
GROUP BY game_id
