"""Any history of files written, copied, broken and removed, against a plain model of the rules.

The model knows files by a word for what is in them, and keeps three dicts: what each place held
last, what each place is refused for, and which games there are. It says what becomes of every
document before the lake is asked.
"""

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from lakes import check
from rawlogs import chameleon, encode, prisoners_dilemma, undercover
from test_archives import tar

from pipeline.events.readings import sha256
from pipeline.ingest import ingest
from pipeline.lake import open_lake, open_or_create_lake

_faulty = chameleon()
del _faulty["consistency_metric"]

CONTENTS = {
    "game": encode(prisoners_dilemma()),
    "other": encode(undercover()),
    "repeat": encode(prisoners_dilemma(model="at temperature 0")),
    "faulty": encode(_faulty),
    "broken": b'{"history": [',
    "torn": b"[",
    "setting": b'{"topic": "Rivers"}',
}
GAMES = {"game", "other", "repeat", "faulty"}
REFUSED = {"broken", "torn"}
INDEXES = {"1.json": 1, "2.json": 2, "a.json": None, "sub/1.json": 1, "sub/b.json": None}
PATHS = sorted(INDEXES)
# Only this one is ever under two indexes, and never under none: see the tests of indexes.
UNDER_TWO = "repeat"


class Copy(NamedTuple):
    """A game as one place has it."""

    content: str
    index: int | None


def fits(path: str, content: str) -> bool:
    """Whether the model is sure what this content is at this path."""
    if content == UNDER_TWO:
        return INDEXES[path] is not None
    return INDEXES[path] != 2 or content not in GAMES


def is_same(one: Copy, other: Copy) -> bool:
    """The same bytes are one game, unless both have an index and these differ."""
    if one.content != other.content:
        return False
    return None in (one.index, other.index) or one.index == other.index


class Model:
    """What the lake should hold. A place is a source and a path, joined."""

    def __init__(self) -> None:
        self.held: dict[str, Copy] = {}
        self.refused: dict[str, str] = {}
        self.games: list[Copy] = []

    def ingest(self, seen: list[tuple[str, int | None, str]]) -> tuple[dict[str, str], int]:
        """What becomes of each document, and how many games are taken out."""
        copies = {place: Copy(content, index) for place, index, content in seen if content in GAMES}
        chosen = self._bearers({p: c for p, c in copies.items() if not self._has(c)})
        statuses = {}
        for place, _, content in seen:
            if content not in GAMES:
                statuses[place] = "quarantined" if content in REFUSED else "ignored"
            elif place in self.held and is_same(self.held[place], copies[place]):
                statuses[place] = "unchanged"
            elif place not in chosen:
                statuses[place] = "duplicate"
            else:
                statuses[place] = "replacing" if place in self.held else "ingested"
        new = [copies[place] for place in chosen]
        self.held |= copies
        lost = [
            game
            for game in self.games
            if not self._in(game, self.held.values()) or self._gives_way(game, new)
        ]
        self.games = [game for game in self.games if game not in lost] + new
        self._refuse(seen)
        return statuses, len(lost)

    def _bearers(self, new: dict[str, Copy]) -> list[str]:
        """The first place of each new game; a copy with an index is the better one."""
        chosen: list[str] = []
        for place, copy in sorted(new.items(), key=lambda item: item[1].index is None):
            if not any(is_same(new[other], copy) for other in chosen):
                chosen.append(place)
        return chosen

    def _refuse(self, seen: list[tuple[str, int | None, str]]) -> None:
        for place, _, content in seen:
            self.refused.pop(place, None)
            if content in REFUSED:
                self.refused[place] = content

    def _has(self, copy: Copy) -> bool:
        """Whether the lake has it; one without an index is any that it could be."""
        same = [game for game in self.games if game.content == copy.content]
        return any(copy.index in (None, game.index) for game in same)

    @staticmethod
    def _gives_way(game: Copy, new: list[Copy]) -> bool:
        """A game without an index is none beside the same bytes with one."""
        return game.index is None and any(game.content == copy.content for copy in new)

    @staticmethod
    def _in(copy: Copy, copies: Iterable[Copy]) -> bool:
        return any(is_same(copy, other) for other in copies)


EDITS = st.lists(
    st.tuples(st.sampled_from(PATHS), st.sampled_from([*CONTENTS, "copy", "gone"])), max_size=4
)
SOURCES = ["folder", "sub", "sub", "glob", "file", "archive", "folder"]


