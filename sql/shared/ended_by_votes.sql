-- row: one finished Chameleon, or Undercover that nobody left, whose last votes or guess decide it
-- column: outcomes | the outcomes that are possible
-- The player with the most votes of the last round is voted out. No player is voted out twice. A missing
-- vote, or one that names nobody, may have been for any player.
WITH votes_by_target AS (
    SELECT
        game_id,
        round,
        target_seat AS seat,
        count(*) FILTER (WHERE is_valid OR target_seat = votes.seat) AS n
    FROM votes
    WHERE is_finished
        AND game_type IN ('chameleon', 'undercover')
    GROUP BY game_id, round, target_seat
),
ranked_targets AS (
    SELECT *, row_number() OVER (PARTITION BY game_id, round ORDER BY n DESC) AS place
    FROM votes_by_target
),
vote_totals AS (
    SELECT
        game_id,
        round,
        arg_max(seat, n) AS seat,
        max(n) AS most,
        coalesce(max(n) FILTER (WHERE place = 2), 0) AS second,
        sum(n) AS n_votes
    FROM ranked_targets
    GROUP BY game_id, round
),
final_round AS (
    SELECT
        game_id,
        max(round) AS round,
        arg_max(seat, round) AS seat,
        arg_max(most, round) AS most,
        arg_max(second, round) AS second,
        arg_max(n_votes, round) AS n_votes
    FROM vote_totals
    GROUP BY game_id
),
guess_results AS (
    SELECT game_id, bool_or(is_correct) AS is_right
    FROM guesses
    WHERE is_finished
    GROUP BY game_id
),
games_with_votes AS (
    SELECT
        players.game_id,
        players.game_type,
        any_value(most) AS most,
        any_value(second) AS second,
        count(*) - any_value(n_votes) - count(*) FILTER (
            WHERE eliminations.round + CAST(NOT is_before_vote AS INTEGER) <= final_round.round
        ) AS n_unknown,
        bool_or(players.side = 'hidden') FILTER (WHERE players.seat = final_round.seat) AS is_caught,
        any_value(is_right) AS is_right
    FROM players
    LEFT JOIN final_round
        ON final_round.game_id = players.game_id
    LEFT JOIN guess_results
        ON guess_results.game_id = players.game_id
    LEFT JOIN eliminations
        ON eliminations.game_id = players.game_id
        AND eliminations.seat = players.seat
    WHERE players.is_finished
        AND players.game_type IN ('chameleon', 'undercover')
    GROUP BY players.game_id, players.game_type
    -- Other games are decided by the players that left: see `ended_by_players_left`.
    HAVING players.game_type = 'chameleon' OR count(eliminations.seat) = 0
),
possible_results AS (
    SELECT
        *,
        most > second + n_unknown AS is_clear,
        most = second AND n_unknown = 0 AS is_tie,
        CASE
            WHEN is_right THEN ['guessed_right']
            WHEN NOT is_right THEN ['guessed_wrong']
            ELSE ['guessed_right', 'guessed_wrong']
        END AS guesses
    FROM games_with_votes
)
SELECT
    game_id,
    CASE
        WHEN is_tie THEN ['tie']
        WHEN is_clear AND NOT is_caught THEN ['voted_wrong']
        WHEN is_clear AND game_type = 'undercover' THEN ['caught']
        WHEN is_clear THEN guesses
        ELSE guesses || ['voted_wrong', 'tie']
    END || CASE
        WHEN game_type = 'undercover' AND (is_tie OR NOT is_caught) THEN ['parity', 'survived']
        ELSE []
    END AS outcomes
FROM possible_results
WHERE is_clear OR is_tie OR is_right IS NOT NULL
