-- order: 8
-- title: acts of players who had left the game
-- metric: judgement
-- row: one vote, ability or text in the game of a player who leaves it
-- severity: contradiction
-- needs: eliminations
WITH actions AS (
    SELECT game_id, seat, round, message_index, 'a vote' AS act, TRUE AS is_vote FROM votes
    UNION ALL
    SELECT game_id, seat, round, message_index, kind, FALSE FROM abilities
    UNION ALL
    SELECT game_id, seat, round, message_index, phase, FALSE
    FROM messages
    WHERE phase IN ('talk', 'whisper', 'clue')
),
actions_of_eliminated AS (
    SELECT
        eliminations.*,
        actions.round AS act_round,
        actions.message_index AS act_index,
        act,
        -- A player may have acted earlier in the round in which it leaves. Only for votes is the order known.
        actions.round > eliminations.round
            OR (
                is_vote
                AND actions.round = eliminations.round
                AND (is_before_vote OR actions.message_index > eliminations.message_index)
            ) AS is_after
    FROM actions
    JOIN eliminations
        ON eliminations.game_id = actions.game_id
        AND eliminations.seat = actions.seat
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
FROM actions_of_eliminated
