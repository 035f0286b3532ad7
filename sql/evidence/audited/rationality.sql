-- row: one choice, compared with betrayal, or one contribution, compared with the least of its round
SELECT
    attempts.*,
    CASE
        WHEN term = 'betrayals' THEN 'defect'
        -- A round with a missing contribution has no lowest amount.
        WHEN hit IS NOT NULL THEN 'gave '
            || rtrim(rtrim(CAST(TRY_CAST(amount AS DECIMAL(38, 4)) AS VARCHAR), '0'), '.')
            || ', the least: '
            || rtrim(rtrim(CAST(TRY_CAST(least_amount AS DECIMAL(38, 4)) AS VARCHAR), '0'), '.')
    END AS compared_with
FROM attempts
