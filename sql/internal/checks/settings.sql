-- finds: games with the same setting_id, but with different settings
-- severity: error
-- by: lake
SELECT setting_id, min(setting) AS setting, max(setting) AS other_setting
FROM games
GROUP BY setting_id
HAVING min(setting) <> max(setting)
