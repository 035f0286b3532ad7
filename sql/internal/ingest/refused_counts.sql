-- How many documents recalled were refused, and of how many of them the lake says what is wrong.
SELECT
    (SELECT count(*) FROM recalled WHERE status = 'quarantined') AS refused,
    (SELECT count(DISTINCT (source, path, sha256)) FROM (${faults}) AS faults) AS explained
