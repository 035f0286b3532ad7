-- order: 15
-- title: registered contributions that differ from the stated ones
-- metric: rationality
-- row: one contribution of a tested player
-- needs: contributions
WITH stated_amounts AS (
    SELECT
        *,
        coalesce(stated_amount, amount) AS meant,
        min(coalesce(stated_amount, amount)) OVER (PARTITION BY game_id, round) AS least
    FROM contributions
)
SELECT
    game_id,
    player,
    seat,
    model,
    role,
    round,
    message_index,
    CAST(amount AS VARCHAR) AS logged,
    CAST(stated_amount AS VARCHAR) AS says,
    stated_amount IS NOT NULL AND stated_amount IS DISTINCT FROM amount AS is_found,
    CASE
        WHEN is_finished AND parse_status <> 'outage' THEN CAST(is_least AS DOUBLE)
    END AS hit_logged,
    CASE
        WHEN is_finished AND parse_status <> 'outage' AND is_least IS NOT NULL
            THEN CAST(meant = least AS DOUBLE)
    END AS hit_read
FROM stated_amounts
WHERE is_tested
