-- How many documents that do not name their model are known, by bytes that were given one before.
SELECT count(*) FROM resolved WHERE found = 'known' AND assigned_model IS NOT NULL
