"""What holds of every metric on any tables, whatever they say.

In polars; that SQL gives the same, of tables in another order, is tested beside it.
"""

from math import fsum

import polars as pl
import polars.selectors as cs
import pytest
from event_tables import Frames, assert_same, checked
from hypothesis import HealthCheck, given, settings, strategies as st
from random_tables import METRIC_TABLES, MODELS, event_tables, shuffled

from pipeline.errors import UsageError
from pipeline.metrics import metric_spec, metrics
from pipeline.metrics.registry import (
    MISSING_COLUMNS,
    POOLED_COMBINES,
    REPLAY_COLUMNS,
    Combine,
    metric_names as names_in,
)
from pipeline.vocabulary import EDITIONS

Tables = dict[str, pl.DataFrame]

EDITION = st.sampled_from(EDITIONS)
LAW = settings(
    max_examples=max(5, settings.default.max_examples // 5),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
KEYS = ["metric", "model", "game_type"]
OVER_FIXED_COUNT = {
    term.name for term in metric_spec("win_rate", "release").terms if term.fixed_count
}


def values(tables: Tables, edition: str, **question) -> pl.DataFrame:
    return metrics(Frames(tables), edition=edition, **question)


def terms_of(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.select(*KEYS, "terms").explode("terms").unnest("terms")


@LAW
@given(tables=event_tables())
def test_random_tables_satisfy_the_contracts(tables):
    for name, rows in tables.items():
        checked(name, rows)


@LAW
@given(tables=event_tables(), edition=EDITION, seed=st.integers(0, 99))
def test_order_of_rows_changes_nothing(tables, edition, seed):
    assert_same(values(shuffled(tables, seed), edition), values(tables, edition))


@LAW
@given(
    tables=event_tables(),
    edition=EDITION,
    names=st.permutations(["a model", 'b "2"', "Ç", "d'", "all"]),
)
def test_models_names_change_nothing_but_names(tables, edition, names):
    new = dict(zip(MODELS[:-1], names, strict=False))
    old = {name: model for model, name in new.items()}
    renamed = {
        name: rows.with_columns(cs.by_name("model", require_all=False).replace(new))
        for name, rows in tables.items()
    }
    back = values(renamed, edition).with_columns(pl.col("model").replace(old))
    assert_same(back.sort(KEYS), values(tables, edition).sort(KEYS))


@LAW
@given(tables=event_tables(), edition=EDITION, model=st.sampled_from(MODELS[:-1]))
def test_a_model_is_measured_on_its_own(tables, edition, model):
    if model not in tables["results"].filter("is_tested")["model"]:
        is_there = model in tables["players"]["model"]
        refusal = "appears only as an opponent" if is_there else "no game of"
        with pytest.raises(UsageError, match=refusal):
            values(tables, edition, model=[model])
        return
    own = {name: rows.filter(model=model) for name, rows in tables.items() if name != "games"}
    # What the others said at the same table stays: the release edition compares with it. So do the
    # games that their system plays: a value over all of them needs each.
    own |= {name: tables[name] for name in ("proposals", "contributions", "games")}
    # Whether it is complete, or played some more often, is a matter of what the others played.
    together, alone = (
        rows.drop("is_complete", *MISSING_COLUMNS, *REPLAY_COLUMNS)
        for rows in (values(tables, edition, model=[model]), values(own, edition))
    )
    assert_same(together, alone.filter(model=model))


@LAW
@given(tables=event_tables(), edition=EDITION, data=st.data())
def test_dropping_rows_never_makes_more_counted(tables, edition, data):
    # A game is more than its row in `games`: without the row, its other rows still count.
    dropped = data.draw(st.sampled_from([*METRIC_TABLES, "any"]))
    share, seed = data.draw(st.sampled_from([0.3, 0.8])), data.draw(st.integers(0, 99))
    fewer = {
        name: rows.sample(fraction=share, seed=seed) if dropped in (name, "any") else rows
        for name, rows in tables.items()
    }
    after, before = (terms_of(values(some, edition, confidence=None)) for some in (fewer, tables))
    both = after.join(before, on=[*KEYS, "term"], nulls_equal=True)
    assert both.height == after.height
    assert both.filter(pl.col("counted") > pl.col("counted_right")).is_empty()


@LAW
@given(tables=event_tables(), edition=EDITION)
def test_values_are_in_range_and_follow_from_their_terms(tables, edition):
    for row in values(tables, edition, confidence=None).iter_rows(named=True):
        in_range(row)
        made_of_terms(row)


def is_unknown(declared, reason):
    """Whether the reason is that of an unknown hit, of one game or of several."""
    before, _, after = declared.unknown.partition("{} games")
    return reason.startswith(before) and reason.endswith(after) and " game" in reason


def in_range(row: dict) -> None:
    declared = metric_spec(row["metric"], row["edition"])
    has_value = row["value"] is not None
    assert has_value is (row["reason"] is None)
    assert not has_value or 0 <= row["value"] <= declared.high + 1e-12
    for term in row["terms"]:
        if term["hits"] is None:  # a counted row's hit is unknown
            assert not has_value and term["counted"] > 0
            continue
        assert term["hits"] >= 0
        assert term["hits"] <= term["counted"] or term["term"] in OVER_FIXED_COUNT


def made_of_terms(row: dict) -> None:
    """Asserts that the value, hits and counted are what the terms come to."""
    declared = metric_spec(row["metric"], row["edition"])
    terms = row["terms"]
    if any(term["hits"] is None for term in terms):
        assert row["value"] is None
        assert is_unknown(declared, row["reason"])
        return
    hits, counted = fsum(t["hits"] for t in terms), sum(t["counted"] for t in terms)
    ratios = [t["hits"] / t["counted"] if t["counted"] else None for t in terms]
    assert [t["value"] for t in terms] == ratios
    is_mean_of_one = declared.combine is Combine.MEAN and ratios.count(None) == len(ratios) - 1
    if declared.combine in POOLED_COMBINES or len(terms) == 1 or is_mean_of_one:
        assert (row["hits"], row["counted"]) == (pytest.approx(hits), counted)
        assert row["value"] is None or row["value"] == pytest.approx(hits / counted)
    else:
        assert (row["hits"], row["counted"]) == (None, None)
    if is_unknown(declared, row["reason"] or ""):
        assert row["value"] is None
    else:
        weights = [t["weight"] for t in terms]
        expected = combined(declared.combine, weights, ratios, hits, counted)
        assert row["value"] == (expected if expected is None else pytest.approx(expected))


def combined(combine, weights, ratios, hits, counted):
    """The value that the terms come to, None where there is none."""
    result = [ratio for ratio in ratios if ratio is not None]
    is_whole = len(result) == len(ratios)
    if combine is Combine.SUM:
        return fsum(w * r for w, r in zip(weights, ratios, strict=True)) if is_whole else None
    if combine is Combine.MEAN:
        assert weights == [None if ratio is None else 1 / len(result) for ratio in ratios]
        return fsum(result) / len(result) if result else None
    if combine is Combine.POOLED_OVER_ALL and not is_whole:
        return None
    return hits / counted if counted else None


@LAW
@given(tables=event_tables(), edition=EDITION)
def test_every_model_has_a_row_over_all_and_one_for_each_game_type(tables, edition):
    rows = values(tables, edition, confidence=None)
    played = tables["results"].select("model", "game_type").unique()
    for name in names_in(edition):
        found = rows.filter(metric=name).select("model", "game_type")
        kinds = metric_spec(name, edition).game_types
        has_types = edition != "release" or len(kinds) == 1
        of_types = played.filter(pl.col("game_type").is_in(kinds)) if has_types else played.clear()
        over_all = played.select("model", game_type=pl.lit("all")).unique()
        assert_same(found.sort(pl.all()), pl.concat([of_types, over_all]).sort(pl.all()))
