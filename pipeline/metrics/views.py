"""What the views beside the tables mean: a sentence for each, and a description for each column."""

from collections.abc import Collection
from typing import NamedTuple

from pipeline import sqlfiles
from pipeline.events.contracts import TABLES
from pipeline.metrics import sql
from pipeline.metrics.catalogue import NAMES
from pipeline.metrics.request import EDITIONS


class View(NamedTuple):
    """What one row is, and the SQL file whose header describes the columns that no table has."""

    row: str
    file: str


def meanings() -> dict[str, View]:
    """Every view that is for users, by its name."""
    found: dict[str, View] = {}
    for edition in EDITIONS:
        for name in NAMES:
            found |= _of_metric(name, edition)
        of_all = f"the value of one metric, edition {edition}, for one model and game type"
        found[sql.view_of_all(edition)] = View(of_all, "value")
    for kind in sqlfiles.names("audit"):
        found[f"audit_{kind}"] = View(_row(f"audit/{kind}"), "findings")
    return found | {
        name: View(_row(f"readings/{name}"), f"readings/{name}") for name in sql.READINGS
    }


def _of_metric(name: str, edition: str) -> dict[str, View]:
    view, row = sql.sql_metric(name, edition).view, _row(sql.file_of(name, edition))
    value = f"the value of {name}, edition {edition}, for one model and game type"
    return {
        view: View(value, "value"),
        f"{view}_by_term": View(f"a term of {value}", "by_term"),
        f"{view}_rows": View(row, "evidence"),
        f"{view}_evidence": View(f"{row}, if it was counted", "evidence"),
    }


def _row(file: str) -> str:
    return sqlfiles.header(file)["row"][0]


def descriptions(name: str, made_of: Collection[str]) -> dict[str, str]:
    """What columns mean, of those that the view can have, from what it is made of.

    What its own file says goes first. What tables do not say alike is left out.
    """
    known = meanings()
    alike: dict[str, set[str]] = {}
    for table in TABLES.keys() & set(made_of):
        for column, declared in TABLES[table].columns().items():
            alike.setdefault(column, set()).add(declared.description or "")
    found = {column: told.pop() for column, told in alike.items() if len(told) == 1}
    for view in (*(one for one in made_of if one in sql.READINGS), name):
        lines = sqlfiles.header(known[view].file)["column"]
        found |= dict(line.split(" | ", 1) for line in lines)
    return found
