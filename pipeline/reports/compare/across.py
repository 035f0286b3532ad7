"""Models of different systems, named as MODEL@SYSTEM: compared in the games that both play alike.

Such a comparison is unpaired, also where settings are called the same: two harnesses ask in
different words. It is of model and harness together.
"""

from collections.abc import Callable, Mapping

import polars as pl
from msgspec.structs import replace

from pipeline.errors import UsageError
from pipeline.lake import StoredLake
from pipeline.metrics import Answer
from pipeline.metrics.request import Request
from pipeline.metrics.rows import chosen_games

_AT = "@"
_RULES = "game_type", "system", "rules"
_ALIKE = "those where n_players = 3"


def system_of(lake: StoredLake, name: str) -> str | None:
    """The system that MODEL@SYSTEM names; None for the name of a model, and without a system."""
    system = name.rpartition(_AT)[2]
    is_of_system = _AT in name and system in lake.systems and name not in lake.once(_names_with_at)
    return system if is_of_system else None


def _names_with_at(lake: StoredLake) -> set[str]:
    """The models whose own names have the sign."""
    models = lake.table("players").filter(pl.col("model").cast(pl.String).str.contains(_AT))
    return {*models.select("model").unique().collect(engine="streaming")["model"]}


def bare(lake: StoredLake, name: str) -> str:
    """The model that MODEL@SYSTEM names; the whole name where it ends with no system."""
    return name if system_of(lake, name) is None else name.rpartition(_AT)[0]


def full(lake: StoredLake, name: str) -> str:
    """The model with its system: by default the lake's."""
    return name if system_of(lake, name) else f"{name}{_AT}{lake.system}"


def across(
    lake: StoredLake,
    request: Request,
    answer: Callable[[StoredLake, Request], Answer],
) -> Answer:
    """The answers for the request's models, of several systems, over the types that all play.

    Raises UsageError where there is none, or one that they play by different rules.
    """
    models: dict[str, list[str]] = {}
    for name in request.models or ():
        models.setdefault(str(system_of(lake, name)), []).append(bare(lake, name))
    parts = {system: lake.of_system(system) for system in models}
    types = _same_rules(parts, request)
    found = [
        _named(
            answer(part, replace(request, models=tuple(models[system]), game_types=types)), system
        )
        for system, part in parts.items()
    ]
    return Answer.of_all(found, replace(request, game_types=types))


def _named(answer: Answer, system: str) -> Answer:
    """The answer with MODEL@SYSTEM for models, and no setting that another system has."""
    model, cluster = (
        pl.col(name).cast(pl.String) + f"{_AT}{system}" for name in ("model", "cluster")
    )
    named = answer.with_columns(model)
    return named._replace(sums=named.sums.with_columns(cluster))


def _same_rules(parts: Mapping[str, StoredLake], request: Request) -> tuple[str, ...]:
    """The game types that all systems play, of those asked for; each with the same rules."""
    asked = request.game_types
    rules = pl.concat(_rules(part, system, request) for system, part in parts.items())
    types = sorted(set.intersection(*[set(rules.filter(system=one)["game_type"]) for one in parts]))
    wanted = tuple(one for one in types if asked is None or one in asked)
    names = " and ".join(parts)
    if not wanted:
        what = f"none of {', '.join(asked)}" if asked else "no game type in common"
        raise UsageError(f"cannot compare {names}: they play {what}")
    for one in wanted:
        by_system = dict(rules.filter(game_type=one).select("system", "rules").iter_rows())
        if len(set(by_system.values())) > 1:
            said = "; ".join(f"in {system} {text}" for system, text in by_system.items())
            others = [f"the game type {other}" for other in wanted if other != one]
            hint = f"; choose games alike: {' or '.join([*others, _ALIKE])}"
            raise UsageError(f"cannot compare {names}: the rules of {one} differ: {said}{hint}")
    return wanted


def _rules(lake: StoredLake, system: str, request: Request) -> pl.DataFrame:
    """What a lake says of the rules of each game type: its sides and roles, and how many play.

    A condition on games alone chooses among these.
    """
    played, chosen = lake.table("games"), chosen_games(lake.table, request)
    played = chosen.of(played) if chosen else played
    role = pl.format("{} ({})", pl.col("role").cast(pl.String), pl.col("side").cast(pl.String))
    players = lake.table("players").filter(pl.col("role").is_not_null())
    players = players.join(played.select("game_id"), on="game_id", how="semi")
    roles = players.group_by("game_type").agg(role.unique().sort().str.join(", ").alias("roles"))
    sizes = pl.col("n_players").unique().sort().cast(pl.String).str.join(" or ")
    games = played.group_by("game_type").agg(sizes)
    text = pl.format("{} players: {}", pl.col("n_players"), pl.col("roles").fill_null("no roles"))
    return (
        games.join(roles, on="game_type", how="left")
        .with_columns(
            pl.col("game_type").cast(pl.String), text.alias("rules"), system=pl.lit(system)
        )
        .select(_RULES)
        .collect()
    )
