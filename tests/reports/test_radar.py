"""The seven metrics around a point: as rows, as a picture, as a page and in the report."""

import xml.etree.ElementTree as ET
from pathlib import Path

import polars as pl
import pytest

import pipeline
from pipeline import plots
from pipeline.cli import main
from pipeline.errors import UsageError
from pipeline.ingest import ingest
from pipeline.metrics import TITLES
from pipeline.reports.radar import AXES
from pipeline.simulate import simulate

ORDER = (
    *("Judgement", "Reasoning", "Deception", "Cooperation"),
    *("Coordination", "Rationality", "Self-Awareness"),
)


@pytest.fixture(scope="module")
def lake(sample_lake: Path) -> pipeline.Lake:
    return pipeline.open_lake(sample_lake)


@pytest.fixture(scope="module")
def poor(tmp_path_factory: pytest.TempPathFactory) -> pipeline.Lake:
    """One model with a game or two of each competition: some metrics have no value."""
    top = tmp_path_factory.mktemp("poor")
    ingest(simulate(top / "logs", models=1, games=1, seed=2).results, top / "lake")
    return pipeline.open_lake(top / "lake")


def test_axes_are_in_the_papers_order() -> None:
    assert tuple(TITLES[name] for name in AXES) == ORDER


@pytest.mark.parametrize("edition", ["paper", "release"])
def test_values_are_those_of_the_leaderboard(lake: pipeline.Lake, edition: str) -> None:
    rows, board = lake.radar(edition=edition), lake.leaderboard(edition=edition)
    names = ["model", *AXES, "win_rate", "n_missing", "is_complete"]
    assert rows.select(names).equals(board.select(names))
    assert rows["edition"].unique().to_list() == [edition]
    valued = rows.drop_nulls("area")
    assert valued.select((pl.col("ci_low") < pl.col("area")).all()).item()
    assert valued.select((pl.col("ci_high") > pl.col("area")).all()).item()


def test_a_wider_confidence_is_a_wider_interval(lake: pipeline.Lake) -> None:
    narrow, wide = lake.radar(confidence=0.8), lake.radar(confidence=0.99)
    assert narrow["area"].equals(wide["area"])
    assert (narrow["ci_low"] > wide["ci_low"]).all()
    assert lake.radar(model="sim-cedar").height == 1


def test_without_a_metric_there_is_no_area(poor: pipeline.Lake) -> None:
    rows = poor.radar()
    assert rows.select("area", "ci_low", "ci_high").row(0) == (None, None, None)
    assert rows["reasons"][0].to_list() != []
    shown = poor.present("radar")
    assert any(line.startswith("– sim-atlas: ") for line in shown.notes)
    with pytest.raises(UsageError, match="no area to plot"):
        poor.plot_radar()
    assert "<svg" not in poor.page("radar").html.partition("<table")[0]


def test_the_picture_has_every_model_and_axis(lake: pipeline.Lake) -> None:
    rows = lake.radar().drop_nulls("area")
    assert rows.height > 1
    svg = plots.svg(plots.plot_radar(rows))
    nodes = list(ET.fromstring(svg).iter())
    texts = [part for node in nodes if node.tag.endswith("}text") for part in node.itertext()]
    for title in ORDER:
        assert texts.count(title) == rows.height
    for model in rows["model"]:
        assert texts.count(model) == 2  # its panel and its bar
    labels = [label for node in nodes if "area " in (label := node.get("aria-label") or "")]
    for row in rows.iter_rows(named=True):
        said = f"{row['model']}: area {row['area']:,.0f}; Judgement {100 * row['judgement']:.1f}, "
        assert any(label.startswith(said) for label in labels)
    assert "metrics in percent; grey: the other models" in texts
    one = plots.svg(plots.plot_radar(rows.head(1)))
    assert "other models" not in one


def test_the_outer_ring_is_100_and_a_value_above_is_marked(lake: pipeline.Lake) -> None:
    """Its number stands beside the dot, and the polygon of any other value ends within the ring."""
    rows = lake.radar().drop_nulls("area").head(1)
    said = "a dot has its value, above 100, beside it"
    numbers = {"rationality": 1.7, "deception": 1.1249}
    for above in ({"rationality": 1.7}, numbers):
        changed = {name: above.get(name, 1.0) for name in numbers}
        svg = plots.svg(plots.plot_radar(rows.with_columns(**changed)))
        nodes = [node for node in ET.fromstring(svg).iter() if node.tag.endswith("}text")]
        texts = [part for node in nodes for part in node.itertext()]
        shown = [texts.count(f"{100 * value:.0f}") for value in numbers.values()]
        assert shown == [int(name in above) for name in numbers]
        assert (said in texts) is bool(above)


def test_the_command_prints_rows_or_the_picture(
    sample_lake: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    def run(*more: str) -> str:
        assert main(["radar", "--lake", str(sample_lake), *more]) == 0
        return capfdbinary.readouterr().out.decode()

    assert run("--format", "svg").startswith("<svg")
    lake = pipeline.open_lake(sample_lake)
    assert run("--format", "csv").startswith("model,area,ci_low,ci_high,thin,judgement,")
    table = run("--edition", "release", "--model", "sim-delta")
    row = lake.radar(edition="release", model="sim-delta").row(0, named=True)
    assert f"{row['area']:,.0f} ({row['ci_low']:,.0f} to {row['ci_high']:,.0f})" in table
    assert f"{100 * row['win_rate']:.1f}" in table


def test_the_page_has_it(lake: pipeline.Lake) -> None:
    page = lake.page("radar")
    assert page.rows.equals(lake.radar())
    for said in ("an area ranks nothing", "Self-Awareness", "<svg"):
        assert said in page.html
