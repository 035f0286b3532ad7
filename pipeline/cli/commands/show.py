"""`magic show`: one game as a transcript."""

from typing import Literal

from pipeline.cli import options, suggestions, terminal
from pipeline.cli.options import argument, option


@options.with_metric_files
def show(
    *,
    game: str = argument(
        "GAME",
        "The game's id, its first characters, or the path of its log.",
        suggestions.games,
        default=...,
    ),
    lake: options.LakeOption = options.DEFAULT_LAKE,
    seat: int | None = option("N", "Only the messages that seat N was shown.", min=1),
    edition: options.EditionOption = "paper",
    num_of_game: options.NumOfGameOption = None,
    form: Literal["text", "json", "markdown"] = option(
        "FORM", "Output format: text, json (every row), or markdown.", "--format", default="text"
    ),
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
    num_of_game = options.games_counted(edition, num_of_game)

    from pipeline.cli import transcript as page
    from pipeline.lake import open_lake
    from pipeline.reports.transcript import transcript
    from pipeline.reports.unknown import unknown_notes

    opened = open_lake(lake)
    game_shown = transcript(opened, game, edition=edition, num_of_game=num_of_game)
    if form == "json":
        terminal.out_bytes(page.as_json(game_shown, seat).encode())
    elif seat is None:
        page.write(game_shown, form)
    else:
        page.write_seen(game_shown, seat, form)
    for line in unknown_notes(opened, [str(game_shown.game["game_type"])]):
        terminal.note(line)
