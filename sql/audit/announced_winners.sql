-- order: 4
-- title: announced winners that contradict the log's result
-- metric: win_rate
-- row: the result of one finished game with a hidden role for one tested side
-- needs: messages
WITH closing_messages AS (
    SELECT
        results.*,
        messages.content,
        -- Names are enclosed in blanks, so that Player 1 is not found in Player 10.
        regexp_replace(
            regexp_extract(messages.content, '(\[[^\]]*\]|Player [0-9]+) (won|wins)', 1),
            '[^A-Za-z0-9_]+',
            '  ',
            'g'
        ) AS winners
    FROM results
    JOIN messages
        ON messages.game_id = results.game_id
        AND messages.message_index = results.message_index
    WHERE results.is_tested
        AND results.is_finished
        AND results.system IN ('magic', 'chatarena')
        AND messages.phase = 'moderation'
        -- This filter avoids unpacking the moderator's messages of other games, which are most.
        AND messages.game_type IN ('chameleon', 'undercover')
        AND results.game_type IN ('chameleon', 'undercover')
),
hidden_players AS (
    SELECT game_id, min(player) AS player
    FROM players
    WHERE side = 'hidden'
    GROUP BY game_id
),
announced_results AS (
    SELECT
        closing_messages.*,
        -- The hidden player loses only if it is caught and does not guess the word.
        CASE WHEN outcome_code = 0 THEN 'civilian' ELSE 'hidden' END AS logged,
        CASE
            WHEN winners = '' THEN NULL
            WHEN contains(
                '  ' || winners || '  ',
                '  ' || regexp_replace(hidden_players.player, '[^A-Za-z0-9_]+', '  ', 'g') || '  '
            ) THEN 'hidden'
            ELSE 'civilian'
        END AS says
    FROM closing_messages
    JOIN hidden_players
        ON hidden_players.game_id = closing_messages.game_id
)
SELECT
    game_id,
    player,
    seat,
    model,
    role,
    round,
    message_index,
    logged,
    says,
    says IS NOT NULL AND says <> logged AS is_found,
    win_credit AS hit_logged,
    CASE
        WHEN says IS NOT NULL AND says <> logged THEN CAST(side = says AS DOUBLE)
        ELSE win_credit
    END AS hit_read
FROM announced_results
