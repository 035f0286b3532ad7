-- The columns of sums over pairs, as SUMS of pipeline/statistics/moments.py has them.
count(*) FILTER (WHERE c > 0) AS n,
count(*) FILTER (WHERE h > 0) AS n_with_hit,
count(*) FILTER (WHERE h < c) AS n_with_miss,
exact_sum(h) AS h,
sum(c) AS c,
exact_sum(other_h) AS other_h,
sum(other_c) AS other_c,
exact_sum(h * other_h) AS hh,
exact_sum(h * other_c) AS hc,
exact_sum(c * other_h) AS ch,
sum(c * other_c) AS cc
