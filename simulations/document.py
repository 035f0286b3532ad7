"""Writes a script's table into docs/simulations.md, between the markers that name the script."""

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "simulations.md"


def parse_options(description: str | None, draws: int) -> argparse.Namespace:
    """What every simulation is asked: how many draws of each cell, and whether to write."""
    options = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--draws", type=int, default=draws, help="of each cell")
    options.add_argument("--write", action="store_true", help="into docs/simulations.md")
    return options.parse_args()


def markdown(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a markdown table whose columns but the first are right-aligned."""
    lines = [headings, ["---", *["--:"] * (len(headings) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def write(name: str, text: str, page: Path = PAGE) -> None:
    """Puts the text where the page has `<!-- name -->` … `<!-- end of name -->`."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    _, end_marker, after = rest.partition(end)
    if not end_marker:
        raise SystemExit(f"{page}: no section between {begin} and {end}")
    page.write_text(f"{before}{begin}\n\n{text.strip()}\n\n{end}{after}", encoding="utf-8")
