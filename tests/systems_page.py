"""The tables of docs/systems.md, from the archives of real logs.

`make generated RELEASE=1` renews them. What has no value needs a reason here, and what has one must
have none.
"""

import os
import tempfile
from pathlib import Path

import polars as pl

from pipeline.api import Lake, open_lake
from pipeline.ingest import ingest
from pipeline.metrics import metrics

PAGE = Path(__file__).resolve().parent.parent / "docs" / "systems.md"
MARK = "<!-- {} -->"
MODEL = "gpt-3.5"  # of the logs that do not name it

METRICS = (
    *("win_rate", "judgement", "reasoning", "deception"),
    *("self_awareness", "cooperation", "coordination", "rationality"),
)
"""The metrics of the page: those of MAgIC."""
OF_ROWS = ("judgement", "reasoning", "self_awareness", "cooperation", "coordination")
"""What counts rows; the other metrics are given with their number of games."""

_NOT_ASKED = {"reasoning": "nobody is asked who is who", "self_awareness": "nobody is asked"}
_NO_STAKES = {"rationality": "no choice between one's own gain and that of all"}
_NO_DEAL = {"cooperation": "no negotiation", "coordination": "no negotiation"}
_HIDDEN = _NOT_ASKED | _NO_STAKES | _NO_DEAL
_NO_SIDES = dict.fromkeys(("judgement", "reasoning", "deception", "self_awareness"), "no sides")
_TEAMS = {"judgement": "votes are about teams, not players"}
REASONS = {
    "aiwolf": _HIDDEN,
    "bargain": _NO_SIDES | _NO_STAKES,
    "chatarena": _HIDDEN,
    "ck_arena": _HIDDEN,
    "goods": _NO_SIDES | _NO_DEAL,
    "magic": {},
    "multi_round_avalon": _HIDDEN | _TEAMS,
    "pgg_bench": _NO_SIDES | _NO_DEAL,
    "textarena": _HIDDEN | _TEAMS,
    "werewolf_arena": _HIDDEN,
}


def archives(shared: Path) -> list[Path]:
    """The public logs of MAgIC, and each archive of other systems' logs."""
    corpus = shared / "corpus" / "magic-public.tar.zst"
    return [corpus, *sorted((shared / "real").glob("*.tar.zst"))]


def tables(shared: Path) -> dict[str, str]:
    """The tables of the page, by the mark around each."""
    with tempfile.TemporaryDirectory(prefix="magic-") as scratch:
        lakes = {}
        for archive in archives(shared):
            name = archive.name.removesuffix(".tar.zst")
            ingest(archive, Path(scratch) / name, model=MODEL, jobs=1)
            lakes[name] = open_lake(Path(scratch) / name)
        systems = [
            (name, one)
            for name, lake in lakes.items()
            for one in lake.split_by_system()
            if one.systems
        ]
        systems.sort(key=lambda pair: (pair[1].system, pair[0]))
        return {
            "metrics": _metrics(systems),
            "chance": _chance(systems),
            "archives": _archives(lakes),
        }


def _metrics(systems: list[tuple[str, Lake]]) -> str:
    lines = [f"| system | archive | {' | '.join(METRICS)} |", f"|---|---|{'---|' * len(METRICS)}"]
    for archive, lake in systems:
        values = _values(lake)
        cells = [_cell(str(lake.system), values[name]) for name in METRICS]
        lines.append(f"| `{lake.system}` | `{archive}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def _values(lake: Lake) -> dict[str, dict[str, object]]:
    rows = metrics(lake, by=[], confidence=None)
    return {row["metric"]: row for row in rows.iter_rows(named=True)}


def _cell(system: str, row: dict[str, object]) -> str:
    """A metric's value and what it is of; the page's text gives the reasons for no value."""
    name, reason = str(row["metric"]), REASONS[system].get(str(row["metric"]))
    if row["value"] is None:
        assert reason, (
            f"{name} has no value for {system}: say why in REASONS of tests/systems_page.py and "
            "in the list of docs/systems.md"
        )
        return "–"
    assert not reason, (
        f"{name} has a value for {system}: remove {reason!r} from REASONS of tests/systems_page.py"
    )
    n = row["counted" if name in OF_ROWS else "n_games"]
    return f"{row['value']:.3f} ({n:,})"


def _chance(systems: list[tuple[str, Lake]]) -> str:
    lines = ["| system | archive | votes | judgement | chance |", "|---|---|--:|--:|--:|"]
    for archive, lake in systems:
        rows = lake.judgement_by_chance().filter(game_type="all")
        hits, expected, n = rows.select(pl.col("hits", "expected", "counted").sum()).row(0)
        if n:
            values = f"{n:,} | {hits / n:.3f} | {expected / n:.3f}"
            lines.append(f"| `{lake.system}` | `{archive}` | {values} |")
    return "\n".join(lines)


def _archives(lakes: dict[str, Lake]) -> str:
    head = "archive | documents | ingested | duplicate | quarantined | parts quarantined | ignored"
    lines = [f"| {head} |", "|---|--:|--:|--:|---|---|--:|"]
    return "\n".join(lines + [_archive(name, lake) for name, lake in lakes.items()])


def _archive(name: str, lake: Lake) -> str:
    documents = lake.table("documents").collect()
    faults = lake.table("quarantine").collect()

    def of(status: str) -> pl.DataFrame:
        return documents.filter(status=status)

    counts = [documents.height, of("ingested").height, of("duplicate").height]
    reasons = [
        _counted(of("quarantined")["reason"]),
        _counted(faults.filter(pl.col("game_id").is_not_null())["rule"]),
        str(of("ignored").height),
    ]
    return f"| `{name}` | {' | '.join([*map(str, counts), *reasons])} |"


def _counted(reasons: pl.Series) -> str:
    """How many there are for each reason, the most first."""
    counts = reasons.value_counts(name="n").sort(["n", reasons.name], descending=[True, False])
    return "; ".join(f"{n}: {reason}" for reason, n in counts.iter_rows()) or "0"


def marked(page: str, name: str) -> str:
    """What the page has between the marks of a table."""
    return page.split(MARK.format(name))[1].strip()


def renewed(page: str, name: str, table: str) -> str:
    """The page with another table between the marks."""
    mark = MARK.format(name)
    before, _, after = page.split(mark)
    return f"{before}{mark}\n\n{table}\n\n{mark}{after}"


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    for name, table in tables(Path(os.environ["MAGIC_SHARED"])).items():
        text = renewed(text, name, table)
    PAGE.write_text(text, encoding="utf-8")
