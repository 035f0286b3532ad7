-- row: one name of a tested model that looks like another's, or that stands for no model
-- column: bare | what is left of the name: in lower case, without a provider before a slash, blanks, hyphens and signs that nobody sees
-- column: spelling | the name in quotes, with its number of characters and its games
-- column: looks_like | all names that look alike, this one too; or that it stands for no model
WITH named AS (
    SELECT
        model,
        regexp_replace(
            lower(nfc_normalize(regexp_replace(model, '^.*/([^/]+)$', '\1'))),
            '[\s\p{Z}\p{C}\p{Pd}_\x{FE00}-\x{FE0F}]',
            '',
            'g'
        ) AS bare,
        count(DISTINCT game_id) AS n_games
    FROM players
    WHERE is_tested AND model IS NOT NULL
    GROUP BY model
),
spelled AS (
    SELECT
        model,
        bare,
        bare IN ('', 'none', 'null', 'nan', 'unknown', 'undefined') OR lower(trim(model)) = 'n/a'
            AS is_none,
        '"' || model || '" (' || length(model) || ' characters, ' || n_games
        || CASE n_games WHEN 1 THEN ' game)' ELSE ' games)' END AS spelling
    FROM named
)
SELECT
    model,
    bare,
    spelling,
    CASE
        WHEN is_none THEN 'no model'
        ELSE string_agg(spelling, ', ') OVER (
            PARTITION BY bare ORDER BY model ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        )
    END AS looks_like
FROM spelled
QUALIFY is_none OR count(*) OVER (PARTITION BY bare) > 1
