-- finds: games of the Public Good with the same setting, but different growth of the pool
-- severity: contradiction
-- systems: magic
-- by: lake
-- Shares of the pool are proportional to it, in a setting by the same factor. A PGM game pays the
-- last round's contributions without putting them into the pool.
WITH paid AS (
    SELECT game_id, seat, any_value(final_score) + sum(amount) AS held, count(*) AS n_rounds
    FROM players
    INNER JOIN contributions USING (game_id, seat)
    WHERE players.is_finished
    GROUP BY game_id, seat
    HAVING count(*) = count(amount)
),
shared AS (SELECT game_id, min(held) AS held, max(held) AS most FROM paid GROUP BY game_id),
pools AS (
    SELECT game_id, sum(amount) AS pool
    FROM contributions
    INNER JOIN games USING (game_id)
    WHERE format_version <> 'pgm' OR contributions.round < games.n_rounds
    GROUP BY game_id
)
SELECT
    setting_id,
    n_players,
    min((held - 100) / pool) AS least,
    max((held - 100) / pool) AS most,
    count(*) AS n_games
FROM games
INNER JOIN shared USING (game_id)
INNER JOIN pools USING (game_id)
WHERE most - held <= 1e-6 AND pool > 0
GROUP BY setting_id, n_players
HAVING max((held - 100) / pool) - min((held - 100) / pool) > 1e-6
