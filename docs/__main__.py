"""Builds the documentation site: python docs [FOLDER], by default into site/.

The pages are those of this folder, README.md, CHANGELOG.md, CONTRIBUTING.md, and those that are
generated from the code. A warning of the site's builder is an error.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

import apipage
import commandpage
import formulapage

HERE = Path(__file__).resolve().parent
TOP = HERE.parent
# Pages from elsewhere in the repository, by their place in the site.
FROM_TOP = {
    "index.md": "README.md",
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
}
GENERATED: dict[str, Callable[[], str]] = {
    "api.md": apipage.text,
    "commands.md": commandpage.text,
    "formulas.md": formulapage.text,
}
SHOWN = (".css", ".js", ".md", ".png", ".svg")
# The builder takes this script from the network; docs/worker.js is a copy.
SHIM = re.compile(r"https://[^\s\"']+/iframe-worker/shim")
LINK = re.compile(r"\[(?P<words>[^\]\[]*)\]\((?P<target>[^)\s:#]+)(?P<anchor>#[^)\s]*)?\)")


def places() -> dict[str, str]:
    """Return the place of each file in the site, by its path in the repository."""
    files = [path for path in HERE.rglob("*") if path.suffix in SHOWN]
    places_of_files = {
        path.relative_to(TOP).as_posix(): path.relative_to(HERE).as_posix() for path in files
    }
    generated = {f"docs/{name}": name for name in GENERATED}
    return places_of_files | generated | {source: place for place, source in FROM_TOP.items()}


def with_links(text: str, source: str, places: dict[str, str]) -> str:
    """Return the text of a page with its links rewritten for the site.

    A link to a file that is no page, such as a module, becomes the file's name.
    """
    folder, place = PurePosixPath(source).parent, PurePosixPath(places[source]).parent

    def link(match: re.Match[str]) -> str:
        target = os.path.normpath(folder / match["target"])
        if target not in places and (TOP / target).exists():
            return match["words"] if "`" in match["words"] else f"`{target}`"
        way = os.path.relpath(places.get(target, target), place)
        return f"[{match['words']}]({way}{match['anchor'] or ''})"

    return LINK.sub(link, text)


def stage(folder: Path) -> None:
    """Write every page and picture into the folder, at its place in the site."""
    places_by_source = places()
    for source, place in places_by_source.items():
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if place in GENERATED:
            target.write_text(
                with_links(GENERATED[place](), source, places_by_source), encoding="utf-8"
            )
        elif place.endswith(".md"):
            text = (TOP / source).read_text(encoding="utf-8")
            target.write_text(with_links(text, source, places_by_source), encoding="utf-8")
        else:
            shutil.copyfile(TOP / source, target)


def without_server(site: Path) -> None:
    """Make the pages independent of the network and of the folder that the site is in."""
    (site / "404.html").unlink()  # its links start at the top of a server
    for page in site.rglob("*.html"):
        way = os.path.relpath(site / "worker.js", page.parent)
        page.write_text(SHIM.sub(way, page.read_text("utf-8")), "utf-8")


def build(site: Path) -> int:
    """Build the site in place of the folder; return the exit code of the site builder."""
    with TemporaryDirectory() as scratch:
        work = Path(scratch)
        shutil.copyfile(TOP / "zensical.toml", work / "zensical.toml")
        stage(work / "docs")
        command = [sys.executable, "-m", "zensical", "build", "--strict"]
        if code := subprocess.run(command, cwd=work, check=False).returncode:
            return code
        without_server(work / "site")
        shutil.rmtree(site, ignore_errors=True)
        shutil.move(work / "site", site)
    print(f"The site is in {site}: open {site / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(build(Path(*sys.argv[1:2]) if sys.argv[1:] else TOP / "site"))
