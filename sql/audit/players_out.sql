-- order: 7
-- title: players who left against the votes, or after the game was decided
-- metric: win_rate
-- row: one player who left a game
-- severity: contradiction
-- needs: eliminations
WITH votes_by_target AS (
    SELECT
        game_id,
        round,
        target_seat AS seat,
        count(*) FILTER (WHERE target_seat IS NULL OR is_valid OR target_seat = votes.seat) AS n
    FROM votes
    WHERE game_id IN (SELECT game_id FROM eliminations)
    GROUP BY game_id, round, target_seat
),
vote_totals AS (
    SELECT
        game_id,
        round,
        max(n) FILTER (WHERE seat IS NOT NULL) AS most,
        coalesce(sum(n) FILTER (WHERE seat IS NULL), 0) AS n_unnamed
    FROM votes_by_target
    GROUP BY game_id, round
),
-- How many players of each side were left before a round.
side_counts AS (
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
    FROM side_counts
    WINDOW
        its_game AS (PARTITION BY game_id),
        before AS (PARTITION BY game_id ORDER BY round ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
),
checked_eliminations AS (
    SELECT
        eliminations.*,
        CASE
            WHEN n_sought = 0 OR n_sought >= n_others
                THEN 'left are ' || n_sought || ' of those sought, ' || n_others || ' others'
            -- In other games, an execution does not always follow a vote.
            WHEN (cause IN ('vote', 'exile') OR cause = 'execution' AND eliminations.game_type = 'werewolf')
                AND coalesce(votes_by_target.n, 0) + n_unnamed < most
                THEN coalesce(votes_by_target.n, 0) || ' votes, of ' || most || ' for another'
            WHEN cause IN ('attack', 'night') AND eliminations.role = 'werewolf'
                THEN 'a werewolf, who attack others'
        END AS says
    FROM eliminations
    LEFT JOIN left_before
        ON left_before.game_id = eliminations.game_id
        AND left_before.round = eliminations.round
    LEFT JOIN vote_totals
        ON vote_totals.game_id = eliminations.game_id
        AND vote_totals.round = eliminations.round
    LEFT JOIN votes_by_target
        ON votes_by_target.game_id = eliminations.game_id
        AND votes_by_target.round = eliminations.round
        AND votes_by_target.seat = eliminations.seat
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
FROM checked_eliminations
