-- finds: two rows of a table with the same key
-- severity: error
-- by: game
-- tables: with a key
SELECT ${key}, count(*) AS n_rows
FROM ${table}
GROUP BY ${key}
HAVING count(*) > 1
