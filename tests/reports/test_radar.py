"""The seven metrics around a point: as rows, as a picture, as a page and in the report."""

import shutil
import xml.etree.ElementTree as ET
from math import pi, sin
from pathlib import Path
from typing import Any

import pytest

import pipeline
from pipeline import plots
from pipeline.cli import main
from pipeline.errors import UsageError
from pipeline.ingest import ingest
from pipeline.reports.ranking import RADAR_AXES
from pipeline.simulate import simulate

ORDER = (
    *("Judgement", "Reasoning", "Deception", "Cooperation"),
    *("Coordination", "Rationality", "Self-Awareness"),
)


@pytest.fixture(scope="module")
def lake(sample_lake: Path) -> pipeline.Lake:
    return pipeline.open_lake(sample_lake)


def _lake_of(top: Path, *kept: str, without: str = "-") -> pipeline.Lake:
    """The lake of simulated games of two models, of these folders only."""
    results = simulate(top / "logs", models=2, games=8, seed=2).results
    for folder in results.glob("*/*"):
        if (kept and folder.parent.name not in kept) or folder.match(without):
            shutil.rmtree(folder)
    ingest(results, top / "lake")
    return pipeline.open_lake(top / "lake")


@pytest.mark.some(1)
@pytest.mark.parametrize("edition", ["paper", "release"])
def test_values_are_those_of_the_leaderboard(lake: pipeline.Lake, edition: str) -> None:
    rows, board = lake.radar(edition=edition), lake.leaderboard(edition=edition)
    names = ["model", *RADAR_AXES, "win_rate", "n_missing", "is_complete"]
    assert rows.select(names).equals(board.select(names))
    assert rows["edition"].unique().to_list() == [edition]
    wide = lake.radar(edition=edition, confidence=0.99)
    assert wide["area"].equals(rows["area"])
    for row, wider in zip(rows.to_dicts(), wide.to_dicts(), strict=True):
        if row["area"] is not None:
            axes = [100 * row[name] for name in RADAR_AXES]
            neighbours = zip(axes, axes[1:] + axes[:1], strict=True)
            doubled = sum(one * other for one, other in neighbours)
            assert row["area"] == pytest.approx(sin(2 * pi / len(axes)) / 2 * doubled)
            ends = [each[name] for name in ("ci_low", "ci_high") for each in (wider, row)]
            assert ends[0] < ends[1] < row["area"] < ends[3] < ends[2]


@pytest.mark.slow
def test_a_model_without_an_area_is_named(tmp_path: Path) -> None:
    """One model lacks the games of two metrics: the other model's area has all seven metrics."""
    lake = _lake_of(tmp_path, without="airportfee/sim-atlas*")
    rows = lake.radar()
    assert rows.drop_nulls("area").height == 1
    alone = lake.radar(model="sim-atlas")
    assert alone.select("area", "ci_low", "ci_high").row(0) == (None, None, None)
    named = "– sim-atlas: no area: "
    [note] = [note for note in lake.present("radar").notes if note.startswith(named)]
    assert "cooperation: nothing to count: agreements" in note
    picture, _, table = lake.page("radar").html.partition("<table")
    assert "without an area: sim-atlas" in picture
    assert named in table
    with pytest.raises(UsageError, match="no area to plot: it needs at least 3 metrics"):
        plots.plot_radar(alone)


@pytest.mark.slow
def test_an_area_is_made_of_the_metrics_that_the_lake_has(tmp_path: Path) -> None:
    """Chameleon alone has four: their area is half of the product of both sums of opposite axes."""
    lake = _lake_of(tmp_path, "chameleon")
    axes = ["judgement", "reasoning", "deception", "self_awareness"]
    rows = lake.radar().drop_nulls("area")
    row = rows.row(0, named=True)
    first, second, third, fourth = (100 * row[name] for name in axes)
    assert row["area"] == pytest.approx((first + third) * (second + fourth) / 2)
    assert lake.radar(model=row["model"])["area"].item() == row["area"]
    named = "areas are of Judgement, Reasoning, Deception, Self-Awareness: no model has"
    assert any(note.startswith(named) for note in lake.present("radar").notes)
    svg = plots.chart_to_svg(plots.plot_radar(rows))
    assert "Deception" in svg
    assert "Rationality" not in svg


def texts_of(chart: Any) -> list[str]:
    nodes = ET.fromstring(plots.chart_to_svg(chart)).iter()
    return [part for node in nodes if node.tag.endswith("}text") for part in node.itertext()]


def test_the_picture_has_every_model_and_axis(lake: pipeline.Lake) -> None:
    rows = lake.radar().drop_nulls("area")
    chart = plots.plot_radar(rows)
    texts = texts_of(chart)
    for title in ORDER:
        assert texts.count(title) == rows.height
    for model in rows["model"]:
        assert texts.count(model) == 2  # its panel and its bar
    nodes = ET.fromstring(plots.chart_to_svg(chart)).iter()
    labels = [label for node in nodes if "area " in (label := node.get("aria-label") or "")]
    for row in rows.iter_rows(named=True):
        said = f"{row['model']}: area {row['area']:,.0f}; Judgement {100 * row['judgement']:.1f}, "
        assert any(label.startswith(said) for label in labels)
    assert "metrics in percent; grey: the other models" in texts


@pytest.mark.slow
def test_the_outer_ring_is_100_and_a_value_above_is_marked(lake: pipeline.Lake) -> None:
    """Its number stands beside the dot, and the polygon of any other value ends within the ring."""
    rows = lake.radar().drop_nulls("area").head(1)
    texts = texts_of(plots.plot_radar(rows.with_columns(rationality=1.7, deception=0.77)))
    assert [texts.count(value) for value in ("170", "77")] == [1, 0]
    assert "a dot has its value, above 100, beside it" in texts


@pytest.mark.slow
def test_the_command_and_the_page_show_rows_and_the_picture(
    sample_lake: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    def run(*more: str) -> str:
        assert main(["radar", "--lake", str(sample_lake), *more]) == 0
        return capfdbinary.readouterr().out.decode()

    assert run("--format", "svg").startswith("<svg")
    lake = pipeline.open_lake(sample_lake)
    page = lake.page("radar")
    assert page.rows.equals(lake.radar())
    assert "<svg" in page.html
    table = run("--edition", "release", "--model", "sim-delta")
    row = lake.radar(edition="release", model="sim-delta").row(0, named=True)
    assert f"{row['area']:,.0f} ({row['ci_low']:,.0f} to {row['ci_high']:,.0f})" in table
    assert f"{100 * row['win_rate']:.1f}" in table
