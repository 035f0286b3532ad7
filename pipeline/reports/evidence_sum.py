"""How the rows of evidence add up to a value: each term with its weight, and what it adds."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Unpack

import polars as pl

from pipeline import column
from pipeline.cells import counted, ends, texts
from pipeline.lake import StoredLake
from pipeline.metrics import DEFAULT_CONFIDENCE, known, metrics
from pipeline.metrics.evidence import Choices
from pipeline.metrics.known import MISSING, POOLED, VALUES, Combine, counted_in
from pipeline.metrics.request import check_models, several
from pipeline.vocabulary import PAPER, Edition

COLUMNS: Mapping[str, column.Column] = {
    "term": column.text("the ratio; null for the value itself", nullable=True),
    "hits": column.number("its numerator, in rows; null for a value of several ratios"),
    "counted": column.count("its denominator, in rows; null like `hits`", nullable=True),
    "ratio": column.share("hits / counted; null if nothing is counted").shown("hits / counted"),
    "weight": column.share("what the ratio is multiplied by; null if the terms are pooled"),
    "value": column.share(
        "what the term adds to the value; in the last row the value, null if it is undefined"
    ),
    **{
        name: VALUES[name]
        for name in (
            *("ci_low", "ci_high", "n_games", "n_unknown", "thin", "lacks", *MISSING, "reason"),
        )
    },
}


@counted_in(COLUMNS)
def evidence_sum(
    lake: StoredLake,
    metric: str,
    *,
    confidence: float | None = DEFAULT_CONFIDENCE,
    **choices: Unpack[Choices],
) -> pl.DataFrame:
    """How the rows of `evidence` add up to the metric's value: a row for each term, then the whole.

    The arguments are those of `evidence`. The values of the terms add up to the value of the last
    row, whose `term` is null. If several models are asked for, they are counted as one.

    Raises UsageError for an unknown metric or model, and for a wrong condition.

    >>> total = lake.evidence_sum("judgement", model="sim-atlas")
    >>> total.select("term", "hits", "counted", "value").rows()
    [('votes', 8.0, 16, 0.5), (None, 8.0, 16, 0.5)]
    """
    values = partial(metrics, lake, metric=[metric], confidence=confidence)
    models = several(choices.get("model")) or ()
    if len(models) == 1:
        check_models(lake, models)
        # Others are counted too, since they tell what its value lacks.
        of_all: Choices = {**choices, "model": None}
        rows = values(by="model", **of_all).filter(model=models[0])
        rows = values(by="model", **choices) if rows.is_empty() else rows
    else:
        rows = values(by=None, **choices)
    edition, none = choices.get("edition", PAPER), pl.DataFrame(schema=column.schema(COLUMNS))
    return pl.concat([sum_of(row, edition) for row in rows.iter_rows(named=True)] or [none])


def sum_of(row: dict[str, Any], edition: Edition) -> pl.DataFrame:
    """The same of a row of `metrics`."""
    combine = known.metric(row["metric"], edition).combine
    whole = {name: row.get(name) for name in COLUMNS if name not in ("term", "weight", "ratio")}
    terms = [_term(term, combine, row["terms"]) for term in row["terms"] or ()]
    return pl.DataFrame([*terms, whole], schema=column.schema(COLUMNS))


def _term(
    term: dict[str, Any], combine: Combine, terms: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    is_pooled = combine in POOLED
    weight = None if is_pooled else term["weight"]
    n_pooled = sum(pooled["counted"] for pooled in terms)
    share = term["counted"] / n_pooled if is_pooled and n_pooled else weight
    ratio = term["value"]
    value = None if ratio is None or share is None else share * ratio
    return {**term, "weight": weight, "ratio": ratio, "value": value}


def sentence(name: str, rows: pl.DataFrame) -> str:
    """The sum in a line, as in `judgement: 32 of 80 = 0.4000, interval .25 to .56, 40 games`."""
    *terms, whole = rows.to_dicts() or [dict.fromkeys(COLUMNS)]
    n_unknown = whole["n_unknown"]
    unknown = f"; {counted(n_unknown, 'row')} of unknown hit not counted" if n_unknown else ""
    if whole["value"] is None:
        return f"{name}: no value: {whole['reason'] or 'nothing was counted'}{unknown}"
    parts = [
        f"{name}: {_added(whole, terms)} = {texts([whole['value']], COLUMNS['value'].decimals)[0]}"
    ]
    if whole["ci_low"] is not None:
        parts.append(f"interval {ends(whole['ci_low'], whole['ci_high'])}")
    thin = ", ".join(term["term"] or "in all" for term in whole["thin"] or ())
    line = ", ".join([*parts, counted(whole["n_games"], "game")])
    lacks = ", ".join(whole["lacks"] or ())
    n_missing, n_expected = (whole[name] for name in MISSING)
    gone = f"{n_missing:,} of {n_expected:,} games, by competition" if n_missing else ""
    more = {"thin": thin, "lacks what other models have": lacks, "lacks": gone}
    said = "".join(f"; {what}: {names}" for what, names in more.items() if names)
    return f"{line}{said}{unknown}"


def _added(whole: dict[str, Any], terms: Sequence[dict[str, Any]]) -> str:
    if whole["counted"] is not None:
        return _share(whole)
    valued = [term for term in terms if term["value"] is not None]
    shares = [f"{_share(term)} ({term['term']})" for term in valued]
    weights = [term["weight"] for term in valued]
    if len(set(weights)) == 1 and weights[0] != 1:
        return f"the mean of {', '.join(shares)}"
    times = ["" if weight == 1 else f"{texts([weight], 2)[0]} × " for weight in weights]
    return " + ".join(f"{before}{share}" for before, share in zip(times, shares, strict=True))


def _share(row: dict[str, Any]) -> str:
    hits = row["hits"]
    text = texts([hits], 2)[0].rstrip("0").rstrip(".") if isinstance(hits, float) else str(hits)
    return f"{text} of {row['counted']}"
