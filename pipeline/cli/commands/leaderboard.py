"""`magic leaderboard`: models by metrics, ranked."""

from typing import TYPE_CHECKING

from pipeline.cli import terminal
from pipeline.cli.options import (
    DEFAULT_LAKE,
    EditionOption,
    EngineOption,
    FormOption,
    GamesOption,
    LakeOption,
    MasterOption,
    ModelsOption,
    number_of_games,
)

if TYPE_CHECKING:
    import polars as pl

# Two lines a heading, so that the whole fits in 80 to 100 columns.
HEADINGS = {
    "rank": "#",
    "n_games": "games",
    "win_rate": "win\nrate",
    "judgement": "judge-\nment",
    "reasoning": "reason-\ning",
    "deception": "decep-\ntion",
    "self_awareness": "self-\naware",
    "cooperation": "coop-\neration",
    "coordination": "coordi-\nnation",
    "rationality": "ration-\nality",
}


def leaderboard(
    *,
    lake: LakeOption = DEFAULT_LAKE,
    edition: EditionOption = "paper",
    games: GamesOption = None,
    engine: EngineOption = "polars",
    master: MasterOption = None,
    model: ModelsOption = None,
    form: FormOption = "table",
) -> None:
    """The models ranked by win rate, with all metrics.

    Each value is over all game types; notes below say why one is missing.

    \b
    Examples:
      magic leaderboard
      magic leaderboard --edition release --format markdown > leaderboard.md
    """
    num_of_game = number_of_games(edition, games)

    from pipeline.cli.output import show
    from pipeline.lake import open_lake
    from pipeline.metrics import leaderboard as ranked

    rows = ranked(
        open_lake(lake),
        edition=edition,
        engine=engine,
        master=master,
        num_of_game=num_of_game,
        models=model or None,
    )
    headings = HEADINGS if form == "table" else {}
    show(rows, form, brief=rows.drop("reasons"), headings=headings, decimals=3)
    if form in ("table", "markdown"):
        for line in _notes(rows):
            terminal.note(line)


def _notes(rows: "pl.DataFrame") -> list[str]:
    """Why values are missing, each reason once with the models that it holds for."""
    models: dict[str, list[str]] = {}
    for model, reasons in rows.select("model", "reasons").iter_rows():
        for reason in reasons:
            models.setdefault(reason, []).append(str(model))
    return [f"– {reason} ({', '.join(names)})" for reason, names in models.items()]
