"""The registry lists what there is: each name leads to a function, with the options it needs."""

import re
from inspect import signature

import click
import pytest

import pipeline
from pipeline import pages
from pipeline.api import Lake
from pipeline.cli.app import app
from pipeline.cli.options import VIEW_OPTIONS
from pipeline.lake.stored_lake import LakeView
from pipeline.pages.content import EDITION_FIELD, VIEW_FIELDS, Field, create_parameters_class
from pipeline.registry import (
    COMMANDS,
    COMMANDS_WITHOUT_GAMES,
    OMITTED_VIEW_OPTIONS,
    REPORTS,
    load_result_function,
)

REPORTS_WITHOUT_ARGUMENTS = [
    name
    for name in REPORTS
    if all(
        one.default is not one.empty
        for one in [*signature(load_result_function(name)).parameters.values()][1:]
    )
]


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


@pytest.mark.slow
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
