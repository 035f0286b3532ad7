"""What the Python interface says of itself: every public name, and every column that comes back."""

import inspect
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from pydoc import locate

import click
import polars as pl
import pytest

import pipeline
from pipeline import pages, plots
from pipeline.api import Game, Lake
from pipeline.cli.app import app
from pipeline.lake_methods import LakeWithMethods
from pipeline.metrics.registry import NAMES
from pipeline.pages.report import RenderedPage
from pipeline.render import ResultTable
from pipeline.reports.cite import Citation
from pipeline.reports.documents import SearchResult
from pipeline.reports.transcript import Transcript
from pipeline.verify import Verification

CLASSES = [Lake, Game, Transcript, Citation, SearchResult, ResultTable, RenderedPage, Verification]
CLASSES += [getattr(pipeline, name) for name in ("Metric", "Rows", "Term", "Combine", "GameType")]


@pytest.fixture(scope="module")
def lake(two_models: Lake) -> Lake:
    return two_models


def public() -> Iterator[tuple[str, object]]:
    """Every public name: those of the package, of what it returns, and of the plots."""
    for name in pipeline.__all__:
        if name != "__version__":
            yield name, getattr(pipeline, name)
    for kind in CLASSES:
        yield kind.__name__, kind
        for base in kind.__mro__:
            if base.__module__.startswith("pipeline."):
                for name, one in vars(base).items():
                    if name[0] != "_" and (callable(one) or isinstance(one, property)):
                        yield f"{kind.__name__}.{name}", one
    for name in ("plot_metric", "plot_profile", "plot_differences", "plot_columns", "chart_to_svg"):
        yield f"plots.{name}", getattr(plots, name)


@pytest.mark.parametrize("named", dict(public()).items(), ids=lambda named: named[0])
def test_every_public_name_says_what_it_is(named: tuple[str, object]) -> None:
    _, one = named
    text = inspect.getdoc(one) or ""
    assert len(text) > 20, "it has no docstring"
    assert text[0].isupper() and "." in text


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
# Their columns are those of the query.
FREE = {"sql"}


def returning_frames() -> set[str]:
    methods = {
        name: one
        for kind in (LakeWithMethods, Lake)
        for name, one in vars(kind).items()
        if inspect.isfunction(one)
    }
    returned = {name: inspect.signature(one).return_annotation for name, one in methods.items()}
    return {name for name, kind in returned.items() if name[0] != "_" and kind is pl.DataFrame}


def test_every_method_that_returns_a_frame_is_tried() -> None:
    assert returning_frames() - FREE == CALLS.keys()


@pytest.mark.some(8)
@pytest.mark.slow
@pytest.mark.parametrize("method", CALLS)
def test_the_columns_are_those_of_the_docstring(lake: Lake, method: str) -> None:
    call, of_the_call = CALLS[method]
    assert set(call(lake).columns) == documented(method) | of_the_call


# What a command is called in Python where it is no method of its name.
ELSEWHERE = {
    "show": "Lake.game",
    "sql": "Lake.sql",
    "view": "Lake.page",
    "ingest": "pipeline.ingest.ingest",
    "catalog": "pipeline.catalog.rebuild_catalog",
    "maintain": "pipeline.lake.maintain.maintain",
    "simulate": "pipeline.simulate.simulate",
    "convert": "pipeline.conversion.iter_converted_documents",
    "validate": "pipeline.conversion.iter_validated_documents",
}


_CONTEXT = click.Context(app)
COMMANDS = app.list_commands(_CONTEXT)


def test_every_command_has_its_method() -> None:
    named = {*COMMANDS}
    assert {name for name in named - ELSEWHERE.keys() if not hasattr(Lake, name)} == set()
    for name in named & ELSEWHERE.keys():
        assert callable(locate(ELSEWHERE[name].replace("Lake", "pipeline.api.Lake")))


