-- metric: win_rate
-- title: Win Rate
-- place: 1
-- edition: paper
-- row: what one finished game came to for one tested side
-- combine: mean
-- term: chameleon_as_chameleon | 1 | chameleon
-- term: chameleon_as_non_chameleon | 1 | chameleon
-- term: undercover_as_undercover | 1 | undercover
-- term: undercover_as_civilian | 1 | undercover
-- term: cost_sharing | 1 | cost_sharing
-- term: prisoners_dilemma | 1 | prisoners_dilemma
-- term: public_good | 1 | public_good
-- range: 0..1
-- source: arXiv 2311.08562, Win Rate: the mean over competitions of the wins in each
SELECT
    *,
    competition AS term,
    CASE
        WHEN win_credit = 1 THEN 'won'
        WHEN win_credit = 0 THEN 'lost'
        WHEN win_credit > 0 THEN 'shared'
    END AS what,
    win_credit AS hit,
    parse_status <> 'outage' AND win_credit IS NOT NULL AS is_counted
FROM results
WHERE is_tested
    AND is_finished
