-- order: 8
-- title: acts of players who had left the game
-- metric: judgement
-- row: one vote, ability or text in the game of a player who leaves it
-- severity: contradiction
-- needs: eliminations
WITH acts AS (
    SELECT game_id, seat, round, message_index, 'a vote' AS act, TRUE AS is_vote FROM votes
    UNION ALL
    SELECT game_id, seat, round, message_index, kind, FALSE FROM abilities
    UNION ALL
    SELECT game_id, seat, round, message_index, phase, FALSE
    FROM messages
    WHERE phase IN ('talk', 'whisper', 'clue')
),
compared AS (
    SELECT
        eliminations.*,
        acts.round AS act_round,
        acts.message_index AS act_index,
        act,
        -- Whoever leaves may have acted in that round before: only its votes have their place in it.
        acts.round > eliminations.round
            OR (
                is_vote
                AND acts.round = eliminations.round
                AND (is_before_vote OR acts.message_index > eliminations.message_index)
            ) AS is_after
    FROM acts
    JOIN eliminations
        ON eliminations.game_id = acts.game_id
        AND eliminations.seat = acts.seat
)
SELECT
    game_id,
    player,
    seat,
    model,
    role,
    act_round AS round,
    act_index AS message_index,
    act AS logged,
    CASE WHEN is_after THEN 'out since round ' || round || ' by ' || cause END AS says,
    coalesce(is_after, FALSE) AS is_found,
    CAST(NULL AS DOUBLE) AS hit_logged,
    CAST(NULL AS DOUBLE) AS hit_read
FROM compared
