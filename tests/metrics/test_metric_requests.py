"""What `metrics` refuses to be asked, each with what there is instead."""

import pytest
from cases.reasoning import TABLES
from event_tables import ENGINES, Frames, assert_same, lake_of, table

from pipeline.errors import UsageError
from pipeline.metrics import NAMES, metrics
from pipeline.metrics.registry import format_metrics_as_published_script
from pipeline.metrics.request import check_players

LAKE = Frames(TABLES)
RELEASE = {"edition": "release"}


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({"metric": "judgment"}, "no metric `judgment`: did you mean `judgement`"),
        ({"metric": ["judgement", "__init__"]}, "no metric `__init__`"),
        ({"edition": "papers"}, "no edition `papers`: did you mean `paper`"),
        ({"engine": "pandas"}, "no engine `pandas`: choose from polars, duckdb, spark"),
        ({"master": "local"}, "a master works only with the engine spark: add `--engine spark`"),
        ({"by": ["modle"]}, "no column `modle` to group by: did you mean `model`"),
        ({"by": ["value"]}, "no column `value`"),
        ({"by": "modle"}, "no column `modle`"),
        ({"by": ["model", "model"]}, "same column twice: model, model"),
        (
            {"by": ["kind"]},
            "cannot group win_rate, .* by `kind`: .* no such column; only reasoning can",
        ),
        ({"by": ["win_credit"], "metric": ["judgement", "win_rate"]}, "cannot group judgement by"),
        ({"game_type": ["chess"]}, "no game type chess: choose from chameleon, .*, all"),
        ({"game_type": ["all", "go", "chess"]}, "no game type go, chess: choose from"),
        ({"by": ["model"], "game_type": ["all"]}, "`all` exists only if you group by game_type"),
        ({"metric": []}, "the list of metrics is empty"),
        ({"where": "1 < round < 3"}, "compares the result of a comparison: write for example"),
        ({"where": "started_at > '2020-01-01'"}, "cannot compare times; use `magic sql`"),
        ({"num_of_game": 0}, "must be 1 or more"),
        (
            {"num_of_game": 3},
            "a number of games works only with the edition release, not with paper",
        ),
        ({"model": ["nobody"]}, "no game of nobody: choose from "),
        ({"model": ["m", "n", "me"]}, "no game of me, n: "),
        (RELEASE | {"model": ["nobody"]}, "no game of nobody"),
        (RELEASE | {"num_of_game": -1}, "must be 1 or more"),
        (RELEASE | {"by": ["role"]}, "group by model and game_type"),
        (RELEASE | {"by": ["model", "setting_id"]}, "group by model and game_type"),
        (RELEASE | {"by": ["kind"], "metric": "reasoning"}, "group by model and game_type"),
        (RELEASE | {"by": []}, "group at least by model"),
        (RELEASE | {"by": ["game_type"]}, "group at least by model"),
    ],
)
def test_refused(question, message):
    with pytest.raises(UsageError, match=f"^[^\n]*{message}"):
        metrics(LAKE, **question)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_there_is_none_of_is_an_empty_answer(engine, tmp_path):
    lake = lake_of(tmp_path, TABLES)
    everything = metrics(lake, metric="reasoning")
    for question in ({"model": []}, {"game_type": []}):
        found = metrics(lake, metric="reasoning", engine=engine, **question)
        assert found.is_empty()
        assert found.schema == everything.schema


def test_an_empty_lake_has_no_rows(tmp_path):
    for engine in ENGINES:
        found = metrics(lake_of(tmp_path, {}), metric=["win_rate", "rationality"], engine=engine)
        assert found.is_empty()


def test_metrics_come_in_their_order_or_as_asked():
    assert metrics(LAKE)["metric"].unique(maintain_order=True).to_list() == list(NAMES)
    asked = ["rationality", "judgement"]
    assert metrics(LAKE, metric=asked)["metric"].unique(maintain_order=True).to_list() == asked


def test_filters_choose_among_the_rows():
    rows = metrics(LAKE)
    for model in ("m", "solo"):
        assert_same(metrics(LAKE, model=[model]), rows.filter(model=model))
    for game_type in ("all", "undercover"):
        assert_same(metrics(LAKE, game_type=[game_type]), rows.filter(game_type=game_type))


def test_a_text_is_one_name_and_no_list_of_columns_no_grouping():
    asked = {"metric": "reasoning", "by": "model", "model": "m"}
    assert_same(metrics(LAKE, **asked), metrics(LAKE, **{k: [name] for k, name in asked.items()}))
    assert_same(metrics(LAKE, by=None), metrics(LAKE, by=[]))


def test_only_a_tested_model_is_suggested():
    """`m-5` is nearer to `m-4`, but that plays only as an opponent; who plays at all is enough for
    a search."""
    opponent = table("players", "game | game_type | model\n1 | public_good | m-4")
    lake = Frames(TABLES | {"players": opponent})
    with pytest.raises(UsageError, match=r"^no game of m-5: did you mean `m-4`\?$"):
        check_players(lake, ["m-5"])
    with pytest.raises(UsageError, match=r"^no game of m-5: choose from "):
        metrics(lake, model="m-5")
    with pytest.raises(UsageError, match=r"^no game of sol: did you mean `solo`\?$"):
        metrics(lake, model="sol")
    with pytest.raises(UsageError, match=r"^m-4 appears only as an opponent: metrics cover only"):
        metrics(lake, model=["m-4", "m"])
    with pytest.raises(UsageError, match=r"^no game of nobody: "):
        metrics(lake, model=["m-4", "nobody"])


def test_magic_json_of_a_model_without_a_game_is_all_null():
    line = format_metrics_as_published_script(metrics(LAKE, edition="release", model=[]))
    assert line.startswith('[{"train_split": {"Win Rate": null, "Judgement": null, ')
    assert line.endswith(', "Rationality": null, "Total": 1000}}]')
