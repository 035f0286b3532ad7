"""The registry lists what there is: each name leads to a function, and each function is listed."""

import re
import traceback
from importlib import import_module
from inspect import isfunction, signature
from pkgutil import iter_modules

import click
import pytest

import pipeline
from pipeline import pages, reports
from pipeline.api import Lake
from pipeline.cli import commands
from pipeline.cli.app import app
from pipeline.cli.options import VIEW_OPTIONS
from pipeline.lake.stored_lake import LakeView
from pipeline.lake_methods import LakeWithMethods
from pipeline.pages.content import EDITION_FIELD, VIEW_FIELDS, Field, create_parameters_class
from pipeline.registry import (
    COMMANDS,
    COMMANDS_WITHOUT_GAMES,
    LAKE_COMMANDS,
    MENU,
    OMITTED_VIEW_OPTIONS,
    REPORTS,
    RESULTS,
    load_command_function,
    load_result_function,
)
from pipeline.render import result_names
from pipeline.reports import ranking
from pipeline.reports.registry import find_report

REPORTS_WITHOUT_ARGUMENTS = [
    name
    for name in REPORTS
    if all(
        one.default is not one.empty
        for one in [*signature(load_result_function(name)).parameters.values()][1:]
    )
]


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_where_the_registry_says(name: str) -> None:
    assert load_result_function(name).__name__ == name
    if table := RESULTS[name].table:
        assert callable(getattr(import_module(f"pipeline.render.{table}"), name))


@pytest.mark.parametrize("name", REPORTS)
def test_a_summary_is_the_first_sentence_of_the_help(name: str) -> None:
    first = find_report(name).help.partition("\n\n")[0].replace("\n", " ")
    assert f"{first} ".startswith(f"{RESULTS[name].summary} ")
    assert RESULTS[name].summary.endswith(".")


def test_every_declared_report_is_listed() -> None:
    modules = [
        import_module(f"{reports.__name__}.{one.name}") for one in iter_modules(reports.__path__)
    ]
    declared = {
        name
        for module in modules
        for name, one in vars(module).items()
        if hasattr(one, "report") and one.__module__ == module.__name__
    }
    assert declared == {*REPORTS}


def test_every_function_of_the_commands_is_listed() -> None:
    modules = [
        import_module(f"{commands.__name__}.{one.name}") for one in iter_modules(commands.__path__)
    ]
    functions = {
        name: one
        for module in modules
        for name, one in vars(module).items()
        if isfunction(one) and one.__module__ == module.__name__ and name[0] != "_"
    }
    assert functions == {name: load_command_function(name) for name in COMMANDS if COMMANDS[name]}
    assert {name for name in COMMANDS if not COMMANDS[name]} <= {*REPORTS}


def test_every_result_with_a_table_is_a_method() -> None:
    assert [
        name for name in result_names() if not callable(getattr(LakeWithMethods, name, None))
    ] == []


def test_notes_name_the_lake_behind_commands_that_read_one() -> None:
    context = click.Context(app)
    for name in COMMANDS:
        made = app.get_command(context, name)
        assert made is not None
        options = {param.name for param in made.params}
        assert (name in LAKE_COMMANDS) is ("lake" in options and "lakes" not in options), name


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_that_selects_games_has_the_view_options(name: str) -> None:
    command = app.get_command(click.Context(app), name)
    assert command is not None
    options = {param.name for param in command.params}
    expected = {*VIEW_OPTIONS} - {*OMITTED_VIEW_OPTIONS.get(name, ())}
    # What a failed game counts is a question of the edition.
    expected -= {"failures"} if name in REPORTS and "edition" not in options else set()
    if name in COMMANDS_WITHOUT_GAMES:
        expected = set()
    assert options & {*VIEW_OPTIONS} == expected, (
        f"`magic {name}`: view options come from `signature_of_view_options` of cli/options.py; a "
        "command without one is named in COMMANDS_WITHOUT_GAMES or OMITTED_VIEW_OPTIONS of "
        "pipeline/registry.py"
    )


def test_view_options_are_those_of_a_lake() -> None:
    assert {*VIEW_OPTIONS} == {*LakeView.__struct_fields__}
    # `names` is an option of `magic view`, for all its pages.
    assert {field.name for field in VIEW_FIELDS} == {*VIEW_OPTIONS} - {"names"}, (
        "a view option needs a field in VIEW_FIELDS of pipeline/pages/content.py, or links lose it"
    )
    assert {*VIEW_OPTIONS} - {"system"} <= {*signature(pipeline.open_lake).parameters}


@pytest.mark.parametrize("option", [field.name for field in VIEW_FIELDS])
def test_a_field_of_a_page_cannot_hide_a_view_option(option: str) -> None:
    with pytest.raises(TypeError, match=f"`{option}` is a view option of all pages"):
        create_parameters_class(Field(option, "Another"))


@pytest.mark.parametrize("name", pages.NAMES)
def test_a_page_that_counts_has_the_fields_of_the_view(name: str) -> None:
    parameters = pages.page_definition(name).parameters
    fields = {field.name for field in parameters.FIELDS}
    has_editions = EDITION_FIELD in parameters.FIELDS
    assert not parameters.IS_OF_SYSTEM or "system" in fields
    assert has_editions <= ("failures" in fields)


@pytest.mark.parametrize("name", REPORTS_WITHOUT_ARGUMENTS)
def test_a_page_has_every_column_of_its_command(two_models: Lake, name: str) -> None:
    parameters = pages.parse_page_parameters(name, {})
    content = pages.compute_page_content(name, two_models, parameters)
    page = pages.render_page_fragment(name, content, parameters, pages.page_link)
    missing = {*headings(two_models.present(name).html())} - {*headings(page)}
    assert not missing, (
        f"the page `{name}` lacks {sorted(missing)}: let it display the rows of `Lake.{name}` with "
        "the function `table` of the templates"
    )


def headings(html: str) -> list[str]:
    cells = re.findall(r'<th[^>]*scope="col"[^>]*>(.*?)</th>', html, re.DOTALL)
    return [re.sub(r"<[^>]+>", "", cell).strip() for cell in cells]


def test_the_menu_has_only_pages() -> None:
    assert {*MENU} <= {*pages.NAMES}


def test_one_function_is_between_a_method_and_what_computes(
    two_models: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A traceback of a fault is short: the caller, one function of ours, the one that computes."""

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr(ranking, "compute_metrics", fail)
    with pytest.raises(RuntimeError) as raised:
        two_models.leaderboard()
    names = [frame.name for frame in traceback.extract_tb(raised.value.__traceback__)]
    assert names[1:] == ["call_with_lake", "leaderboard", "fail"]
