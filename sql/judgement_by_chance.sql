-- row: the votes of one model that judgement counts, and how many of them chance alone would get right
-- column: value | judgement: hits / counted
-- column: hits | votes that name a player of a sought role
-- column: counted | votes that judgement counts
-- column: chance | what value a voter who names any other player still in the game can expect: expected / counted
-- column: expected | the hits to expect of such a voter: the sum over votes of sought players / players; null if a vote had nobody to name
WITH others AS (
    SELECT
        players.game_id,
        players.seat,
        coalesce(roles.is_sought, FALSE) AS is_sought,
        eliminations.round + CAST(NOT eliminations.is_before_vote AS INTEGER) AS first_without
    FROM players
    LEFT JOIN roles
        ON roles.game_type = players.game_type
        AND roles.role = players.role
    LEFT JOIN eliminations
        ON eliminations.game_id = players.game_id
        AND eliminations.seat = players.seat
),
votes_counted AS (
    SELECT
        counted.system,
        counted.model,
        counted.game_type,
        counted.game_id,
        counted.seat,
        counted.round,
        counted.hit,
        count(*) FILTER (WHERE others.is_sought) AS n_sought,
        count(others.seat) AS n_others
    FROM attempts.judgement AS counted
    LEFT JOIN others
        ON others.game_id = counted.game_id
        AND others.seat <> counted.seat
        AND coalesce(others.first_without > counted.round, TRUE)
    WHERE counted.is_counted
    GROUP BY ALL
),
-- Decimals are used because their sum does not depend on the order of the rows.
chances AS (
    SELECT
        *,
        CAST(n_sought / CAST(nullif(n_others, 0) AS DOUBLE) AS DECIMAL(38, 18)) AS chance
    FROM votes_counted
)
SELECT
    system,
    model,
    coalesce(game_type, 'all') AS game_type,
    sum(hit) / count(*) AS value,
    CASE WHEN count(chance) = count(*) THEN CAST(sum(chance) AS DOUBLE) / count(*) END AS chance,
    sum(hit) AS hits,
    CASE WHEN count(chance) = count(*) THEN CAST(sum(chance) AS DOUBLE) END AS expected,
    count(*) AS counted,
    count(DISTINCT game_id) AS n_games
FROM chances
GROUP BY GROUPING SETS ((system, model, game_type), (system, model))
