-- finds: games with the same setting_id, but with different settings
-- severity: error
-- by: lake
-- Older versions wrote whole numbers from 2^53 as floats, such as 1e16, so these are not compared.
WITH written AS (
    SELECT
        setting_id,
        setting,
        regexp_replace(setting, '[0-9]{16,}(\.0)?|[0-9](\.[0-9]+)?e[0-9]+', '0', 'g') AS compared
    FROM games
)
SELECT setting_id, min(setting) AS setting, max(setting) AS other_setting
FROM written
GROUP BY setting_id
HAVING min(compared) <> max(compared)
