"""`magic search`: words in the messages of all games."""

from pipeline.cells import counted
from pipeline.cli import options, terminal
from pipeline.cli.options import argument, flag, option, several


def search(
    *,
    words: options.Texts = argument("WORDS", "Words to search for; put a phrase in quotes."),
    lake: options.LakeOption = options.DEFAULT_LAKE,
    model: options.Texts = several("MODEL", "Only what this model said"),
    game_type: options.GameTypesOption = None,
    secret: bool = flag(
        "--secret", "Only messages in which a player says a secret word of the game."
    ),
    aloud: bool = flag("--aloud", "Only messages that another player was shown."),
    tested: bool = flag("--tested", "Only what players under test said."),
    limit: int = option("N", "Stop after N messages.", min=1, default=50),
    timeout: float = option("SECONDS", "Stop after so many seconds.", default=30.0),
    after: str | None = option("KEY", "Continue where an earlier search stopped."),
    form: options.FormOption = "table",
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
    from pipeline.cli.output import answer
    from pipeline.lake import open_lake
    from pipeline.present.table import ID_SHOWN
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
    answer("search", result.rows, form, secret=secret)
    n_shown, is_cut = result.rows.height, result.key is not None
    stopped = f"--limit {limit}" if result.stopped == "limit" else f"--timeout {timeout:g}"
    terminal.note(
        f"{counted(n_shown, 'message')} found in {result.n_searched:,} of {result.n_messages:,} "
        f"messages{f'; stopped by {stopped}' if is_cut else ''}"
    )
    if is_cut:
        terminal.note(f"to continue: run the command again with --after {result.key}")
    if n_shown:
        terminal.note(f"to read a game: magic show {result.rows['game_id'][0][:ID_SHOWN]}")
