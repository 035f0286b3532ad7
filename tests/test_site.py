"""The documentation site builds without a warning, its links work, and people can read it."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from itertools import cycle
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from accessibility import grave

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
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


def test_every_page_is_in_the_navigation(site: Path, pages: dict[Path, Page]) -> None:
    built = {path.relative_to(site).with_suffix(".md").as_posix() for path in pages}
    listed = re.findall(r'"([^"]*\.md)"', (ROOT / "zensical.toml").read_text(encoding="utf-8"))
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


def test_pages_are_accessible_and_fit(browser: Any, site: Path) -> None:
    """axe finds nothing serious or critical, a phone is wide enough, and only files are read."""
    pytest.importorskip("axe_playwright_python.sync_playwright")
    tab = browser.new_page(viewport={"width": 375, "height": 740})
    foreign, errors = [], []
    tab.on("request", lambda one: one.url.startswith(("file:", "data:")) or foreign.append(one.url))
    tab.on("pageerror", lambda error: errors.append(str(error)))
    found, wide = [], []
    for name, theme in zip(KINDS, cycle(["dark", "light"])):
        tab.emulate_media(color_scheme=theme)
        tab.goto((site / f"{name}.html").as_uri())
        if not tab.evaluate("document.documentElement.scrollWidth <= innerWidth"):
            wide.append(name)
        found += [(name, theme, *one) for one in grave(tab)]
    tab.close()
    assert (found, wide, foreign, errors) == ([], [], [], [])
