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
from pipeline.metrics import metrics
from pipeline.metrics.registry import MISSING_COLUMNS, REPLAY_COLUMNS
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
