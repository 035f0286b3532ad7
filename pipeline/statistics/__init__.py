"""Statistics of metric values: confidence intervals, comparisons of models, and sample sizes.

Used by the metrics and the reports. The functions take frames of sums over settings, or arrays, and
return numbers; they depend on no metric and no lake.
"""
