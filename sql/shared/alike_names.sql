-- row: one name of a tested model that looks like another's, or that stands for no model
-- column: bare | what is left of the name: in lower case, without a provider before a slash, blanks, hyphens and signs that nobody sees
-- column: spelling | the name in quotes, with its number of characters and its games
-- column: looks_like | the other names that look alike, or that it stands for no model
WITH named AS (
    SELECT
        model,
        regexp_replace(
            lower(nfc_normalize(regexp_replace(model, '^.*/([^/]+)$', '\1'))),
            '[\s\p{Z}\p{C}\p{Pd}_\x{FE00}-\x{FE0F}]',
            '',
            'g'
        ) AS bare
    FROM (SELECT DISTINCT model FROM players WHERE is_tested AND model IS NOT NULL)
),
suspected AS (
    SELECT
        model,
        bare,
        bare IN ('', 'none', 'null', 'nan', 'unknown', 'undefined') OR lower(trim(model)) = 'n/a'
            AS is_none
    FROM named
    QUALIFY is_none OR count(*) OVER (PARTITION BY bare) > 1
),
counted AS (
    SELECT model, count(DISTINCT game_id) AS n_games
    FROM players
    SEMI JOIN suspected USING (model)
    WHERE is_tested
    GROUP BY model
),
spelled AS (
    SELECT
        suspected.*,
        '"' || model || '" (' || length(model) || ' characters, ' || n_games
        || CASE n_games WHEN 1 THEN ' game)' ELSE ' games)' END AS spelling
    FROM suspected
    INNER JOIN counted USING (model)
)
SELECT
    spelled.model,
    spelled.bare,
    spelled.spelling,
    coalesce(
        CASE WHEN spelled.is_none THEN 'no model' END,
        string_agg(others.spelling, ', ' ORDER BY others.model)
    ) AS looks_like
FROM spelled
LEFT JOIN spelled AS others ON others.bare = spelled.bare AND others.model <> spelled.model
GROUP BY spelled.model, spelled.bare, spelled.spelling, spelled.is_none
