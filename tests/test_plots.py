"""Plots: they show the values of the API, refer to nothing outside, and run nothing."""

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from importlib.util import find_spec

import polars as pl
import pytest

import pipeline
from pipeline import plots
from pipeline.api import Lake
from pipeline.errors import PipelineError, UsageError
from pipeline.ingest import ingest
from pipeline.metrics import NAMES, TITLES
from pipeline.metrics.registry import highest_possible_metric_value
from pipeline.simulate import simulate

EVIL = '<img src=x onerror="alert(1)">\x1b[2J\u202e ]]> {{7*7}} datum.x"\' javascript:alert(1)'
SPACE = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Games of three models, of which one has a hostile name."""
    top = tmp_path_factory.mktemp("plots")
    simulated = simulate(top / "logs", models=3, games=1, seed=2)
    evil = EVIL.encode("unicode_escape").decode().replace("\\x", "\\u00").replace('"', '\\"')
    for log in simulated.results.rglob("*.json"):
        log.write_text(log.read_text().replace(simulated.models[0], evil))
    ingest(simulated.results, top / "lake")
    return pipeline.open_lake(top / "lake")


def texts(svg: str) -> list[str]:
    return [text for node in ET.fromstring(svg).iter(f"{SPACE}text") for text in [node.text or ""]]


def labels(svg: str, kind: str = "point") -> list[str]:
    """What a reader of the screen says of each mark of a kind."""
    marks = ET.fromstring(svg).iter()
    return [mark.attrib["aria-label"] for mark in marks if mark.get("aria-roledescription") == kind]


def said(label: str) -> tuple[float, ...]:
    """The value of a label, and the ends of its interval."""
    value, *ends = re.findall(r"-?\d+\.\d{4}", label.rpartition(": ")[2])
    return (float(value), *map(float, ends))


def expected(rows: pl.DataFrame, value: str = "value") -> list[tuple[float, ...]]:
    drawn = rows.filter(pl.col(value).is_not_null()).select(value, "ci_low", "ci_high")
    return [tuple(round(one, 4) for one in row) for row in drawn.iter_rows()]


def close(found: list[tuple[float, ...]], wanted: list[tuple[float, ...]]) -> bool:
    pairs = zip(sorted(found), sorted(wanted), strict=True)
    return all(one == pytest.approx(other, abs=1.01e-4) for one, other in pairs)


@pytest.mark.some(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_metric_is_drawn_with_the_values_of_the_api(lake: Lake, name: str) -> None:
    drawn = labels(plots.chart_to_svg(lake.plot_metric(name)))
    rows = lake.metrics(metric=[name], by=["model"])
    assert close([said(label) for label in drawn], expected(rows))
    by_type = plots.chart_to_svg(lake.plot_metric(name, by="game_type"))
    rows = lake.metrics(metric=[name])
    assert close([said(label) for label in labels(by_type)], expected(rows))
    if rows["game_type"].n_unique() > 1:
        assert set(rows["game_type"]) <= set(texts(by_type))


def test_dots_are_where_their_values_are(lake: Lake) -> None:
    """The place of each dot on the axis, from the picture itself."""
    svg = plots.chart_to_svg(lake.plot_metric("win_rate"))
    points = [
        node
        for node in ET.fromstring(svg).iter(f"{SPACE}path")
        if node.get("aria-roledescription") == "point"
    ]
    assert points
    for point in points:
        (x, _) = re.findall(r"[-\d.]+", point.attrib["transform"])
        (value, *_) = said(point.attrib["aria-label"])
        assert float(x) / plots.WIDTH == pytest.approx(value, abs=2e-3)


def test_a_profile_has_the_model_and_the_field(lake: Lake) -> None:
    rows = lake.metrics(by=["model"])
    model = rows["model"].max()
    svg = plots.chart_to_svg(lake.plot_profile(model))
    own = rows.filter(model=model)
    assert close([said(label) for label in labels(svg)], expected(own))
    paths = ET.fromstring(svg).iter(f"{SPACE}path")
    assert sum(path.get("fill") == plots.NEUTRAL_COLOR for path in paths) == rows["value"].count()
    assert {TITLES[name] for name in NAMES} <= set(texts(svg))
    with pytest.raises(UsageError, match="nobody"):
        lake.plot_profile("nobody")


@pytest.mark.slow
def test_differences_are_those_of_compare(lake: Lake) -> None:
    one, *others = lake.leaderboard()["model"]
    pairs = [(one, other) for other in others]
    svg = plots.chart_to_svg(lake.plot_compare(*pairs))
    rows = lake.compare(*pairs)
    assert close([said(label) for label in labels(svg)], expected(rows, "difference"))


def test_two_columns_of_a_query(lake: Lake) -> None:
    rows = lake.sql(
        "SELECT n_messages, game_type, started_at, is_finished, [1] AS l, 1/0.0 AS i FROM games"
    ).with_columns(at=pl.datetime(2024, 1, pl.col("n_messages") % 28 + 1))
    drawn = labels(plots.chart_to_svg(plots.plot_columns(rows, "n_messages", "game_type")))
    found = [re.fullmatch(r"n_messages: (\d+)\.0; game_type: (\w+)", label) for label in drawn]
    assert sorted((int(one[1]), one[2]) for one in found if one) == sorted(
        rows.select("n_messages", "game_type").iter_rows()
    )
    assert (
        len(labels(plots.chart_to_svg(plots.plot_columns(rows, "at", "is_finished"))))
        == rows.height
    )
    assert labels(plots.chart_to_svg(plots.plot_columns(rows, "i", "n_messages"))) == []
    for x, complaint in (("l", "lists"), ("nothing", "choose from n_messages")):
        with pytest.raises(UsageError, match=complaint):
            plots.plot_columns(rows, x, "n_messages")
    many = pl.DataFrame({"x": range(5000)}).with_columns(name=pl.format("n{}", "x"))
    assert "the first 2,000 of 5,000 rows" in texts(
        plots.chart_to_svg(plots.plot_columns(many, "x", "x"))
    )
    with pytest.raises(UsageError, match="different names"):
        plots.plot_columns(many, "x", "name")


def evil_columns(lake: Lake) -> object:
    rows = pl.DataFrame({EVIL: [1, 2], "a.b[0]": [EVIL, None]})
    return plots.plot_columns(rows, EVIL, "a.b[0]")


CHARTS: dict[str, Callable[[Lake], object]] = {
    "metric": lambda lake: lake.plot_metric("judgement"),
    "panels": lambda lake: lake.plot_metric("win_rate", by="model"),
    "profile": lambda lake: lake.plot_profile(EVIL),
    "differences": lambda lake: lake.plot_compare(
        (EVIL, next(one for one in lake.leaderboard()["model"] if one != EVIL))
    ),
    "columns": evil_columns,
}


@pytest.mark.some(2)
@pytest.mark.parametrize("name", CHARTS)
def test_hostile_names_are_drawn_as_text(lake: Lake, name: str) -> None:
    svg = plots.chart_to_svg(CHARTS[name](lake), "own")
    root = ET.fromstring(svg)
    kinds = {node.tag.removeprefix(SPACE) for node in root.iter()}
    assert kinds <= {"svg", "g", "rect", "path", "text", "line", "defs", "clipPath"}
    attributes = {attribute for node in root.iter() for attribute in node.attrib}
    assert not {one for one in attributes if one.startswith("on") or one in ("style", "href")}
    assert [sign for sign in ("\x1b", "\u202e", plots.TEXT_COLOR) if sign in svg] == []
    fills = {node.get("fill") for node in root.iter(f"{SPACE}text")}
    assert fills == {"currentColor"}, "texts do not follow the theme of the page"
    assert any(text.startswith("<img src=x") for text in (*texts(svg), *labels(svg)))
    # Nothing is fetched: the only addresses are the names of SVG's own vocabulary.
    assert set(re.findall(r"\w+://[\w.]+", svg)) <= {"http://www.w3.org"}
    assert all(one.startswith("own-") for one in re.findall(r'\bid="([^"]*)"', svg))


def test_without_the_extra_an_error_says_what_to_install(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(PipelineError, match=r"\[view\]"):
        lake.plot_metric("judgement")


@pytest.mark.slow
@pytest.mark.skipif(find_spec("rfc3987_syntax") is None, reason="Jupyter is not installed")
def test_no_plot_waits_for_the_grammars_of_addresses_and_they_are_there_for_others() -> None:
    lines = """
