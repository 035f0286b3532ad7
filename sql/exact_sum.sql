-- A sum of floats that is the same in whatever order the rows come: pipeline/statistics/sums.py.
-- In another file `exact_sum(x)` stands for this.
(sum(round((${x}) * 67108864) / 67108864) + sum((${x}) - round((${x}) * 67108864) / 67108864))
