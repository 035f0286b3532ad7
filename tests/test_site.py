"""The documentation site builds without a warning, its links work, and people can read it.

Screenshots of the pages are kept in $MAGIC_SCREENSHOTS, or else in pytest's temporary folder.
"""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from accessibility import grave

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
CONFIG = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]
SIZES = {"desk": (1280, 900), "phone": (375, 740)}
# A page of each kind: long tables, folded blocks, much code, a picture, formulas, the first page.
KINDS = (
    *("index", "tutorial", "howto/index", "howto/compare", "commands", "tables", "formulas"),
    *("api", "sql", "statistics", "metrics"),
)


class Page(HTMLParser):
    """What a page of HTML leads to, what it loads, and the places in it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.ids: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.ids.update(filter(None, (found.get("id"), found.get("name"))))
        if tag == "a" and (link := found.get("href")):
            self.links.append(link)
        elif source := found.get("src") or (found.get("href") if tag == "link" else None):
            self.loads.append(source)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("zensical")
    folder = tmp_path_factory.mktemp("built") / "site"
    done = subprocess.run(
        [sys.executable, "docs", str(folder)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "No issues found" in said
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in site.rglob("*.html")}


def in_navigation(entries: list[object]) -> Iterator[str]:
    for entry in entries:
        if isinstance(entry, str):
            yield entry
        elif isinstance(entry, dict):
            for below in entry.values():
                yield from in_navigation(below if isinstance(below, list) else [below])


def test_every_page_is_in_the_navigation(site: Path, pages: dict[Path, Page]) -> None:
    built = {path.relative_to(site).with_suffix(".md").as_posix() for path in pages}
    listed = list(in_navigation(CONFIG["nav"]))
    assert sorted(listed) == sorted(built)


def test_no_link_is_dead(site: Path, pages: dict[Path, Page]) -> None:
    dead = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = path.parent / unquote(parts.path) if parts.path else path
            target = Path(os.path.normpath(target / "index.html" if target.is_dir() else target))
            known = pages[target].ids if target in pages else set()
            anchor = unquote(parts.fragment)
            if not target.exists() or (anchor and target in pages and anchor not in known):
                dead.append((path.relative_to(site).as_posix(), link))
    assert dead == []
    assert sum(len(page.links) for page in pages.values()) > 1000


def test_nothing_comes_from_the_network(site: Path, pages: dict[Path, Page]) -> None:
    for path, page in pages.items():
        for source in page.loads:
            parts = urlsplit(source)
            assert (parts.scheme, parts.netloc) in {("", ""), ("data", "")}, (path.name, source)
            assert (path.parent / parts.path).exists(), (path.name, source)
    for style in site.rglob("*.css"):
        assert not re.search(r"@import|url\(['\"]?https?:", style.read_text("utf-8")), style.name


@pytest.mark.parametrize(
    ("size", "theme"),
    [("phone", "dark"), pytest.param("desk", "light", marks=pytest.mark.long)],
)
def test_pages_are_accessible_and_fit(
    browser, site: Path, tmp_path_factory: pytest.TempPathFactory, size: str, theme: str
) -> None:
    """axe finds nothing serious or critical, nothing is too wide, and only files are read."""
    pytest.importorskip("axe_playwright_python.sync_playwright")
    kept = Path(os.environ.get("MAGIC_SCREENSHOTS") or tmp_path_factory.mktemp("screenshots"))
    kept.mkdir(exist_ok=True)
    width, height = SIZES[size]
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme)
    tab = context.new_page()
    foreign, errors = [], []
    tab.on("request", lambda one: one.url.startswith(("file:", "data:")) or foreign.append(one.url))
    tab.on("pageerror", lambda error: errors.append(str(error)))
    found, wide = [], []
    for name in KINDS:
        tab.goto((site / f"{name}.html").as_uri())
        tab.screenshot(path=kept / f"{name.replace('/', '-')}-{size}-{theme}.png")
        if not tab.evaluate("document.documentElement.scrollWidth <= innerWidth"):
            wide.append(name)
        found += [(name, *one) for one in grave(tab)]
    context.close()
    assert (found, wide, foreign, errors) == ([], [], [], [])


def test_search_works_from_disk(browser, site: Path) -> None:
    tab = browser.new_page()
    tab.goto((site / "index.html").as_uri())
    tab.keyboard.press("Control+k")
    tab.wait_for_function("document.activeElement !== document.body")
    tab.keyboard.type("quarantined documents")
    for _ in range(60):  # the index is read in the background
        tab.wait_for_timeout(250)
        tab.keyboard.press("Enter")
        if "reliability.html" in tab.url:
            break
    assert "reliability.html" in tab.url
    tab.close()
