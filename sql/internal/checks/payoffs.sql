-- finds: a round of the Prisoner's Dilemma whose points do not follow from its choices
-- severity: contradiction
-- systems: magic
-- by: game
WITH paid AS (
    SELECT
        game_id,
        round,
        count(*) FILTER (WHERE choice = 'defect') AS n_defectors,
        min(payoff) FILTER (WHERE choice = 'defect') AS defector_least,
        max(payoff) FILTER (WHERE choice = 'defect') AS defector_most,
        min(payoff) FILTER (WHERE choice = 'cooperate') AS cooperator_least,
        max(payoff) FILTER (WHERE choice = 'cooperate') AS cooperator_most
    FROM decisions
    WHERE payoff IS NOT NULL
    GROUP BY game_id, round
),
-- What a game pays for so many defectors it pays in each of its rounds.
compared AS (
    SELECT
        *,
        min(defector_least) OVER same AS defector_ever,
        min(cooperator_least) OVER same AS cooperator_ever
    FROM paid
    WINDOW same AS (PARTITION BY game_id, n_defectors)
)
SELECT
    game_id,
    round,
    n_defectors,
    cooperator_least,
    cooperator_most,
    defector_least,
    defector_most
FROM compared
WHERE defector_most <> defector_ever
    OR cooperator_most <> cooperator_ever
    OR (n_defectors > 0 AND (cooperator_least <> 0 OR cooperator_most <> 0))
