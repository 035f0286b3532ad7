"""Lakes to export: of games by hand, and of games with hostile names and texts."""

import pytest
from arena_logs import GAMES, HOSTILE, made, undercover

import pipeline


@pytest.fixture(scope="session")
def arena(tmp_path_factory: pytest.TempPathFactory) -> "pipeline.Lake":
    """A lake of `GAMES`."""
    return made(tmp_path_factory.mktemp("arena"), GAMES)


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> "pipeline.Lake":
    """A lake whose models, texts and system are named as an enemy would."""
    models = [name for name in HOSTILE if name.strip()]
    games = [
        undercover(number, [name, models[number - 1], "m-1"], "voted_wrong")
        for number, name in enumerate(models)
    ]
    for game in games:
        game["system"] = "<b>|`*\n"
        game["events"][0]["text"] = "\n".join(HOSTILE)
    return made(tmp_path_factory.mktemp("hostile"), games)