import sys
import polars as pl
from pipeline import plots
plots.chart_to_svg(plots.plot_columns(pl.DataFrame({"x": [1], "y": [2]}), "x", "y"))
assert "altair" in sys.modules
assert "rfc3987_syntax" not in sys.modules
from jsonschema import FormatChecker
assert FormatChecker().conforms("http://ü.example/ä", "iri")
assert not FormatChecker().conforms("http:// ü", "iri")
assert "rfc3987_syntax" in sys.modules
"""
    run = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=False)
    assert not run.returncode, run.stderr


def test_a_row_of_one_game_type_has_the_scale_of_its_terms(lake: Lake) -> None:
    """Rationality reaches 2 with both games, and 1 in each of them."""
    ends = [
        highest_possible_metric_value("rationality", "paper", lake.game_types, row_type)
        for row_type in ("all", "public_good", "prisoners_dilemma")
    ]
    assert ends == [2, 1, 1]
    assert highest_possible_metric_value("deception", "paper", lake.game_types, "undercover") == 1
    assert highest_possible_metric_value("deception", "paper", ["undercover"]) == 1
    assert highest_possible_metric_value("deception", "paper", lake.game_types, "chameleon") == 1.25
    types = lake.metrics(metric="rationality", game_type="public_good", by=["model", "game_type"])
    spec = plots.plot_metric(types.filter(pl.col("game_type") != "all")).to_dict()
    assert spec["layer"][1]["encoding"]["x"]["scale"]["domain"] == [0, 1]
