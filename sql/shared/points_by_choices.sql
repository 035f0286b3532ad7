-- row: one seat of a finished Prisoner's Dilemma
-- column: points | what its choices bring by the setting; where that does not say, what the log paid
-- column: paid | what the log paid in all rounds; both are null if some of it is unknown
WITH rounds AS (
    SELECT game_id, round, count(*) AS n, count(*) FILTER (WHERE choice = 'defect') AS n_defectors
    FROM decisions
    WHERE is_finished
    GROUP BY game_id, round
),
points_by_round AS (
    SELECT
        decisions.game_id,
        seat,
        payoff AS paid,
        CASE
            WHEN n <> n_players THEN NULL
            WHEN n_defectors = 0 THEN payoff_cooperate
            WHEN n_defectors = n_players THEN payoff_defect
            WHEN choice = 'defect' AND n_defectors = 1 THEN payoff_one_defect
            WHEN choice = 'defect' AND n_defectors = 2 THEN payoff_two_defect
            -- No setting states the points of a player who cooperates while others defect.
            WHEN choice = 'cooperate' AND decisions.system = 'magic' THEN 0
        END AS points_due
    FROM decisions
    JOIN rounds
        ON rounds.game_id = decisions.game_id
        AND rounds.round = decisions.round
    JOIN games
        ON games.game_id = decisions.game_id
)
SELECT
    game_id,
    seat,
    CASE
        WHEN count(*) = count(coalesce(points_due, paid)) THEN sum(coalesce(points_due, paid))
    END AS points,
    CASE WHEN count(*) = count(paid) THEN sum(paid) END AS paid
FROM points_by_round
GROUP BY game_id, seat
