"""The examples of docstrings run on the sample, and print what they say."""

import inspect
from collections.abc import Iterator
from doctest import ELLIPSIS, DocTest, DocTestFinder, DocTestRunner
from pathlib import Path

import polars as pl
import pytest

import pipeline
from pipeline import plots
from pipeline.api import Lake

# What `>>> lake` and the like stand for: see `sample`.
CHARTS = ("plot_metric", "plot_profile", "plot_differences", "plot_columns", "chart_to_svg")
# These need a file, take long, or are of the storage beneath: nobody begins with them.
WITHOUT = {
    *(
        "write_catalog",
        "with_metric_file",
        "report",
        "split_by_system",
        "row_counts_by_file",
        "damage",
        "delta_table",
        "file_schema",
    ),
    *(
        "table_files",
        "table_folder",
        "row_filter",
        "with_view",
        "has_later_commits",
        "is_newest",
        "latest_version",
        "may_have_game_type",
    ),
    *("for_single_system", "compute_once", "file_sizes_bytes"),
}


def documented() -> Iterator[tuple[str, object]]:
    """What has a docstring that users read: `open_lake`, the lake's methods, the plots."""
    yield "open_lake", pipeline.open_lake
    yield from ((name, getattr(plots, name)) for name in CHARTS)
    for name, method in inspect.getmembers(Lake, inspect.isfunction):
        if name[0] != "_" and name not in WITHOUT:
            yield f"lake.{name}", method


OBJECTS = dict(documented())


def examples_of(name: str, value: object) -> DocTest:
    (found,) = DocTestFinder(recurse=False).find(inspect.unwrap(value), name, module=False)
    return found


@pytest.fixture
def sample(sample_lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """The names that examples use, in a folder where `lake/` is the sample."""
    (tmp_path / "lake").symlink_to(sample_lake)
    monkeypatch.chdir(tmp_path)
    charts = {name: getattr(plots, name) for name in CHARTS}
    return {"lake": pipeline.open_lake("lake/"), "pipeline": pipeline, "pl": pl, **charts}


@pytest.mark.some(4)
@pytest.mark.parametrize("name", OBJECTS)
def test_an_example_prints_what_it_says(name: str, sample: dict[str, object]) -> None:
    test = examples_of(name, OBJECTS[name])
    assert test.examples, "its docstring has no example"
    assert all(one.want for one in test.examples[-1:]), "the last line of an example prints nothing"
    test.globs = sample
    said: list[str] = []
    failed, _ = DocTestRunner(optionflags=ELLIPSIS).run(test, out=said.append)
    assert failed == 0, "".join(said)
