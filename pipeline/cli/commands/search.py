"""`magic search`: words in the messages of all games."""

from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from pipeline.cells import counted
from pipeline.cli import terminal
from pipeline.cli.options import DEFAULT_LAKE, FormOption, GameTypesOption, LakeOption

if TYPE_CHECKING:
    from pipeline.reports.search import Hits


def search(
    *,
    words: Annotated[
        list[str] | None,
        Argument(metavar="WORDS", help="Words to search for; put a phrase in quotes."),
    ] = None,
    lake: LakeOption = DEFAULT_LAKE,
    model: Annotated[
        list[str] | None, Option(metavar="MODEL", help="Only what this model said; repeatable.")
    ] = None,
    game_type: GameTypesOption = None,
    secret: Annotated[
        bool,
        Option("--secret", help="Only messages in which a player says a secret word of the game."),
    ] = False,
    aloud: Annotated[
        bool, Option("--aloud", help="Only messages that another player was shown.")
    ] = False,
    tested: Annotated[bool, Option("--tested", help="Only what players under test said.")] = False,
    limit: Annotated[int, Option(min=1, metavar="N", help="Stop after N messages.")] = 50,
    timeout: Annotated[float, Option(metavar="SECONDS", help="Stop after so many seconds.")] = 30.0,
    after: Annotated[
        str | None, Option(metavar="KEY", help="Continue where an earlier search stopped.")
    ] = None,
    form: FormOption = "table",
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
    from pipeline.cli.output import show
    from pipeline.lake import open_lake
    from pipeline.present import present
    from pipeline.reports.search import search as searched

    result = searched(
        open_lake(lake),
        words or (),
        model=model,
        game_type=game_type,
        secret=secret,
        aloud=aloud,
        tested=tested,
        limit=limit,
        timeout=timeout,
        after=after,
    )
    show(present("search", result.rows, secret=secret), form)
    bounds = {"limit": f"--limit {limit}", "time": f"--timeout {timeout:g}", "end": ""}
    for line in _notes(result, bounds[result.stopped]):
        terminal.note(line)


def _notes(result: "Hits", bound: str) -> list[str]:
    """How much was searched, how to go on, and how to read a game."""
    from pipeline.present.table import ID_SHOWN

    lines = [
        f"{counted(result.rows.height, 'message')} found in {result.n_searched:,} of "
        f"{result.n_messages:,} messages" + (f"; stopped by {bound}" if result.key else "")
    ]
    if result.key:
        lines.append(f"to continue: run the command again with --after {result.key}")
    if result.rows.height:
        lines.append(f"to read a game: magic show {result.rows['game_id'][0][:ID_SHOWN]}")
    return lines
