"""What becomes of files that change: many histories side by side in one lake.

A history has a folder of its own, and a line for each ingest, `written -> became -> held`:
what is written, `a=A` for a file `a.json` with the game A, and `a:x` for the model given for it;
what becomes of games that are not as they were; and what the lake holds then, `A@a` for the game A
in this place, `T:x@a` for one by a given model, `a!` for a place that is refused, `F?` for a part
of the game F that is.
"""

from collections import Counter
from pathlib import Path

import polars as pl
from lakes import Lab, nonzero, table
from rawlogs import chameleon, chatarena, encode, prisoners_dilemma

from pipeline.events.readings import sha256
from pipeline.ingest import ingest
from pipeline.verify import verify

HISTORIES = {
    "touched": """
        a=A b=B -> ingested a b -> A@a B@b
        a=A+    -> replacing a  -> A+@a B@b
        a=A b=B -> replacing a  -> A@a B@b
        """,
    "a copy under another name": """
        a=A -> ingested a  -> A@a
        b=A -> duplicate b -> A@a
        a=B -> replacing a -> A@b B@a
        b=C -> replacing b -> B@a C@b
        """,
    "copies at once": "b=A a=A c/a=A -> ingested a, duplicate b c/a -> A@a",
    "a moved game whose place is taken": """
        a=A     -> ingested a               -> A@a
        b=A a=B -> duplicate b, replacing a -> A@b B@a
        b=C     -> replacing b              -> B@a C@b
        """,
    "games that change places": """
        a=A b=B -> ingested a b  -> A@a B@b
        a=B b=A -> duplicate a b -> A@b B@a
        """,
    "a place that takes over a known game": """
        a=A b=B -> ingested a b -> A@a B@b
        a=B     -> duplicate a  -> B@b
        """,
    "a file that is gone": """
        a=A b=B -> ingested a b -> A@a B@b
        a=-     ->              -> A@a B@b
        a=A     ->              -> A@a B@b
        """,
    "a broken replacement": """
        a=A -> ingested a  -> A@a
        a={ ->             -> A@a a!
        a=A ->             -> A@a
        a=[ ->             -> A@a a!
        a=B -> replacing a -> B@a
        """,
    "a replacement that is no log": """
        a=A -> ingested a  -> A@a
        a=S ->             -> A@a
        a=B -> replacing a -> B@a
        """,
    "what is refused": """
        a={ b={ ->            -> a! b!
        a=[ b=A -> ingested b -> a! A@b
        a=S     ->            -> A@b
        a={     ->            -> a! A@b
        """,
    # Two repeats of a setting at temperature 0 can be equal to the byte.
    "two indexes at once": "3=A 4=A -> ingested 3 4 -> A@3 A@4",
    "one index after another": """
        3=A -> ingested 3 -> A@3
        4=A -> ingested 4 -> A@3 A@4
        """,
    # A copy without an index is one with either of them; the one with an index is the game.
    "no index before two": """
        a=A -> ingested a                -> A@a
        3=A -> ingested 3                -> A@3
        4=A -> ingested 4                -> A@3 A@4
        """,
    "no index after two": """
        3=A -> ingested 3  -> A@3
        4=A -> ingested 4  -> A@3 A@4
        a=A -> duplicate a -> A@3 A@4
        """,
    "no index before two at once": """
        a=A     -> ingested a   -> A@a
        3=A 4=A -> ingested 3 4 -> A@3 A@4
        """,
    "no index and two at once": "a=A 3=A 4=A -> ingested 3 4, duplicate a -> A@3 A@4",
    "no index and one": """
        a=A   -> ingested a   -> A@a
        b/3=A -> ingested b/3 -> A@b/3
        """,
    "one index and none": """
        a/3=A -> ingested a/3 -> A@a/3
        b=A   -> duplicate b  -> A@a/3
        """,
    "one index written twice": """
        a/3=A  -> ingested a/3   -> A@a/3
        b/03=A -> duplicate b/03 -> A@a/3
        """,
    "one index and none at once": "a=A b/3=A -> ingested b/3, duplicate a -> A@b/3",
    "one index twice at once": "a/3=A b/03=A -> ingested a/3, duplicate b/03 -> A@a/3",
    "a part that is mended": """
        a=F -> ingested a  -> F@a F?
        a=M -> replacing a -> M@a
        """,
    # As long as some place holds the game, its fault stays with it.
    "copies of a game with a fault": """
        a=F b=F -> ingested a, duplicate b  -> F@a F?
        c=F     -> duplicate c              -> F@a F?
        a=M b=M -> replacing a, duplicate b -> F@c F? M@a
        c=M     -> duplicate c              -> M@a
        """,
    "a broken replacement of a game with a fault": """
        a=F -> ingested a -> F@a F?
        a={ ->            -> F@a F? a!
        a=F ->            -> F@a F?
        """,
    # Who played, where the log does not say.
    "a transcript needs a model": """
        a=T ->             -> a!
        a:x -> ingested a  -> T:x@a
        b=T -> duplicate b -> T:x@a
        a:x ->             -> T:x@a
        """,
    "another model makes another game": """
        a=T a:x -> ingested a  -> T:x@a
        a:y     -> replacing a -> T:y@a
        a:x     -> replacing a -> T:x@a
                ->             -> T:x@a
        """,
    # Taken for the first model's, the second's game would have lost its place.
    "two models of equal bytes": """
        a=T a:x b=T b:y -> ingested a b -> T:x@a T:y@b
                        ->              -> T:x@a T:y@b a! b!
        a:x b=A         -> replacing b  -> T:x@a A@b
        """,
    "a model for a log that names its own": """
        a=A a:x b=T b:x -> ingested a b -> A@a T:x@b
        a:y b:y         -> replacing b  -> A@a T:y@b
        """,
}
Files = dict[str, str]


