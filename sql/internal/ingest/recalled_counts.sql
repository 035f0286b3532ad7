-- How many documents were recalled, and how many of them could not be read and may be now.
SELECT
    count(*) AS documents,
    count(*) FILTER (sha256 IS NULL AND status = 'quarantined') AS unread
FROM recalled
