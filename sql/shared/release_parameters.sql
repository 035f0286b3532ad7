-- row: the parameters of the edition release, in a single row
-- source: metrics_release.py, its argument --num_of_game
-- column: num_of_game | only games with a lower number count
SELECT 21 AS num_of_game
