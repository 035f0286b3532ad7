"""The commands for metric values, their comparison and completeness, and for games and messages."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from click.exceptions import Exit

from pipeline.cli import options, terminal
from pipeline.cli.command import CommandContext
from pipeline.cli.exit_codes import CHECK_FAILED
from pipeline.cli.options import DEFAULT_CONFIDENCE, DEFAULT_LAKE, Form, TextList
from pipeline.errors import UsageError
from pipeline.parameters import (
    GAME_TYPES_OPTION,
    argument_spec,
    flag_spec,
    option_spec,
    repeatable_option_spec,
    split_names,
)
from pipeline.text_format import format_count
from pipeline.vocabulary import DEFAULT_N_GAMES, Edition, Engine, Failures

if TYPE_CHECKING:
    import polars as pl

DEFAULT_GROUP_COLUMNS = "model,game_type"


def metrics(
    context: CommandContext,
    *,
    lake: str = DEFAULT_LAKE,
    system: str | None = None,
    edition: Edition = "paper",
    num_of_game: int = DEFAULT_N_GAMES,
    engine: Engine = "polars",
    master: str | None = None,
    by: list[str] = option_spec(
        "COLUMNS",
        f"Columns to group by, separated by commas; setting.KEY for a key of what was fixed "
        f"before play; '' for one group; may be repeated.  "
        f"[default: {DEFAULT_GROUP_COLUMNS}]",
        suggested="columns",
        check=lambda by: split_names(by or [DEFAULT_GROUP_COLUMNS]),
    ),
    model: TextList = None,
    metric: TextList = None,
    game_type: TextList = GAME_TYPES_OPTION,
    where: str | None = None,
    expected: int | None = None,
    confidence: float = DEFAULT_CONFIDENCE,
    form: Literal[
        "table", "json", "csv", "markdown", "latex", "parquet", "magic-json"
    ] = options.format_option("latex (booktabs), parquet, or magic-json"),
    metric_file: list[Path] | None = None,
) -> None:
    """Compute the metrics, with counts and confidence intervals.

    The intervals are clustered by setting: the settings played are taken as a sample of all
    settings. A value that cannot be computed is null, and `reason` says why. † marks a value if
    one of its terms has fewer than five settings of its own, and says how many.

    `--format magic-json` writes the JSON of the benchmark's own script, for one model of the
    release edition.

    \b
    Examples:
      magic metrics --model gpt-4 --format csv
      magic metrics --metric judgement --by model,role
      magic metrics --metric judgement --by system,model
      magic metrics --by opponent --where "n_rounds = 3 AND n_players = 4"
      magic metrics --edition release --num-of-game 20 --engine duckdb
      magic metrics --engine spark --master spark://head:7077
      magic metrics --edition release --model gpt-4 --format magic-json
    """
    if form == "magic-json":
        is_unfiltered = not (metric or game_type or where)
        has_default_groups = by == split_names([DEFAULT_GROUP_COLUMNS])
        if (
            edition != "release"
            or len(model or ()) != 1
            or not (is_unfiltered and has_default_groups)
        ):
            raise UsageError(
                "magic-json needs --edition release and exactly one --model, without --by, "
                "--metric, --game-type or --where"
            )
        from pipeline.metrics.registry import format_metrics_as_published_script

        rows = context.compute_result("metrics", confidence=None)
        terminal.write_result(format_metrics_as_published_script(rows) + "\n")
        missing = rows.filter(game_type="all").drop_nulls("reason").select("metric", "reason")
        for name, reason in missing.iter_rows():
            terminal.print_note(f"{name} is null: {reason}")
        return
    if system is None and "system" in by:
        context.lake = context.open_lake_of_all_systems()
    context.print_result("metrics")


def completeness(
    context: CommandContext,
    *,
    incomplete: bool = flag_spec("--incomplete", "Only rows that are not complete."),
    missing: bool = flag_spec(
        "--missing",
        "List every setting of which the model has finished too few games, with what was fixed in "
        "it, and the unfinished games.",
    ),
    readability: bool = flag_spec(
        "--readability", "By metric: rows not clear or missing, and the bounds of the value."
    ),
    edition: Edition = "paper",
    fail_if_incomplete: bool = flag_spec(
        "--fail-if-incomplete",
        "Exit with 4 if a model is not complete, or if there are no games of tested models.",
    ),
    expected: int | None,
    metric_file: list[Path] | None = None,
    **_: object,
) -> None:
    """Print found and missing games, or bounds of values; exit with 4 for --fail-if-incomplete."""
    if missing and (readability or expected is not None):
        raise UsageError("--missing works with neither --expected nor --readability")
    if edition != "paper" and not readability:
        raise UsageError("--edition works only with --readability")

    from pipeline.render.row_tables import NO_GAMES_MESSAGE, models_with_missing_games

    tested = context.lake.table("results").filter("is_tested").head(1)
    has_games = not tested.collect().is_empty()
    name = "readability" if readability else "completeness"
    rows = context.compute_result(name)
    table = context.build_table(name, rows)
    if readability and not has_games:
        table = table.with_notes(NO_GAMES_MESSAGE)
    if missing:
        missing_table = context.build_table("missing", context.compute_result("missing"), lake=None)
        context.print_table(missing_table.with_notes(*table.notes))
    else:
        is_displayed = ~rows["is_complete"].fill_null(value=False) if incomplete else True
        context.print_table(table.with_rows(rows.filter(is_displayed)))
    if fail_if_incomplete and (models_with_missing_games(rows) or not has_games):
        raise Exit(CHECK_FAILED)


def compare(
    context: CommandContext,
    *,
    model: TextList = argument_spec(
        "[MODEL [OTHER]]",
        "The two models to compare; or one, whose groups of --by are compared.",
        "models",
    ),
    all_pairs: bool = flag_spec("--all-pairs", "Compare every pair of models in the lake."),
    method: str | None = None,
    system: str | None = None,
    metric: TextList = None,
    by: Sequence[str],
    **_: object,
) -> None:
    """Print differences in metrics between two models, all models, or groups of one model."""
    models = model or []
    if method is not None and not (models or all_pairs or by):
        context.print_result("compare_with")
        return
    if system is None and any("@" in name for name in models):
        from pipeline.reports.compare import system_in_model_name

        lake = context.open_lake_of_all_systems()
        model_systems = [system_in_model_name(lake, name) for name in models]
        if any(model_systems):  # Set here, because `context.lake` prints a note about systems.
            first_system = model_systems[0]
            context.lake = (
                lake.for_system(first_system) if first_system else lake.for_single_system()
            )
    if (
        method
        or all_pairs is bool(models)
        or len(models) > 2
        or (len(models) == 1 and len(by) != 1)
    ):
        raise UsageError(
            "name two models, or one model with --by and one column, or use --all-pairs or --with "
            "alone"
        )
    if len(models) == 1:
        rows = context.compute_result("contrast", model=models[0], by=by[0])
    else:
        rows = context.compute_result("compare", *([tuple(models)] if models else []))
    table = context.build_table("compare", rows)
    absent_metrics = [name for name in metric or () if name not in rows["metric"]]
    if rows.height and absent_metrics:
        compared = f"groups of {', '.join(by)}" if by else "models"
        table = table.with_notes(
            f"nothing to compare in {', '.join(absent_metrics)}: there are fewer than two "
            f"{compared}"
        )
    context.print_table(table)


def diff(
    context: CommandContext,
    *,
    lakes: TextList = argument_spec(
        "[LAKE [LAKE]]",
        "The lakes before and after. One lake is compared with --lake. "
        "With --as-of, give one or none.",
    ),
    all: bool = flag_spec(
        "--all", "List all values, not only those that moved; json, csv and parquet have all."
    ),
    as_of: list[int] | None = option_spec(
        "INGEST",
        "Compare states of one lake: the state after this ingest with the latest state. "
        "Give it twice to compare two ingests.",
    ),
    list_games: bool = flag_spec("--list-games", "List the games that only one of the two has."),
    lake: str,
    system: str | None,
    names: Path | None,
    failures: Failures,
    model: TextList,
    metric: TextList,
    margin: float | None,
    form: str,
    **_: object,
) -> None:
    """Print changes of values between two lakes, or states of one; exit with 4 for a regression."""
    ingest_ids, paths = as_of or [], options.lake_paths_to_read(lake, lakes, as_of)
    if (len(paths), len(ingest_ids)) not in ((2, 0), (1, 1), (1, 2)):
        raise UsageError(
            "name two lakes, or one to compare with --lake; "
            "with --as-of (once or twice), name one lake or none"
        )

    from pipeline.lake import open_lake

    before = options.open_lake_of_system(
        paths[0], {"system": system}, ingest_ids[0] if ingest_ids else None
    )
    after = open_lake(paths[-1], ingest_ids[1] if len(ingest_ids) == 2 else None)
    before, after = options.apply_names_option_to_lakes([before, after], names)
    context.lake = options.apply_failures_option(before, failures, " before")
    after = options.apply_failures_option(after, failures, " after")
    if list_games:
        context.print_result("diff_games", after)
        if margin is None:
            return
    rows = context.compute_result("diff", after)
    if not list_games:
        # A user who names a model and a metric wants to see their values, even if unchanged.
        _print_summary_and_changed_values(
            context, rows, form, all_values=all or bool(model and metric)
        )
    if margin is None:
        return
    values = rows.filter(rows["value"].is_not_null() | rows["new_value"].is_not_null())
    if n_not_compared := values["is_regression"].null_count():
        terminal.print_note(
            f"{n_not_compared} of {values.height} values could not be compared: see `reason`, by "
            "--all"
        )
    regressions = rows.filter("is_regression").select("metric", "model", "difference")
    for metric_name, model_name, difference in regressions.iter_rows():
        terminal.print_note(f"regression: {metric_name} of {model_name} fell by {-difference:.4f}")
    if regressions.height:
        raise Exit(CHECK_FAILED)


def _print_summary_and_changed_values(
    context: CommandContext, rows: "pl.DataFrame", form: str, *, all_values: bool
) -> None:
    from pipeline.cli import output

    is_for_readers = form in ("table", "markdown")
    table = context.build_table("diff", rows, all_values=all_values or not is_for_readers)
    if is_for_readers:
        summary, *notes = table.notes
        output.print_heading(summary, form, level=3)
        table = replace(table, notes=notes)
    context.print_table(table)


_ROWS_BY_FILTER_OPTION = {
    "--hits": "with a hit",
    "--misses": "without a hit",
    "--unclear": "not clear or of unknown hit",
}


def games(
    context: CommandContext,
    *,
    won: bool = flag_spec("--won", "Only games that one of the seats won."),
    lost: bool = flag_spec("--lost", "Only games that one of the seats lost; with --won, either."),
    **_: object,
) -> None:
    """List the games."""
    results = [name for name, is_requested in (("won", won), ("lost", lost)) if is_requested]
    context.print_result("games", result=results or None)


def evidence(
    context: CommandContext,
    *,
    metric: str = argument_spec(
        "METRIC", "The metric, for example `judgement`.", "metrics", default=...
    ),
    lake: str = DEFAULT_LAKE,
    edition: Edition = "paper",
    num_of_game: int = DEFAULT_N_GAMES,
    engine: Engine | None = None,
    master: str | None = None,
    model: TextList = None,
    game_type: TextList = None,
    hits: bool = flag_spec("--hits", "Only hits, also partial ones."),
    misses: bool = flag_spec("--misses", "Only misses."),
    unclear: bool = flag_spec(
        "--unclear",
        "The rows that are not clear (`parse_status`) or of unknown hit, counted or not, of every "
        "role and game.",
    ),
    limit: int | None = option_spec("N", "Only the first N rows.", min=0),
    where: str | None = None,
    form: Form = "table",
    metric_file: list[Path] | None = None,
) -> None:
    """Print the rows that a metric counted: who, what, hit or miss, the message.

    A row is one decision. The rows' hits add up to the metric's hits, and the number of rows is the
    metric's `counted`. `message_index` is the position of the message in its game;
    `magic show GAME` prints the whole game.

    \b
    Examples:
      magic evidence judgement --model gpt-4 --misses
      magic evidence judgement --unclear
      magic evidence deception --game-type chameleon --limit 10
      magic evidence reasoning --format parquet > reasoning.parquet
      magic evidence judgement --limit 10 --engine spark
    """
    flags = {"--hits": hits, "--misses": misses, "--unclear": unclear}
    given_flags = [flag for flag, is_given in flags.items() if is_given]
    if len(given_flags) > 1:
        raise UsageError(
            f"{given_flags[-1]} cannot be combined with {given_flags[0]}: choose one, or leave out "
            "both to see all rows that were counted"
        )

    from pipeline.metrics.evidence import format_sum_sentence
    from pipeline.metrics.registry import metric_spec

    hit = hits if hits or misses else None
    terminal.print_note(format_sum_sentence(metric, context.compute_result("evidence_sum")))
    parts = context.compute_result("evidence_parts", hit=hit, unclear=unclear)
    has_terms = len(metric_spec(metric, edition).terms) > 1
    n_printed = context.print_result_in_parts(
        "evidence", parts, has_terms=has_terms, unclear=unclear
    )
    if limit is not None or given_flags:
        description = _ROWS_BY_FILTER_OPTION[given_flags[0]] if given_flags else "counted"
        totals = context.compute_result("evidence_totals", hit=hit, unclear=unclear).row(
            0, named=True
        )
        n_rows, n_games = totals["counted"], totals["n_games"]
        note = f"{format_count(n_rows, 'row')} {description}, in {format_count(n_games, 'game')}"
        # A table that was truncated has its own note.
        if n_printed not in (None, n_rows):
            note += f"; {n_printed:,} of them {'is' if n_printed == 1 else 'are'} shown"
        terminal.print_note(note if n_rows else f"no row {description}")


def show(
    context: CommandContext,
    *,
    game: str = argument_spec(
        "GAME",
        "The game's id, its first characters, or the path of its log.",
        "games",
        default=...,
    ),
    lake: str = DEFAULT_LAKE,
    seat: int | None = option_spec("N", "Only the messages that seat N was shown.", min=1),
    edition: Edition = "paper",
    num_of_game: int = DEFAULT_N_GAMES,
    form: Literal["text", "json", "markdown"] = option_spec(
        "FORM", "Output format: text, json (every row), or markdown.", "--format", default="text"
    ),
    metric_file: list[Path] | None = None,
) -> None:
    """Print one game as a transcript: players, messages, votes, what was counted.

    Each message says who was shown it. Below it stands what the metrics of the edition counted in
    it: ✓ is a hit, ✗ a miss, a number between 0 and 1 a partial hit, and ? an unknown one.

    \b
    Examples:
      magic show undercover/sim-atlas_competition_as_undercover_vs_gpt4/0.json
      magic show prisoner/sim-atlas_competition_prisoner_vs_gpt4/1.json --seat 2
      magic show 0f3a9c --edition audited --format markdown > game.md
    """
    from pipeline.cli.transcript import (
        transcript_to_json,
        write_messages_seen_by_seat,
        write_transcript,
    )
    from pipeline.metrics.completeness import unknown_or_changed_game_notes

    transcript = context.compute_result("transcript")
    if form == "json":
        terminal.write_result_bytes(transcript_to_json(transcript, seat).encode())
    elif seat is None:
        write_transcript(transcript, form)
    else:
        write_messages_seen_by_seat(transcript, seat, form)
    for note in unknown_or_changed_game_notes(context.lake, [str(transcript.game["game_type"])]):
        terminal.print_note(note)


def search(
    context: CommandContext,
    *,
    words: TextList = argument_spec("WORDS", "Words to search for; put a phrase in quotes."),
    lake: str = DEFAULT_LAKE,
    system: str | None = options.ANY_SYSTEM_OPTION,
    model: TextList = repeatable_option_spec("MODEL", "Only what this model said"),
    game_type: TextList = None,
    secret: bool = flag_spec(
        "--secret", "Only messages in which a player says a secret word of the game."
    ),
    aloud: bool = flag_spec("--aloud", "Only messages that another player was shown."),
    tested: bool = flag_spec("--tested", "Only what players under test said."),
    limit: int = option_spec("N", "Stop after N messages.", min=1, default=50),
    timeout: float = option_spec("SECONDS", "Stop after so many seconds.", default=30.0),
    after: str | None = option_spec("KEY", "Continue where an earlier search stopped."),
    form: Form = "table",
) -> None:
    """Search the messages of all games for words.

    A message is found if it contains all of the words. Case is ignored, no sign has a special
    meaning, and a word may be a part of a longer one. With --secret, no words are needed: it finds
    the secret words of each game, as whole words or with -s or -es. A last line says how much of
    the lake was searched, and how to continue. `magic show GAME` prints the whole game.

    \b
    Examples:
      magic search vote
      magic search "i vote for" --game-type chameleon --limit 5
      magic search contribute 10 --model gpt-4 --format json
      magic search --secret --aloud --tested
    """
    context.lake = context.open_lake_of_all_systems()
    result = context.compute_result("search", words=words or ())
    context.print_table(context.build_table("search", result.rows, found=result))


def audit(
    context: CommandContext,
    *,
    kind: str | None = argument_spec("KIND", "Print every finding of this kind."),
    by: list[str],
    **_: object,
) -> None:
    """Print how many contradictions of each kind the logs have, or list those of one kind."""
    if kind is None:
        context.print_result("audit")
        return
    if by:
        raise UsageError("--by cannot be combined with KIND: its rows are not grouped")
    if context.print_result_in_parts("findings", context.compute_result("iter_findings")) == 0:
        terminal.print_note(f"{kind}: no contradiction was found")
