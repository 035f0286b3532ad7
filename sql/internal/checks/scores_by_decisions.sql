-- finds: a final score of the Prisoner's Dilemma that is not the sum of the rounds' points
-- severity: contradiction
-- systems: magic
-- by: game
SELECT game_id, seat, final_score, sum(payoff) AS derived
FROM players
INNER JOIN decisions USING (game_id, seat)
WHERE players.is_finished
GROUP BY game_id, seat, final_score
HAVING count(*) = count(payoff) AND abs(final_score - sum(payoff)) > 1e-6
