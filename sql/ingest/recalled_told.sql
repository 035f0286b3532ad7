-- How many documents were recalled, whose game is lost, and which could not be read and may be now.
SELECT
    count(*) AS documents,
    count(*) FILTER (NOT is_held) AS lost,
    count(*) FILTER (sha256 IS NULL AND status = 'quarantined') AS unread
FROM recalled
