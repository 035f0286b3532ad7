-- row: one setting: what was fixed before play, and how many games were played with it
-- column: game_type | which game was played
-- column: system | the harnesses that ran its games, joined by ', '
-- column: n_games | number of games with this setting
-- column: n_finished | of these, games that came to an end
SELECT
    setting_id,
    game_type,
    string_agg(DISTINCT system, ', ' ORDER BY system) AS system,
    any_value(topic) AS topic,
    any_value(word) AS word,
    any_value(other_word) AS other_word,
    any_value(hidden_player) AS hidden_player,
    any_value(tested_player) AS tested_player,
    any_value(n_rounds_fixed) AS n_rounds_fixed,
    any_value(multiplier) AS multiplier,
    any_value(payoff_cooperate) AS payoff_cooperate,
    any_value(payoff_defect) AS payoff_defect,
    any_value(payoff_one_defect) AS payoff_one_defect,
    any_value(payoff_two_defect) AS payoff_two_defect,
    count(*) AS n_games,
    count(*) FILTER (WHERE is_finished) AS n_finished,
    any_value(setting) AS setting
FROM games
GROUP BY setting_id, game_type
