"""What holds of every metric on any tables, whatever they say.

In polars; that SQL gives the same, of tables in another order, is tested beside it.
"""

import polars as pl
import polars.selectors as cs
import pytest
from event_tables import Frames, assert_same
from hypothesis import HealthCheck, given, settings, strategies as st
from random_tables import MODELS, event_tables

from pipeline.errors import UsageError
from pipeline.metrics import metric_spec, metrics
from pipeline.metrics.registry import (
    MISSING_COLUMNS,
    REPLAY_COLUMNS,
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


def values(tables: Tables, edition: str, **question) -> pl.DataFrame:
    return metrics(Frames(tables), edition=edition, **question)


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
