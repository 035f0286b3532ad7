"""Models against each other, and one model's own groups: differences, intervals and p-values."""

from collections.abc import Sequence
from itertools import combinations
from typing import Annotated

import polars as pl

from pipeline.declared import GAME_TYPES, names_in, option
from pipeline.errors import UsageError
from pipeline.lake import StoredLake
from pipeline.metrics import DEFAULT_CONFIDENCE, PAPER, Answer, answered, known
from pipeline.metrics.completeness import played
from pipeline.metrics.request import (
    Request,
    asked_for,
    condition_on,
    is_of_game,
    row_schema,
    several,
)
from pipeline.metrics.results import LACKS
from pipeline.reports.compare.across import across, bare, full, system_of
from pipeline.reports.compare.differences import COLUMNS, adjusted, check_margin, compared, finished
from pipeline.reports.compare.methods import OF_METHOD, by_value, suffix_pairs, with_means
from pipeline.reports.compare.pairs import check_pairs, models_of, of_models, of_values, within
from pipeline.reports.declared import report
from pipeline.vocabulary import RELEASE, Edition

_GameTypes = Annotated[str | Sequence[str] | None, GAME_TYPES]


@report("Numbers", columns=COLUMNS, is_for_papers=True)
def compare(
    lake: StoredLake,
    *pairs: tuple[str, str],
    metric: str | Sequence[str] | None = None,
    game_type: _GameTypes = None,
    where: str | None = None,
    by: Annotated[
        str | Sequence[str] | None,
        option(
            "COLUMNS",
            "Compare the models in each group of these columns; with one MODEL, compare its "
            "groups of this column.",
            suggested="columns",
            check=names_in,
        ),
    ] = None,
    margin: float | None = None,
    expected: int | None = None,
    edition: Edition = PAPER,
    confidence: float = DEFAULT_CONFIDENCE,
) -> pl.DataFrame:
    """Compare two models in each metric: difference, interval, p-value.

    Games are paired by competition and setting; replays of a setting are added up. If the models
    share too few settings, they are compared unpaired, and the row says so. The null hypothesis of
    the p-value is that the two models behave alike. `p (Holm)` is adjusted by Holm's method for all
    p-values printed; of all pairs of models, for those of one metric. The interval excludes 0 if
    and only if the p-value of a paired comparison reaches the level; an end of 0.00 was moved
    there. A note says where one model played the common settings much more often than the other.

    A game type, a condition and columns choose and group rows as in `magic metrics`. With one model
    and one column, all pairs of its groups are compared, such as its roles. With a margin D,
    `verdict` is alike (the difference is shown to be within -D..D), better, worse or undecided.

    MODEL@SYSTEM names a model of another system. Models of two systems are compared unpaired, in
    the game types that both play by the same rules.

    With `--with pgm`, a row is a model that is there with and without it, such as gpt-4-pgm and
    gpt-4; further rows have the mean over these models, whose interval knows that they share
    settings.

    \b
    Examples:
      magic compare gpt-4 gpt-4-pgm
      magic compare gpt-4 gpt-4-pgm --by role --where "n_rounds = 3"
      magic compare gpt-4 --by role --metric reasoning
      magic compare gpt-4 --by setting.temperature
      magic compare gpt-4 gpt-4-pgm --margin 0.05
      magic compare gpt-4@magic gpt-4@my-harness --metric judgement
      magic compare gpt-4 gpt-4-pgm --metric judgement --confidence 0.9
      magic compare --with pgm --metric win_rate
      magic compare --all-pairs --metric win_rate --format csv

    Raises UsageError for an unknown model or metric, for a model compared with itself, for a pair
    that is given twice, and for a margin that no difference can reach.

    A row is a metric and a pair. A pair is, for example, ("gpt-4", "cohere"); without pairs, all
    are compared. The columns of `by` follow the metric. Of models of two systems `system` is null,
    and `game_types` names the types in which they are compared.

    With a `margin`, also `p_alike` (two one-sided tests: the difference is within ± the margin),
    `p_alike_holm` (adjusted in the same families) and `verdict`: `alike` if p_alike_holm reaches
    the level 1 − confidence, else `better` or `worse` if p_holm does, else `undecided`.

    >>> rows = lake.compare(("sim-delta", "sim-atlas"), metric="win_rate")
    >>> rows.select(pl.col("difference").round(3), "method", "n_settings").row(0)
    (0.53, 'paired by setting', 20)
    >>> lake.compare(metric="win_rate", by="game_type").height
    36
    """
    check_pairs(pairs)
    check_margin(margin, metric, edition, lake.game_types)
    systems = {system_of(lake, name) or lake.system for pair in pairs for name in pair}
    is_of_several = len(systems) > 1
    if is_of_several:
        pairs = tuple((full(lake, one), full(lake, other)) for one, other in pairs)
    else:
        lake = next((lake.of_system(one) for one in systems if one), lake)
        pairs = tuple((bare(lake, one), bare(lake, other)) for one, other in pairs)
        check_pairs(pairs)
    metrics = asked_for(metric, edition)
    request = Request(
        edition=edition,
        by=("model", *(several(by) or ())),
        models=models_of(pairs),
        game_types=several(game_type),
        where=condition_on(metrics, where),
        expected=expected,
    )

    def answer_of(part: StoredLake, asked: Request) -> Answer:
        names = metrics
        if is_of_several and metric is None and game_type is None:
            # Of the game types that all systems play.
            types = {*(asked.game_types or ())}
            names = tuple(one for one in names if types & {*known.metric(one, edition).game_types})
        return answered(part, asked, names=names, confidence=confidence)

    answer = across(lake, request, answer_of) if is_of_several else answer_of(lake, request)
    models = answer.rows["model"].drop_nulls().unique().sort().to_list()
    wanted = [(one, other) for one, other in pairs] or list(combinations(models, 2))
    family = [] if pairs else ["metric"]
    rows = compared(answer, of_models(answer, wanted), confidence)
    done = finished(adjusted(rows, family), margin, confidence, family)
    if not is_of_several:
        return done.with_columns(system=pl.lit(lake.system, pl.String))
    played = {*(answer.request.game_types or ())}
    types = [sorted(played & {*known.metric(name, edition).game_types}) for name in done["metric"]]
    return done.with_columns(
        game_types=pl.Series(types, dtype=LACKS), system=pl.lit(None, pl.String)
    )


