"""`magic games`: the games of the lake, by what they are."""

from typing import Annotated

from typer import Option

from pipeline.cli import suggestions, terminal
from pipeline.cli.options import DEFAULT_LAKE, FormOption, GameTypesOption, LakeOption


def games(
    *,
    lake: LakeOption = DEFAULT_LAKE,
    model: Annotated[
        list[str] | None,
        Option(
            metavar="MODEL",
            help="Only games in which this model sits, tested or not; may be repeated.",
            autocompletion=suggestions.models,
        ),
    ] = None,
    game_type: GameTypesOption = None,
    competition: Annotated[
        list[str] | None,
        Option(
            metavar="NAME",
            help="Only games that count for this competition; may be repeated.",
            autocompletion=suggestions.competitions,
        ),
    ] = None,
    setting_id: Annotated[
        str | None, Option(metavar="ID", help="Only this setting: its id or beginning.")
    ] = None,
    outcome: Annotated[
        list[str] | None,
        Option(
            metavar="OUTCOME",
            help="Only this outcome, or `unfinished`; may be repeated.",
            autocompletion=suggestions.outcomes,
        ),
    ] = None,
    path: Annotated[
        str | None, Option(metavar="TEXT", help="Only logs whose path contains this text.")
    ] = None,
    limit: Annotated[int | None, Option(min=1, metavar="N", help="Only the first N games.")] = None,
    form: FormOption = "table",
) -> None:
    """List games: type, tested models, outcome, rounds, messages, and the log they are from.

    All conditions must hold; the games are sorted by the path of their log.

    \b
    Examples:
      magic games --outcome unfinished
      magic games --model gpt-4 --game-type chameleon --limit 10
      magic games --path undercover/ --format csv > games.csv
    """
    from pipeline.cli.output import show
    from pipeline.lake import open_lake
    from pipeline.present import present
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
    show(present("games", rows), form)
    if rows.is_empty():
        terminal.note("no game in the lake matches")
    else:
        terminal.note(f"to read a game: magic show {rows['game_id'][0][:ID_SHOWN]}")
