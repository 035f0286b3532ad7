"""`magic evidence`: the rows behind a metric's value."""

from functools import partial
from typing import TYPE_CHECKING

from pipeline.cells import counted
from pipeline.cli import options, suggestions, terminal
from pipeline.cli.options import argument, flag, option
from pipeline.errors import UsageError

if TYPE_CHECKING:
    import polars as pl


@options.with_metric_files
def evidence(
    *,
    metric: str = argument(
        "METRIC", "The metric, for example `judgement`.", suggestions.metrics, default=...
    ),
    lake: options.LakeOption = options.DEFAULT_LAKE,
    system: options.SystemOption = None,
    edition: options.EditionOption = "paper",
    num_of_game: options.NumOfGameOption = None,
    model: options.ModelsOption = None,
    game_type: options.GameTypesOption = None,
    hits: bool = flag("--hits", "Only hits, also partial ones."),
    misses: bool = flag("--misses", "Only misses."),
    limit: int | None = option("N", "Only the first N rows.", min=0),
    where: options.WhereOption = None,
    form: options.FormOption = "table",
) -> None:
    """Print the rows that a metric counted: who, what, hit or miss, the message.

    A row is one decision. The rows' hits add up to the metric's hits, and the number of rows is the
    metric's `counted`. `message_index` is the position of the message in its game;
    `magic show GAME` prints the whole game.

    \b
    Examples:
      magic evidence judgement --model gpt-4 --misses
      magic evidence deception --game-type chameleon --limit 10
      magic evidence reasoning --format parquet > reasoning.parquet
    """
    if hits and misses:
        raise UsageError("--misses cannot be combined with --hits: leave out both to see all rows")
    num_of_game = options.games_counted(edition, num_of_game)

    from pipeline.cli.output import show_parts
    from pipeline.metrics.evidence import Choices, evidence_parts, evidence_totals
    from pipeline.metrics.known import metric as declared
    from pipeline.present import present
    from pipeline.reports.evidence_sum import evidence_sum, sentence

    opened = options.lake_of(lake, system)
    choices: Choices = {
        "edition": edition,
        "num_of_game": num_of_game,
        "model": model,
        "game_type": game_type,
        "where": where,
    }
    hit = hits if hits or misses else None
    terminal.note(sentence(metric, evidence_sum(opened, metric, **choices)))
    n_shown = show_parts(
        evidence_parts(opened, metric, hit=hit, limit=limit, **choices),
        form,
        partial(present, "evidence", has_terms=len(declared(metric, edition).terms) > 1),
    )
    if limit is not None or hit is not None:
        wanted = "with a hit" if hits else "without a hit" if misses else "counted"
        terminal.note(_shown(evidence_totals(opened, metric, hit=hit, **choices), wanted, n_shown))


def _shown(totals: "pl.DataFrame", wanted: str, n_shown: int | None) -> str:
    """How many rows there are of those `wanted`, and how many of them are shown, if not all are.

    None of a table that was cut, which says so itself.
    """
    whole = totals.row(-1, named=True)
    if not whole["counted"]:
        return f"no row {wanted}"
    are = "is" if n_shown == 1 else "are"
    is_told = n_shown is None or n_shown == whole["counted"]
    of_all = "" if is_told else f"; {n_shown:,} of them {are} shown"
    rows, games = counted(whole["counted"], "row"), counted(whole["n_games"], "game")
    return f"{rows} {wanted}, in {games}{of_all}"
