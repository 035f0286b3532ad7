"""The methods that return a frame have the columns that their docstrings list."""

import inspect
import re
from collections.abc import Callable

import polars as pl
import pytest

from pipeline.api import Lake
from pipeline.metrics.registry import NAMES


@pytest.fixture(scope="module")
def lake(two_models: Lake) -> Lake:
    return two_models


def documented(method: str) -> set[str]:
    """The columns in a method's docstring: names in front of the colon, in the list `Columns`."""
    text = inspect.getdoc(getattr(Lake, method)) or ""
    listed = re.search(r"^Columns:\n\n(?P<items>(?:(?:- |  ).*\n?)+)", text, re.MULTILINE)
    assert listed, f"Lake.{method} returns a frame and does not list its columns"
    items = re.split(r"^- ", listed["items"], flags=re.MULTILINE)[1:]
    names = {name for item in items for name in re.findall(r"`(.+?)`", item.partition(": ")[0])}
    names -= {"by"}  # "the columns of `by`"
    wide = {name for name in names if "<metric>" in name}
    return (names - wide) | {one.replace("<metric>", name) for one in wide for name in NAMES}


# How each method that returns a frame is called, and the columns that come from the call.
CALLS: dict[str, tuple[Callable[[Lake], pl.DataFrame], set[str]]] = {
    "metrics": (lambda lake: lake.metrics(by=["model", "role"]), {"model", "role"}),
    "evidence": (lambda lake: lake.evidence("judgement"), set()),
    "evidence_page": (lambda lake: lake.evidence_page("judgement"), set()),
    "evidence_sum": (lambda lake: lake.evidence_sum("judgement"), set()),
    "leaderboard": (lambda lake: lake.leaderboard(), set()),
    "compare": (lambda lake: lake.compare(by=["game_type"], metric="judgement"), {"game_type"}),
    "compare_with": (lambda lake: lake.compare_with("role=civilian", metric="win_rate"), set()),
    "contrast": (lambda lake: lake.contrast("gpt-4", "role", metric="win_rate"), {"role"}),
    "settings_apart": (lambda lake: lake.settings_apart("gpt-4", "cohere", "win_rate"), set()),
    "plan": (lambda lake: lake.plan("win_rate", 0.2), set()),
    "radar": (lambda lake: lake.radar(), set()),
    "diff": (lambda lake: lake.diff(lake), set()),
    "diff_games": (lambda lake: lake.diff_games(lake), set()),
    "completeness": (lambda lake: lake.completeness(), set()),
    "missing": (lambda lake: lake.missing(), set()),
    "settings": (lambda lake: lake.settings(), set()),
    "readability": (lambda lake: lake.readability(), set()),
    "audit": (lambda lake: lake.audit(by=["game_type"]), {"game_type"}),
    "findings": (lambda lake: lake.findings("stated_votes"), set()),
    "judgement_by_chance": (lambda lake: lake.judgement_by_chance(), set()),
    "documents": (lambda lake: lake.documents(), set()),
    "document_counts": (lambda lake: lake.document_counts(), set()),
    "games": (lambda lake: lake.games(), set()),
    "models": (lambda lake: lake.models(), set()),
    "usage": (lambda lake: lake.usage(), set()),
    "ratings": (lambda lake: lake.ratings(), set()),
    "quarantine": (lambda lake: lake.quarantine(), set()),
    "tables": (lambda lake: lake.tables(), set()),
    "schema": (lambda lake: lake.schema("votes", "judgement"), set()),
}


@pytest.mark.some(8)
@pytest.mark.slow
@pytest.mark.parametrize("method", CALLS)
def test_the_columns_are_those_of_the_docstring(lake: Lake, method: str) -> None:
    call, of_the_call = CALLS[method]
    assert set(call(lake).columns) == documented(method) | of_the_call
