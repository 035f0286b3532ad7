"""The commands of games: lists of them, one of them, and what was said and counted in them."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pipeline.cells import counted
from pipeline.cli import terminal
from pipeline.cli.command import Asked
from pipeline.cli.options import DEFAULT_LAKE, Form, Texts
from pipeline.declared import argument, flag, option, several
from pipeline.errors import UsageError
from pipeline.vocabulary import DEFAULT_GAMES, Edition, Engine, Failures

if TYPE_CHECKING:
    import polars as pl


_ROWS = {
    "--hits": "with a hit",
    "--misses": "without a hit",
    "--unclear": "not clear or of unknown hit",
}


def games(
    asked: Asked,
    *,
    won: bool = flag("--won", "Only games that one of the seats won."),
    lost: bool = flag("--lost", "Only games that one of the seats lost; with --won, either."),
    **_: object,
) -> None:
    """Lists the games."""
    words = {"won": won, "lost": lost}
    asked.show("reports.games.games", result=[word for word in words if words[word]] or None)


def evidence(
    asked: Asked,
    *,
    metric: str = argument(
        "METRIC", "The metric, for example `judgement`.", "metrics", default=...
    ),
    lake: str = DEFAULT_LAKE,
    system: str | None = None,
    names: Path | None = None,
    failures: Failures = "exclude",
    edition: Edition = "paper",
    num_of_game: int = DEFAULT_GAMES,
    engine: Engine | None = None,
    master: str | None = None,
    model: Texts = None,
    game_type: Texts = None,
    hits: bool = flag("--hits", "Only hits, also partial ones."),
    misses: bool = flag("--misses", "Only misses."),
    unclear: bool = flag(
        "--unclear",
        "The rows that are not clear (`parse_status`) or of unknown hit, counted or not.",
    ),
    limit: int | None = option("N", "Only the first N rows.", min=0),
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
    words = {"--hits": hits, "--misses": misses, "--unclear": unclear}
    if len(chosen := [word for word in words if words[word]]) > 1:
        raise UsageError(
            f"{chosen[-1]} cannot be combined with {chosen[0]}: choose one, or leave out both to "
            "see all rows that were counted"
        )

    from pipeline.metrics.known import metric as declared
    from pipeline.reports.evidence_sum import sentence

    hit = hits if hits or misses else None
    terminal.note(sentence(metric, asked.answer("reports.evidence_sum.evidence_sum")))
    parts = asked.answer("metrics.evidence.evidence_parts", hit=hit, unclear=unclear)
    has_terms = len(declared(metric, edition).terms) > 1
    n_shown = asked.show_parts("evidence", parts, has_terms=has_terms, unclear=unclear)
    if limit is not None or chosen:
        wanted = _ROWS[chosen[0]] if chosen else "counted"
        totals = asked.answer("metrics.evidence.evidence_totals", hit=hit, unclear=unclear)
        terminal.note(_shown(totals, wanted, n_shown))


def _shown(totals: "pl.DataFrame", wanted: str, n_shown: int | None) -> str:
    """How many rows there are of those `wanted`, and how many of them are shown, if not all are.

    None of a table that was cut, which says so itself.
    """
    whole = totals.row(0, named=True)
    if not whole["counted"]:
        return f"no row {wanted}"
    are = "is" if n_shown == 1 else "are"
    is_told = n_shown is None or n_shown == whole["counted"]
    of_all = "" if is_told else f"; {n_shown:,} of them {are} shown"
    rows, games = counted(whole["counted"], "row"), counted(whole["n_games"], "game")
    return f"{rows} {wanted}, in {games}{of_all}"


def show(
    asked: Asked,
    *,
    game: str = argument(
        "GAME",
        "The game's id, its first characters, or the path of its log.",
        "games",
        default=...,
    ),
    lake: str = DEFAULT_LAKE,
    names: Path | None = None,
    failures: Failures = "exclude",
    seat: int | None = option("N", "Only the messages that seat N was shown.", min=1),
    edition: Edition = "paper",
    num_of_game: int = DEFAULT_GAMES,
    form: Literal["text", "json", "markdown"] = option(
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
    from pipeline.cli import transcript as page
    from pipeline.reports.tables import unknown_notes

    game_shown = asked.answer("reports.transcript.transcript")
    if form == "json":
        terminal.out_bytes(page.as_json(game_shown, seat).encode())
    elif seat is None:
        page.write(game_shown, form)
    else:
        page.write_seen(game_shown, seat, form)
    for line in unknown_notes(asked.lake, [str(game_shown.game["game_type"])]):
        terminal.note(line)


def search(
    asked: Asked,
    *,
    words: Texts = argument("WORDS", "Words to search for; put a phrase in quotes."),
    lake: str = DEFAULT_LAKE,
    names: Path | None = None,
    model: Texts = several("MODEL", "Only what this model said"),
    game_type: Texts = None,
    secret: bool = flag(
        "--secret", "Only messages in which a player says a secret word of the game."
    ),
    aloud: bool = flag("--aloud", "Only messages that another player was shown."),
    tested: bool = flag("--tested", "Only what players under test said."),
    limit: int = option("N", "Stop after N messages.", min=1, default=50),
    timeout: float = option("SECONDS", "Stop after so many seconds.", default=30.0),
    after: str | None = option("KEY", "Continue where an earlier search stopped."),
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
    found = asked.answer("reports.search.search", words=words or ())
    asked.show_table(asked.table("search", found.rows, found=found))


def audit(
    asked: Asked,
    *,
    kind: str | None = argument("KIND", "Print every finding of this kind."),
    by: list[str],
    **_: object,
) -> None:
    """Counts the findings of every kind, or lists those of one."""
    if kind is None:
        asked.show("reports.audit.audit")
        return
    if by:
        raise UsageError("--by cannot be combined with KIND: its rows are not grouped")
    if asked.show_parts("findings", asked.answer("reports.audit.findings_parts")) == 0:
        terminal.note(f"{kind}: no contradiction was found")
