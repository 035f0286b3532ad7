-- row: what the edition release is asked for: one row
-- source: metrics_release.py, its argument --num_of_game
-- column: num_of_game | games numbered below it count
SELECT 21 AS num_of_game
