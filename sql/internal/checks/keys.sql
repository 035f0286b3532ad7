-- finds: two rows of a table with the same key
-- severity: error
-- by: game
-- tables: games, players, messages, votes, guesses, role_identifications, role_analyses, decisions, contributions, proposals, proposal_votes
SELECT ${key}, count(*) AS n_rows
FROM ${table}
GROUP BY ${key}
HAVING count(*) > 1
