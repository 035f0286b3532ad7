"""The cookbook of docs/sql.md: its queries run, and their answers are those of the sample.

`make generated` renews the answers and the list of views.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from generated import RENEW

import pipeline
from pipeline.render import markdown
from pipeline.render.table import Table
from pipeline.reports.sql_views import all_views, list_sql_schemas
from pipeline.warehouse import run_query

TOP = Path(__file__).resolve().parent.parent
PAGE = TOP / "docs" / "sql.md"
# A question, then its query, then its answer as a table, if it is there already.
RECIPE = re.compile(
    r"^### (?P<question>[^\n]+)\n.*?```sql\n(?P<query>.*?)```\n(?P<answer>\n(?:\|[^\n]*\n)+)?",
    re.MULTILINE | re.DOTALL,
)
SCHEMAS = re.compile(r"^\| schemas \|.*?\n(?=\n)", re.MULTILINE | re.DOTALL)
RECIPES = {found["question"]: found for found in RECIPE.finditer(PAGE.read_text(encoding="utf-8"))}


@pytest.fixture(scope="module")
def connection(sample_lake: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """All queries on one connection, since making all views takes a second."""
    with pipeline.open_lake(sample_lake).connect() as connection:
        yield connection


def answer(connection: duckdb.DuckDBPyConnection, question: str) -> str:
    return "".join(markdown.table(Table("", run_query(connection, RECIPES[question]["query"]))))


def schemas_table() -> str:
    """The schemas of SQL with their views, as the page has them: one row for all editions."""
    (metrics,) = (
        {*names} - {"metrics"} for schema, _, names in list_sql_schemas() if schema == "terms"
    )
    by_content: dict[str, dict[str, list[str]]] = {}
    for schema, meaning, names in list_sql_schemas():
        content = re.sub(r"^edition \w+: ", "", meaning)
        by_content.setdefault(content, {})[f"`{schema}`" if schema else "main"] = list(names)
    lines = ["| schemas | content | views |", "| --- | --- | --- |"]
    for content, views_of in by_content.items():
        shared = [
            name
            for name in next(iter(views_of.values()))
            if all(name in names for names in views_of.values())
        ]
        others = [f"`{name}`" for name in shared if name not in metrics]
        # Not every edition has every metric.
        one_per_metric = [] if metrics.isdisjoint(shared) else ["one per metric"]
        listed = [", ".join([*one_per_metric, *others])]
        for schema, view_names in views_of.items():
            only_here = [name for name in view_names if name not in (*shared, *metrics)]
            more = ", ".join(f"`{name}`" for name in only_here)
            listed += [f"only in {schema}: {more}"] if more else []
        lines.append(f"| {', '.join(views_of)} | {content} | {'; '.join(listed)} |")
    return "\n".join(lines) + "\n"


def test_the_page_lists_every_view() -> None:
    (table,) = SCHEMAS.findall(PAGE.read_text(encoding="utf-8"))
    assert table == schemas_table(), RENEW
    listed = {
        f"{schema}.{name}".lstrip(".") for schema, _, names in list_sql_schemas() for name in names
    }
    assert listed == all_views().keys()


@pytest.mark.some(4)
@pytest.mark.parametrize("question", RECIPES)
def test_a_recipe_gives_its_answer(connection: duckdb.DuckDBPyConnection, question: str) -> None:
    shown = answer(connection, question)
    assert shown.count("\n") > 2, "an answer has rows"
    assert (RECIPES[question]["answer"] or "").lstrip("\n") == shown, RENEW


def write_answers(lake: str) -> None:
    """Writes the page with the answers that its queries have on the lake."""
    with pipeline.open_lake(lake).connect() as connection:

        def filled(found: re.Match[str]) -> str:
            begin = found[0].removesuffix(found["answer"] or "")
            return f"{begin}\n{answer(connection, found['question'])}"

        text = RECIPE.sub(filled, PAGE.read_text(encoding="utf-8"))
        text = SCHEMAS.sub(lambda _: schemas_table(), text)
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_answers(sys.argv[1])
