-- finds: games with the same setting_id, but with different settings
-- severity: error
-- by: lake
-- Older versions wrote integers from 2^53 on as floats, such as 1e16, so large numbers are not compared.
WITH settings_without_large_numbers AS (
    SELECT
        setting_id,
        setting,
        regexp_replace(setting, '[0-9]{16,}(\.0)?|[0-9](\.[0-9]+)?e[0-9]+', '0', 'g') AS compared
    FROM games
)
SELECT setting_id, min(setting) AS setting, max(setting) AS other_setting
FROM settings_without_large_numbers
GROUP BY setting_id
HAVING min(compared) <> max(compared)
