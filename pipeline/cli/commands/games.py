"""`magic games`: the games of the lake, by what they are."""

from pipeline.cli import options, suggestions, terminal
from pipeline.cli.options import option, several


def games(
    *,
    lake: options.LakeOption = options.DEFAULT_LAKE,
    model: options.Texts = several(
        "MODEL", "Only games in which this model sits, tested or not", suggestions.models
    ),
    game_type: options.GameTypesOption = None,
    competition: options.Texts = several(
        "NAME", "Only games that count for this competition", suggestions.competitions
    ),
    setting_id: str | None = option("ID", "Only this setting: its id or beginning."),
    outcome: options.Texts = several(
        "OUTCOME", "Only this outcome, or `unfinished`", suggestions.outcomes
    ),
    path: str | None = option("TEXT", "Only logs whose path contains this text."),
    limit: int | None = option("N", "Only the first N games.", min=1),
    form: options.FormOption = "table",
) -> None:
    """List games: type, tested models, outcome, rounds, messages, and the log they are from.

    All conditions must hold; the games are sorted by the path of their log.

    \b
    Examples:
      magic games --outcome unfinished
      magic games --model gpt-4 --game-type chameleon --limit 10
      magic games --path undercover/ --format csv > games.csv
    """
    from pipeline.cli.output import answer
    from pipeline.lake import open_lake
    from pipeline.present.table import ID_SHOWN
    from pipeline.reports.games import games as listed

    rows = listed(
        open_lake(lake),
        model=model,
        game_type=game_type,
        competition=competition,
        setting_id=setting_id,
        outcome=outcome,
        path=path,
        limit=limit,
    )
    answer("games", rows, form, empty="no game in the lake matches")
    if rows.height:
        terminal.note(f"to read a game: magic show {rows['game_id'][0][:ID_SHOWN]}")
