-- order: 7
-- title: players who left against the votes, or after the game was decided
-- metric: win_rate
-- row: one player who left a game
-- severity: contradiction
-- needs: eliminations
WITH tally AS (
    SELECT
        game_id,
        round,
        target_seat AS seat,
        count(*) FILTER (WHERE target_seat IS NULL OR is_valid OR target_seat = votes.seat) AS n
    FROM votes
    WHERE game_id IN (SELECT game_id FROM eliminations)
    GROUP BY game_id, round, target_seat
),
polled AS (
    SELECT
        game_id,
        round,
        max(n) FILTER (WHERE seat IS NOT NULL) AS most,
        coalesce(sum(n) FILTER (WHERE seat IS NULL), 0) AS n_unnamed
    FROM tally
    GROUP BY game_id, round
),
-- Of each side, how many were left before a round.
sides AS (
    SELECT
        players.game_id,
        coalesce(eliminations.round, -1) AS round,
        count(*) FILTER (WHERE is_sought) AS n_sought,
        count(*) FILTER (WHERE NOT is_sought) AS n_others,
        eliminations.seat IS NOT NULL AS is_out
    FROM players
    JOIN roles
        ON roles.game_type = players.game_type
        AND roles.role = players.role
    LEFT JOIN eliminations
        ON eliminations.game_id = players.game_id
        AND eliminations.seat = players.seat
    WHERE players.game_id IN (SELECT game_id FROM eliminations)
        AND players.game_type IN ('undercover', 'werewolf')
    GROUP BY ALL
),
left_before AS (
    SELECT
        game_id,
        round,
        sum(n_sought) OVER its_game - coalesce(sum(n_sought) FILTER (WHERE is_out) OVER before, 0)
            AS n_sought,
        sum(n_others) OVER its_game - coalesce(sum(n_others) FILTER (WHERE is_out) OVER before, 0)
            AS n_others
    FROM sides
    WINDOW
        its_game AS (PARTITION BY game_id),
        before AS (PARTITION BY game_id ORDER BY round ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
),
compared AS (
    SELECT
        eliminations.*,
        CASE
            WHEN n_sought = 0 OR n_sought >= n_others
                THEN 'left are ' || n_sought || ' of those sought, ' || n_others || ' others'
            -- In another game, an execution need not follow a vote.
            WHEN (cause IN ('vote', 'exile') OR cause = 'execution' AND eliminations.game_type = 'werewolf')
                AND coalesce(tally.n, 0) + n_unnamed < most
                THEN coalesce(tally.n, 0) || ' votes, of ' || most || ' for another'
            WHEN cause IN ('attack', 'night') AND eliminations.role = 'werewolf'
                THEN 'a werewolf, who attack others'
        END AS says
    FROM eliminations
    LEFT JOIN left_before
        ON left_before.game_id = eliminations.game_id
        AND left_before.round = eliminations.round
    LEFT JOIN polled
        ON polled.game_id = eliminations.game_id
        AND polled.round = eliminations.round
    LEFT JOIN tally
        ON tally.game_id = eliminations.game_id
        AND tally.round = eliminations.round
        AND tally.seat = eliminations.seat
)
SELECT
    game_id,
    player,
    seat,
    model,
    role,
    round,
    message_index,
    'out by ' || cause AS logged,
    says,
    says IS NOT NULL AS is_found,
    CAST(NULL AS DOUBLE) AS hit_logged,
    CAST(NULL AS DOUBLE) AS hit_read
FROM compared
