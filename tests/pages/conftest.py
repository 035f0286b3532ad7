"""Lakes to look at, a server for each, and one browser."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hostile import ATTACKS, ESCAPES
from servers import Served, here, start, stop
from visits import Visit

from pipeline.api import Lake, open_lake
from pipeline.ingest import ingest
from pipeline.simulate import simulate


@pytest.fixture(scope="session")
def lake(sample_lake: Path) -> Path:
    """The sample's games."""
    return sample_lake


@pytest.fixture(scope="session")
def opened(lake: Path) -> Lake:
    return open_lake(lake)


@pytest.fixture(scope="session")
def served(lake: Path) -> Iterator[Served]:
    """In this process: for what it answers."""
    with here(lake) as found:
        yield found


@pytest.fixture(scope="session")
def served_apart(lake: Path) -> Iterator[Served]:
    """In processes of its own, as users have it."""
    found = start(lake)
    yield found
    stop(found)


@pytest.fixture(scope="session")
def beyond(lake: Path) -> Iterator[tuple[Served, str]]:
    """A server for other machines, and its token."""
    with here(lake, "0.0.0.0") as found:
        yield found, found.address.partition("token=")[2]


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake whose models, players, words and paths are all named by an enemy."""
    top = tmp_path_factory.mktemp("hostile")
    simulated = simulate(top / "logs", models=1, games=1, seed=3)
    words = ["long" * 30_000, *ESCAPES.values()]
    for place, log in enumerate(sorted(simulated.results.rglob("*.json"))):
        word = json.dumps(words[place % len(words)])[1:-1]
        attack = json.dumps(ATTACKS[place % len(ATTACKS)])[1:-1]
        text = log.read_text().replace("I ", f"{word} ", 3)
        log.write_text(text.replace(simulated.models[0], attack).replace("Player 1", attack))
        log.rename(log.with_name(f"<img src=x onerror=hit>{log.name}"))
    (simulated.results / "chameleon" / '"><script>.json').write_bytes(b'{"history": [<script>')
    ingest(simulated.results, top / "lake")
    return top / "lake"


@pytest.fixture(scope="session")
def attacked(hostile: Path) -> Iterator[Served]:
    with here(hostile) as found:
        yield found


@pytest.fixture
def visits(browser: Any) -> Iterator[Callable[..., Visit]]:
    """Opens a tab that visits a server; in the end nothing may have gone wrong in any."""
    opened = []

    def visit(served: Served, width: int = 1280, height: int = 850, **options: object) -> Visit:
        window = {"width": width, "height": height}
        opened.append(Visit(browser, served, viewport=window, **options))
        return opened[-1]

    yield visit
    for one in opened:
        one.end()


@pytest.fixture
def visit(visits: Callable[..., Visit], served_apart: Served) -> Visit:
    return visits(served_apart, permissions=["clipboard-read", "clipboard-write"])