class LakeMachine(RuleBasedStateMachine):
    """A folder that changes, and a lake that is to follow."""

    def __init__(self) -> None:
        super().__init__()
        self.top = Path(tempfile.mkdtemp())
        self.root, self.lake = self.top / "logs", self.top / "lake"
        self.files: dict[str, str] = {}
        self.model = Model()
        self.n_ingests = 0

    @initialize(content=st.sampled_from(sorted(GAMES - {UNDER_TWO})))
    def begin(self, content: str) -> None:
        shutil.copytree(_made["lake"], self.lake)
        (self.root / "sub").mkdir(parents=True)
        self._put("sub/b.json", content)

    @rule(edits=EDITS, source=st.sampled_from(SOURCES), at=st.sampled_from(PATHS))
    def change_and_ingest(self, edits: list[tuple[str, str]], source: str, at: str) -> None:
        for path, content in edits:
            if content == "gone":
                self._remove(path)
            else:
                self._put(path, self.files.get(at, "broken") if content == "copy" else content)
        found = self._found(source, at)
        if found is not None:
            self._ingest(*found)

    @invariant()
    def the_lake_is_as_the_model_says(self) -> None:
        if self.n_ingests == 0:
            return
        lake = open_lake(self.lake)
        games = lake.table("games").select("game_id", "sha256").collect()
        content_of = {sha256(data): name for name, data in CONTENTS.items()}
        held = [content_of[sha] for sha in games["sha256"]]
        assert Counter(held) == Counter(game.content for game in self.model.games)
        for table in ("players", "messages", "results"):
            ids = lake.table(table).select("game_id").unique().collect()["game_id"]
            assert set(ids) == set(games["game_id"]), table
        assert lake.table("players").collect().height == 3 * games.height
        refused = lake.table("quarantine").select("source", "path", "sha256", "game_id").collect()
        whole = refused.filter(pl.col("game_id").is_null())
        assert {
            f"{source}/{path}": content_of[sha] for source, path, sha, _ in whole.iter_rows()
        } == self.model.refused
        assert whole.height == len(self.model.refused)
        parts = refused.filter(pl.col("game_id").is_not_null())["game_id"].sort().to_list()
        assert parts == sorted(
            game_id for game_id, sha in games.iter_rows() if content_of[sha] == "faulty"
        )

    def teardown(self) -> None:
        if self.n_ingests:
            check(self.lake)
        shutil.rmtree(self.top)

    def _put(self, path: str, content: str) -> None:
        if fits(path, content):
            (self.root / path).write_bytes(CONTENTS[content])
            self.files[path] = content

    def _remove(self, path: str) -> None:
        if self.files.pop(path, None):
            (self.root / path).unlink()

    def _found(self, source: str, at: str) -> tuple[Path, str, list[str]] | None:
        """A source, its places' beginning, and the paths that it leads to; None if to nothing."""
        here = sorted(self.files)
        below = [path for path in here if path.startswith("sub/")]
        prefix = f"{self.root}/"
        found = {
            "folder": (self.root, prefix, here),
            "sub": (self.root / "sub", prefix, below),
            "glob": (self.root / "*.json", prefix, [path for path in here if path not in below]),
            "file": (self.root / at, prefix, [path for path in here if path == at]),
            "archive": (self.top / "logs.tar", f"{self.top}/logs.tar/", here),
        }[source]
        if source == "archive":
            self._pack()
        return found if found[2] else None

    def _pack(self) -> None:
        members = {path: CONTENTS[self.files[path]] for path in sorted(self.files)}
        (self.top / "logs.tar").write_bytes(tar(members))

    def _ingest(self, source: Path, prefix: str, paths: list[str]) -> None:
        self.n_ingests += 1
        seen = [(prefix + path, INDEXES[path], self.files[path]) for path in paths]
        expected, n_superseded = self.model.ingest(seen)
        report = ingest(source, self.lake)
        result = (
            open_lake(self.lake)
            .table("documents")
            .filter(pl.col("ingest_id") == report.ingest_id)
            .select(pl.concat_str("source", pl.lit("/"), "path"), "status")
            .collect()
        )
        # What is as it was has no row, or one of a copy that is its game's place now.
        rows = dict(result.iter_rows())
        assert rows.items() <= expected.items()
        as_it_was = [expected[place] for place in expected.keys() - rows.keys()]
        assert not {"ingested", "replacing", "duplicate"} & {*as_it_was}
        assert {status: n for status, n in report.statuses.items() if n} == Counter(
            expected.values()
        )
        assert report.n_superseded == n_superseded
        new = [status for status in expected.values() if status in ("ingested", "replacing")]
        assert report.games["n_games"].sum() == len(new)


_made: dict[str, Path] = {}


@pytest.fixture(scope="module", autouse=True)
def _an_empty_lake(tmp_path_factory: pytest.TempPathFactory) -> None:
    _made["lake"] = open_or_create_lake(tmp_path_factory.mktemp("empty") / "lake").path


TestLake = pytest.mark.long(LakeMachine.TestCase)
# Each step is an ingest, so a failure is told as it was met: to make it smaller takes minutes.
TestLake.settings = settings(
    max_examples=8,
    stateful_step_count=7,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
