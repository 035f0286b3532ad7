"""Options that several commands share."""

import sys
from typing import Annotated, Any, Literal

import typer

Form = Literal["table", "json", "csv", "markdown", "parquet"]

DEFAULT_LAKE = "lake"


def _refuse_binary_on_a_terminal(form: str) -> str:
    if form == "parquet" and sys.stdout.isatty():
        raise typer.BadParameter("parquet is binary; send it to a file, as in `> rows.parquet`")
    return form


def form_option(last: str = "or parquet") -> Any:
    """The option --format, for whatever forms a command has."""
    return typer.Option(
        "--format",
        callback=_refuse_binary_on_a_terminal,
        metavar="FORM",
        help=f"How to write it: table, json (a list of records), csv, markdown, {last}.",
    )


LakeOption = Annotated[
    str,
    typer.Option(
        "--lake",
        envvar="MAGIC_LAKE",
        show_envvar=True,
        metavar="DIR",
        help="The lake: the folder that holds the tables, or a URL such as s3://bucket/lake.",
    ),
]
FormOption = Annotated[Form, form_option()]
EditionOption = Annotated[
    Literal["paper", "release"],
    typer.Option(
        "--edition",
        metavar="EDITION",
        help="paper: the formulas as published; release: as the published script computes them.",
    ),
]
EngineOption = Annotated[
    Literal["polars", "duckdb"],
    typer.Option("--engine", metavar="ENGINE", help="What computes: polars or duckdb."),
]
GamesOption = Annotated[
    int | None,
    typer.Option(
        "--games",
        min=1,
        metavar="N",
        help="With --edition release: only games numbered below N, 21 if not given.",
    ),
]
ModelsOption = Annotated[
    list[str] | None,
    typer.Option("--model", metavar="MODEL", help="Only this model; may be given several times."),
]


def number_of_games(edition: str, games: int | None) -> int:
    """The N of --games or its default; raises where it makes no sense."""
    from pipeline.metrics.request import DEFAULT_GAMES

    if games is None:
        return DEFAULT_GAMES
    if edition != "release":
        raise typer.BadParameter("only with --edition release", param_hint="--games")
    return games