@report(None, columns=COLUMNS, is_for_papers=True, title="Groups compared")
def contrast(
    lake: StoredLake,
    model: Annotated[str, option("MODEL", "The model.", suggested="models")],
    by: Annotated[str, option("COLUMN", "The column of its groups.", suggested="columns")],
    *,
    metric: str | Sequence[str] | None = None,
    game_type: _GameTypes = None,
    where: str | None = None,
    margin: float | None = None,
    expected: int | None = None,
    edition: Edition = PAPER,
    confidence: float = DEFAULT_CONFIDENCE,
) -> pl.DataFrame:
    """The difference between groups of one model: a row for each metric and pair of groups.

    `by` is one column that `metrics` can group by, such as `role`, `round` or `opponent`: it and
    `other` have two of its values, as texts, after `metric` and `model`. Groups
    are paired by setting where they share settings. p_holm is adjusted for all rows. Without
    `metric`, the metrics are those whose rows have the column.

    Raises UsageError if a metric has more than `MOST_GROUPS` groups, and for the edition release,
    an unknown model or a column that no metric has.

    >>> rows = lake.contrast("sim-delta", "role", metric="judgement", where="side = 'civilian'")
    >>> rows.select("role", "other", "difference").rows()
    [('civilian', 'non_chameleon', -0.125)]
    """
    if edition == RELEASE:
        raise UsageError("the edition release has no groups of a model: use the edition paper")
    if by in ("model", "game_id", "setting_id"):
        raise UsageError(f"cannot contrast by `{by}`: choose a column such as role or round")
    having = [n for n in known.names(edition) if is_of_game(by) or by in row_schema(n)]
    names = asked_for(metric or having or None, edition)
    check_margin(margin, names, edition, lake.game_types)
    request = Request(
        edition=edition,
        by=("model", by),
        models=(model,),
        game_types=several(game_type),
        where=condition_on(names, where),
        expected=expected,
    )
    answer = answered(lake, request, names=names, confidence=confidence)
    answer = within(answer, lake.once(played))
    pairs = of_values(answer, by)
    rows = compared(answer, pairs, confidence, label=by)
    return finished(adjusted(rows, []), margin, confidence, [])


@report(None, columns=OF_METHOD, is_for_papers=True, title="With and without a method")
def compare_with(
    lake: StoredLake,
    method: Annotated[
        str,
        option(
            "METHOD",
            "Compare models with and without a method: what the names of those with it end with, "
            "such as pgm, or a column and its value, such as setting.prompt=v2.",
            "--with",
        ),
    ],
    *,
    metric: str | Sequence[str] | None = None,
    game_type: _GameTypes = None,
    where: str | None = None,
    margin: float | None = None,
    expected: int | None = None,
    edition: Edition = PAPER,
    confidence: float = DEFAULT_CONFIDENCE,
) -> pl.DataFrame:
    """What a method adds: a row for each metric and each model that is there with and without it.
    A method is what the names of models with it end with, such as pgm, or a column and its value,
    such as setting.prompt=v2.

    "pgm" compares gpt-4-pgm or gpt-4+pgm with gpt-4. "setting.prompt=v2" compares games of
    one model that have this value with its other games. With several models, a further row of each
    metric has the mean over them, paired by setting if all of them are: what they add at a setting
    is added up, so the interval knows that they share settings. If only some are, it is the
    difference of the mean values, which is not the mean of the models' differences. Other
    arguments, and the pairing, are those of `compare`; p_holm is adjusted for all rows.

    Raises UsageError if no model is there with and without it, and for what `compare` refuses.

    >>> rows = lake.compare_with("role=civilian", metric="reasoning", where="side = 'civilian'")
    >>> rows.select("model", pl.col("difference").round(3), "n_models").tail(2).rows()
    [('sim-delta, role civilian', 0.01, 1), (None, 0.021, 4)]
    """
    check_margin(margin, metric, edition, lake.game_types)
    metrics = asked_for(metric, edition)
    name, has_value, _ = method.partition("=")

    def ask(condition: str | None) -> Answer:
        request = Request(
            edition=edition,
            by=("model",),
            game_types=several(game_type),
            where=condition_on(metrics, condition),
            expected=expected,
            varied=(name,) if has_value else (),
        )
        return answered(lake, request, names=metrics, confidence=confidence)

    if has_value:
        condition_on(metrics, where)  # by itself, before it is part of another
        answer, pairs = by_value(ask, method, where, row_schema(metrics[0]))
    else:
        answer = ask(where)
        pairs = suffix_pairs(answer.rows["model"].drop_nulls(), method)
    rows = compared(answer, of_models(answer, pairs), confidence)
    return finished(adjusted(with_means(answer, rows, confidence), []), margin, confidence, [])
