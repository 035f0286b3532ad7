-- finds: a number of games that differs from what the ingests added and removed
-- severity: error
-- by: lake
SELECT brought, taken_out, n_games
FROM (
    SELECT
        coalesce(sum(n_ingested + n_replacing), 0) AS brought,
        coalesce(sum(n_superseded), 0) AS taken_out
    FROM ingests
) AS counted,
    (SELECT count(*) AS n_games FROM games) AS held
WHERE brought - taken_out <> n_games