# Options that say where the lake is, how an answer is shown or what the exit code is.
OF_COMMANDS = {
    *(
        "lake",
        "system",
        "names",
        "failures",
        "metric_file",
        "form",
        "safe",
        "out",
        "dry_run",
        "strict",
        "engine",
    ),
    *("fail_if_incomplete", "allow_contradictions", "allow_empty"),
}
# Options that choose another method or a part of its rows, each with the reason.
WITHOUT_PARAMETER = {
    "compare --with": "the method `compare_with`",
    "compare --all-pairs": "without pairs, `compare` takes all",
    "completeness --edition": "is for --readability",
    "completeness --incomplete": "a filter of rows",
    "completeness --missing": "the method `missing`",
    "completeness --readability": "the method `readability`",
    "convert --example": "a text",
    "diff --all": "a filter of rows",
    "diff --as-of": "opens the lake",
    "diff --list-games": "the method `diff_games`",
    "evidence --hits": "`hit=True`",
    "evidence --misses": "`hit=False`",
    "ingest --models-from": "a map as `model`",
    "ingest --master": "a Spark team",
    "ingest --watch": "`pipeline.ingest.wait_for_settled_files`",
    "leaderboard --percent": "`present(..., percent=True)`",
    "quarantine --export": "`pipeline.ingest.export`",
    "schema --interchange": "the JSON Schema",
    "show --seat": "`Game.items_seen_by`",
    "sql --file": "a file with the query",
    "sql --timeout": "a process of its own has the query",
    "view --host": "a server",
    "view --port": "a server",
    "view --browser": "a server",
}
# Where the method has the values of an option in another form.
MEANT = {
    "sql --parameter": "parameters",
    "games --won": "result",
    "games --lost": "result",
}
# An option with another name than its parameter: a word of Python, or what the command does by it.
NOT_A_NAME = {
    "compare method": "compare --with",
    "diff margin": "diff --fail-on-regression",
}


def parameters_of(command: str) -> set[str]:
    """The parameters of the method or function that does the command's job."""
    name = ELSEWHERE.get(command, f"Lake.{command}")
    if name.startswith("Lake."):
        function = getattr(Lake, name.removeprefix("Lake."))
    else:
        module, _, attribute = name.rpartition(".")
        function = getattr(import_module(module), attribute)
    return set(inspect.signature(function).parameters)


def addressed(page: str) -> tuple[str, ...]:
    """What the address of a page can say."""
    return pages.page_definition(page).parameters.__struct_fields__


def options_of(command: str) -> dict[str, str]:
    """The parameter of each option of the command, by `command --option`."""
    return {
        f"{command} {max(one.opts, key=len)}": one.name
        for one in app.get_command(_CONTEXT, command).params  # type: ignore[union-attr]
        if one.param_type_name == "option" and one.name not in OF_COMMANDS
    }


@pytest.mark.parametrize("command", COMMANDS)
def test_an_option_is_named_like_the_parameter(command: str) -> None:
    """A dash for each underscore, and no other difference but those declared."""
    known = parameters_of(command)
    for option, name in options_of(command).items():
        usual = f"{command} --{name.replace('_', '-')}"
        assert option == NOT_A_NAME.get(f"{command} {name}", usual)
        if option not in WITHOUT_PARAMETER:
            assert MEANT.get(option, name) in known, option


def test_every_difference_that_is_declared_is_there() -> None:
    options = {option for command in COMMANDS for option in options_of(command)}
    assert {*WITHOUT_PARAMETER, *MEANT} - options == set()


# The method whose answer a page shows, if it is not that of the page's name.
METHOD_OF = {"metric": "metrics", "model": "metrics"}
# What an address says besides: which rows are shown, and how.
OF_PAGES = {
    *("system", "after", "seen", "frame", "sort", "order", "roles", "edition", "percent"),
    "failures",
    *(
        "compare model",
        "compare other",
        "plan other",
        "diff since",
        "diff all_values",
        "games other",
        "game beside",
        "game metric",
        "sql x",
        "sql y",
    ),
    "tables table",
}


@pytest.mark.parametrize("page", pages.NAMES)
def test_an_address_has_the_words_of_the_method(page: str) -> None:
    method = getattr(Lake, METHOD_OF.get(page, page))
    known = set(inspect.signature(method).parameters)
    names = [name for name in addressed(page) if not {name, f"{page} {name}"} & OF_PAGES]
    assert [name for name in names if name not in known] == []
