"""What the columns of a comparison mean."""

from collections.abc import Mapping

from pipeline import column
from pipeline.column import Column, schema
from pipeline.metrics.results import HIGH, IS_THIN, LOW, METRIC
from pipeline.statistics.common import REPLAYED
from pipeline.statistics.pairs import MOVED_HIGH, MOVED_LOW, MOVER

COLUMNS: Mapping[str, Column] = {
    "metric": METRIC,
    "model": column.text("the model", nullable=True),
    "other": column.text("the other model, or the other group", nullable=True),
    "value": column.share("the value over all settings of the one, in the metric's unit"),
    "other_value": column.share("the value of the other"),
    "thin": IS_THIN,
    "other_thin": IS_THIN,
    "difference": column.share(
        "on the common settings if `method` is `paired by setting`; value − other_value if it is "
        "`unpaired`; null, with a `reason`, if either value is null"
    ),
    "ci_low": LOW,
    "ci_high": HIGH,
    "ci_method": column.text(
        f"how the interval was computed: `{MOVER}`; `{MOVED_LOW}` or `{MOVED_HIGH}` if p has that "
        "end on the other side of 0: it was put at 0, or next to it"
    ),
    "p_value": column.p_value("the p-value of no difference").shown("p"),
    "p_holm": column.p_value("the same, adjusted by Holm").shown("p (Holm)"),
    "family": column.count(
        "how many p-values are adjusted together: those of one metric if all pairs are compared, "
        "else all"
    ),
    "method": column.text("`paired by setting` or `unpaired`"),
    "n_settings": column.count(
        "settings in common; where a model finished games of only one setting of a competition, "
        "its games are the clusters, and only games that both played are common"
    ).shown("settings"),
    "share_paired": column.share("how much of the values is about these settings, in 0..1"),
    "common_value": column.share(
        "the value on these settings, each counted as much for one as for the other: `difference` "
        "is that of such values; null if `unpaired`"
    ),
    "other_common_value": column.share("the same of the other"),
    "is_replayed": column.flag(
        f"whether one of the two played about {REPLAYED:g} times as many games of these settings "
        "or more, in any term"
    ),
    "reason": column.text("why the difference is null"),
}
SCHEMA = schema(COLUMNS)
# With a margin.
OF_MARGIN: Mapping[str, Column] = {
    "p_alike": column.p_value(
        "of two one-sided tests: the difference is within ± the margin"
    ).shown("p alike"),
    "p_alike_holm": column.p_value("the same, adjusted in the same families"),
    "verdict": column.text("alike, better, worse or undecided"),
}
EVERY = {**COLUMNS, **OF_MARGIN}
