-- order: 6
-- title: games with rounds that they do not have, or in which not all decided
-- metric: win_rate
-- row: one finished game in which players acted
WITH actions AS (
    SELECT game_id, round, 0 AS is_due FROM votes WHERE is_finished
    UNION ALL
    SELECT game_id, round, 1 FROM decisions WHERE is_finished
    UNION ALL
    SELECT game_id, round, 1 FROM contributions WHERE is_finished
    UNION ALL
    SELECT game_id, round, 0 FROM proposals WHERE is_finished
    UNION ALL
    SELECT game_id, round, 0 FROM proposal_votes WHERE is_finished
    UNION ALL
    SELECT game_id, round, 0 FROM eliminations WHERE is_finished
    UNION ALL
    SELECT game_id, round, 0 FROM abilities WHERE is_finished
    UNION ALL
    SELECT game_id, round, 0 FROM team_proposals WHERE is_finished
    UNION ALL
    SELECT game_id, round, 0 FROM quest_plays WHERE is_finished
),
rounds AS (
    SELECT game_id, round, sum(is_due) AS n_due
    FROM actions
    GROUP BY game_id, round
),
games_played AS (
    SELECT
        rounds.game_id,
        any_value(game_type IN ('prisoners_dilemma', 'public_good')) AS is_of_points,
        any_value(coalesce(n_rounds_fixed, n_rounds)) AS n_rounds,
        any_value(n_rounds_fixed) AS n_rounds_fixed,
        any_value(n_players) AS n_players,
        max(round) AS last,
        max(round) - count(*) FILTER (WHERE round > 0) AS n_silent,
        min(round) FILTER (WHERE n_due <> n_players) AS incomplete,
        arg_min(n_due, round) FILTER (WHERE n_due <> n_players) AS n_due
    FROM rounds
    JOIN games
        ON games.game_id = rounds.game_id
    GROUP BY rounds.game_id
),
-- In rounds without actions, players may have spoken.
talk_rounds AS (
    SELECT games_played.game_id, count(DISTINCT messages.round) AS n_rounds
    FROM games_played
    JOIN messages
        ON messages.game_id = games_played.game_id
        AND messages.round > 0
        AND messages.round < games_played.last
    WHERE n_silent > 0
    GROUP BY games_played.game_id
),
checked_games AS (
    SELECT
        games_played.*,
        CASE
            WHEN last > games_played.n_rounds THEN last
            WHEN n_silent > coalesce(talk_rounds.n_rounds, 0) THEN last
            WHEN is_of_points AND incomplete IS NOT NULL THEN incomplete
            WHEN is_of_points AND last < n_rounds_fixed THEN last
        END AS round,
        CASE
            WHEN last > games_played.n_rounds THEN games_played.n_rounds || ' rounds'
            WHEN n_silent > coalesce(talk_rounds.n_rounds, 0)
                THEN 'nothing in ' || n_silent - coalesce(talk_rounds.n_rounds, 0) || ' rounds before'
            WHEN is_of_points AND incomplete IS NOT NULL
                THEN n_due || ' decisions of ' || n_players || ' players'
            WHEN is_of_points AND last < n_rounds_fixed THEN n_rounds_fixed || ' rounds'
        END AS says
    FROM games_played
    LEFT JOIN talk_rounds
        ON talk_rounds.game_id = games_played.game_id
)
SELECT
    game_id,
    CAST(NULL AS VARCHAR) AS player,
    CAST(NULL AS INTEGER) AS seat,
    CAST(NULL AS VARCHAR) AS model,
    CAST(NULL AS VARCHAR) AS role,
    round,
    CAST(NULL AS INTEGER) AS message_index,
    'round ' || coalesce(round, last) AS logged,
    says,
    says IS NOT NULL AS is_found,
    CAST(NULL AS DOUBLE) AS hit_logged,
    CAST(NULL AS DOUBLE) AS hit_read
FROM checked_games