def log(history: str, word: str) -> bytes:
    """The bytes that a word is, those of a game in no other history."""
    model = f"{history} {word[0]}"
    if word in "{[":
        return word.encode()
    if word == "S":
        return encode({"topic": "Rivers"})
    if word == "T":  # its bytes are its own, though nobody is named
        return encode(chatarena()) + b" " * [*HISTORIES].index(history)
    if word in "FM":
        whole = chameleon(model=history)
        return encode({k: whole[k] for k in whole if word == "M" or k != "consistency_metric"})
    return encode(prisoners_dilemma(model=model)) + b"\n" * (len(word) - 1)


class History:
    """The files of a history, and what its next line says of them."""

    def __init__(self, name: str) -> None:
        self.name, self.files = name, Files()
        self.lines = [line for line in HISTORIES[name].splitlines() if line.strip()]
        self.held = set[str]()

    def change(self, lab: Lab) -> tuple[Files, Files]:
        """Writes what the next line has written, if there is one; the models given, what became."""
        if not self.lines:
            return {}, {}
        written, became, held = self.lines.pop(0).split("->")
        words = written.split()
        for file, _, word in (word.partition("=") for word in words if "=" in word):
            if word == "-":
                (lab.root / self.path(file)).unlink()
                del self.files[file]
            else:
                self.files[file] = word
                lab.write(self.path(file), log(self.name, word))
        self.held = {*held.split()}
        models = (word.split(":") for word in words if ":" in word)
        statuses = [part.split() for part in became.split(",")]
        return (
            {self.path(file): model for file, model in models},
            {
                self.path(file): status
                for status, *files in filter(None, statuses)
                for file in files
            },
        )

    def path(self, file: str) -> str:
        return f"{self.name}/{file}.json"

    def as_it_is(self, file: str) -> str:
        """What becomes of a file that is as it was, or no game."""
        if f"{file}!" in self.held:
            return "quarantined"
        return "ignored" if self.files[file] == "S" else "unchanged"


def held(lake: Path) -> dict[str, set[str]]:
    """What the lake holds by history, in the words of the lines."""
    words = {sha256(log(name, word)): word for name in HISTORIES for word in [*"ABCFMT", "A+"]}
    games = table(lake, "games")
    found = {name: set[str]() for name in HISTORIES}
    for path, sha, model in games.select("path", "sha256", "assigned_model").iter_rows():
        history, _, file = path.removesuffix(".json").partition("/")
        found[history].add(f"{words[sha]}{f':{model}' if model else ''}@{file}")
    of_game = dict(games.select("game_id", "sha256").iter_rows())
    for path, game in table(lake, "quarantine").select("path", "game_id").iter_rows():
        history, _, file = path.removesuffix(".json").partition("/")
        found[history].add(f"{words[of_game[game]]}?" if game else f"{file}!")
    return found


def test_what_becomes_of_files_that_change(lab: Lab) -> None:
    histories = [History(name) for name in HISTORIES]
    while any(history.lines for history in histories):
        models, became = Files(), Files()
        for history in histories:
            of_history = history.change(lab)
            models |= of_history[0]
            became |= of_history[1]
        before = set(table(lab.lake, "games")["game_id"])
        report = ingest(lab.root, lab.lake, model=models or None)
        new = table(lab.lake, "documents").filter(
            pl.col("ingest_id") == report.ingest_id,
            pl.col("status").is_in(["ingested", "replacing", "duplicate"]),
        )
        assert dict(new.select("path", "status").iter_rows()) == became
        assert held(lab.lake) == {history.name: history.held for history in histories}
        assert nonzero(report) == Counter(
            became.get(history.path(file)) or history.as_it_is(file)
            for history in histories
            for file in history.files
        )
        gone = before - set(table(lab.lake, "games")["game_id"])
        assert report.n_superseded == len(gone)
    assert verify(lab.lake).faults.filter(severity="error").is_empty()
