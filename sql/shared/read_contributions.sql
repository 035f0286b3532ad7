-- row: one contribution, with what MAgIC's engine would read in its answer without the thoughts
-- source: docs/audit.md, "The edition `audited`"
-- column: amount_read | the amount as the answer alone states it, where the engine read a text that holds thoughts
-- column: least_amount | the least of these amounts in the round
-- column: is_least_read | whether it is the least of a round with such a text, as `is_least` in others; null if an amount is missing
-- column: text | the text of the contribution's message, null if the log has none
-- column: is_read | whether the amount is read from the text anew, since it holds thoughts
WITH answers AS (
    SELECT game_id, message_index, answer
    FROM shared.answers
    WHERE has_thoughts
        AND phase = 'contribution'
),
amounts AS (
    SELECT
        contributions.*,
        games.n_players,
        answers.answer IS NOT NULL AND contributions.system IN ('magic', 'chatarena') AS is_read,
        CASE
            WHEN answers.answer IS NULL OR contributions.system NOT IN ('magic', 'chatarena')
                THEN amount
            WHEN games.format_version = 'pgm'
                THEN CAST(
                    nullif(regexp_extract(answers.answer, 'I contribute ([0-9]+)', 1), '') AS DOUBLE
                )
            ELSE CAST(nullif(regexp_extract(answers.answer, '\b([0-9]+)\b', 1), '') AS DOUBLE)
        END AS amount_read
    FROM contributions
    JOIN games
        ON games.game_id = contributions.game_id
    LEFT JOIN answers
        ON answers.game_id = contributions.game_id
        AND answers.message_index = contributions.message_index
),
rounds AS (
    SELECT
        game_id,
        round,
        bool_or(is_read) AS is_read,
        min(amount_read) AS least_amount,
        count(amount_read) = max(n_players) AS is_whole
    FROM amounts
    GROUP BY game_id, round
)
SELECT
    amounts.*,
    rounds.least_amount,
    CASE
        WHEN NOT rounds.is_read THEN is_least
        -- A round with a missing contribution has no lowest amount.
        WHEN rounds.is_whole THEN amount_read = rounds.least_amount
    END AS is_least_read
FROM amounts
JOIN rounds
    ON rounds.game_id = amounts.game_id
    AND rounds.round = amounts.round
