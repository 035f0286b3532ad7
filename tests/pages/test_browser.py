"""What a person does with the pages, in a real browser.

Screenshots of every page are kept in $MAGIC_SCREENSHOTS, or else in pytest's temporary folder.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from accessibility import grave
from servers import Served

from pipeline.api import open_lake

pytestmark = pytest.mark.slow

playwright = pytest.importorskip("playwright.sync_api")
pytest.importorskip("axe_playwright_python.sync_playwright")

SIZES = {"desk": (1280, 850), "phone": (375, 740), "wide": (2560, 1200)}


class Visit:
    """A tab of the browser, with all that went wrong in it."""

    def __init__(self, browser: "playwright.Browser", served: Served, **options: object) -> None:
        self.served = served
        self.context = browser.new_context(**options)
        self.tab = self.context.new_page()
        self.errors: list[str] = []
        self.hosts: set[str] = set()
        self.tab.on("console", self._heard)
        self.tab.on("pageerror", lambda error: self.errors.append(str(error)))
        self.tab.on("request", lambda request: self.hosts.add(urlsplit(request.url).netloc))

    def _heard(self, message: "playwright.ConsoleMessage") -> None:
        if message.type in ("error", "warning"):
            self.errors.append(message.text)

    def go(self, path: str) -> "playwright.Page":
        self.tab.goto(self.served.url(path))
        return self.tab

    def check(self) -> None:
        """Asserts that nothing went wrong, and that no other host was asked."""
        assert self.errors == []
        assert self.hosts <= {f"127.0.0.1:{self.served.port}"}

    def fits(self) -> bool:
        """Whether the page is no wider than the window."""
        wide: bool = self.tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
        return wide


@pytest.fixture
def visit(browser: "playwright.Browser", served_apart: Served) -> Iterator[Visit]:
    found = Visit(browser, served_apart, viewport={"width": 1280, "height": 850})
    yield found
    found.check()
    found.context.close()


@pytest.fixture(scope="module")
def pages(served_apart: Served) -> dict[str, str]:
    """Every page, at an address where it shows something."""
    counted = served_apart.json("/evidence.json?metric=judgement&model=sim-atlas")["rows"][0]
    compared = "model=sim-atlas&other=sim-delta&metric=judgement"
    apart = served_apart.json(f"/compare.json?{compared}")["apart"][0]
    game = f"game={counted['game_id']}"
    return {
        "leaderboard": "/leaderboard",
        "slice": "/leaderboard?by=role",
        "grid": "/leaderboard?columns=game_type&percent=true",
        "radar": "/radar",
        "metric": "/metric?metric=judgement",
        "model": "/model?model=sim-atlas",
        "compare": f"/compare?{compared}",
        "method": "/compare_with?method=role%3Dcivilian&where=side%20%3D%20'civilian'",
        "plan": "/plan?model=sim-atlas&other=sim-delta&difference=0.1",
        "diff": "/diff",
        "evidence": "/evidence?metric=judgement&model=sim-atlas",
        "game": f"/game?{game}&metric=judgement#m{counted['message_index']}",
        "roles": f"/game?{game}&roles=false",
        "beside": f"/game?game={apart['game']}&beside={apart['other_game']}",
        "games": "/games",
        "search": "/search?words=vote",
        "completeness": "/completeness",
        "missing": "/missing",
        "audit": "/audit?kind=stated_votes",
        "documents": "/documents",
        "tables": "/tables",
        "table": "/tables?table=votes",
        "sql": "/sql?query=SELECT+model,count(*)+AS+n,max(seat)+AS+s+FROM+votes+GROUP+BY+1&x=n&y=s",
    }


@pytest.mark.parametrize(
    ("size", "theme"),
    [
        pytest.param("desk", "light", marks=pytest.mark.long),
        ("phone", "dark"),
        pytest.param("wide", "light", marks=pytest.mark.long),
    ],
)
def test_every_page_is_accessible_and_fits(
    browser: "playwright.Browser",
    served_apart: Served,
    pages: dict[str, str],
    *,
    size: str,
    theme: str,
) -> None:
    """axe finds nothing serious or critical, and nothing is wider than the window."""
    kept = os.environ.get("MAGIC_SCREENSHOTS")
    width, height = SIZES[size]
    visit = Visit(
        browser, served_apart, viewport={"width": width, "height": height}, color_scheme=theme
    )
    for name, path in pages.items():
        tab = visit.go(path)
        assert visit.fits(), name
        if kept:
            tab.screenshot(path=Path(kept) / f"{name}-{size}-{theme}.png")
        assert grave(tab) == [], name
    visit.check()
    visit.context.close()


def test_a_game_of_every_system_is_accessible_and_fits(
    browser: "playwright.Browser", served_formats: Served
) -> None:
    """With its roles, whose marks and acts are the most that a page has."""
    rows = open_lake(served_formats.lake).table("games").select("system", "game_id").collect()
    games = dict(rows.iter_rows())
    assert len(games) > 8
    visit = Visit(
        browser, served_formats, viewport={"width": 375, "height": 740}, color_scheme="dark"
    )
    for system, game in games.items():
        tab = visit.go(f"/game?game={game}")
        assert visit.fits(), system
        assert grave(tab) == [], system
    visit.check()
    visit.context.close()


def test_silent_acts_are_counted_where_they_are(
    browser: "playwright.Browser", served_formats: Served
) -> None:
    """The keys go from the votes of one day to those of the next."""
    visit = Visit(browser, served_formats, viewport={"width": 1280, "height": 850})
    tab = visit.go("/game?game=aiwolf/1.log&metric=judgement")
    assert tab.locator("h2").all_inner_texts() == ["Round 0", "Round 1", "Round 2", "Round 3"]
    for _ in range(2):
        tab.keyboard.press("n")
    at = tab.locator("tr.at")
    assert "votes" in at.inner_text()
    assert "Gro → Bo, right, not valid" in at.inner_text()
    at.get_by_role("link", name="previous counted").click()
    assert "Finn → Bo, right" in tab.locator("tr:target").inner_text()
    visit.check()
    visit.context.close()


def test_an_id_is_sorted_as_a_text(visit: Visit) -> None:
    """1234e567 and 5e10 could be read as numbers."""
    rows = "('1234e567', 9), ('5e10', 10), ('77ab12cd', 8)"
    tab = visit.go(f"/sql?query=FROM (VALUES {rows}) AS t(id, n)".replace(" ", "+"))
    first = tab.locator("tbody tr").first
    tab.get_by_role("button", name="id", exact=True).click()
    tab.wait_for_selector("th[aria-sort=ascending]")
    assert "5e10" in first.inner_text()
    tab.get_by_role("button", name="n", exact=True).click()
    tab.wait_for_selector("th[aria-sort=descending]")
    assert "5e10" in first.inner_text()


def test_sort_and_slice(visit: Visit) -> None:
    tab = visit.go("/leaderboard")
    assert tab.locator("tbody th").first.inner_text() == "sim-delta"
    tab.get_by_role("link", name="Cooperation").click()
    tab.wait_for_selector("th[aria-sort=descending]")
    assert tab.locator("th[aria-sort=descending]").inner_text() == "Cooperation"
    assert tab.get_by_role("button", name="Theme").is_visible()
    tab.get_by_role("link", name="Cooperation").click()
    tab.wait_for_selector("th[aria-sort=ascending]")
    assert tab.locator("th[aria-sort=ascending]").inner_text() == "Cooperation"
    assert tab.locator("tbody th").first.inner_text() == "sim-atlas"
    tab.locator("input[name=where]").fill("role = 'civilian'")
    tab.get_by_role("button", name="Show").click()
    tab.wait_for_url("**where=role**")
    assert tab.get_by_role("link", name="Remove filters").is_visible()
    assert tab.locator("td[data-metric=cooperation] data").count() == 0


def test_the_last_of_several_choices_is_shown(visit: Visit) -> None:
    """Also where the answer to an earlier one comes later."""
    tab = visit.go("/leaderboard")
    held: list[playwright.Route] = []

    def hold(route: "playwright.Route") -> None:  # it cannot be a method of C's
        held.append(route)

    for game_type in ("chameleon", "undercover"):
        tab.route(f"**/leaderboard?*={game_type}*", hold)
    for game_type in ("chameleon", "undercover", "public_good"):
        tab.get_by_label("Game type").select_option(game_type)
        tab.get_by_role("button", name="Show").click()
    tab.wait_for_url("**game_type=public_good**")
    assert len(held) == 2
    for route in held:
        with suppress(playwright.Error):  # the browser gave it up
            route.continue_()
    tab.wait_for_timeout(1_000)
    assert "game_type=public_good" in tab.url
    assert "game type public_good" in tab.locator("h1").inner_text()
    assert tab.locator("html.busy").count() == 0


def test_a_server_that_does_not_answer_is_said_for_all_to_see(
    browser: "playwright.Browser", served_apart: Served
) -> None:
    visit = Visit(browser, served_apart)
    tab = visit.go("/leaderboard")
    tab.route("**/leaderboard?*", lambda route: route.abort())
    tab.get_by_role("button", name="Show").click()
    notice = tab.get_by_role("alert")
    notice.wait_for()
    assert notice.is_visible()
    assert "does not answer" in notice.inner_text()
    tab.unroute("**/leaderboard?*")
    tab.get_by_role("button", name="Show").click()
    notice.wait_for(state="detached")
    visit.context.close()


def test_a_wrong_condition_is_said_beside_its_field(
    browser: "playwright.Browser", served_apart: Served
) -> None:
    visit = Visit(browser, served_apart)
    tab = visit.go("/leaderboard")
    tab.locator("input[name=where]").fill("colour = 'red'")
    tab.get_by_role("button", name="Show").click()
    tab.wait_for_selector(".fault")
    field = tab.locator("input[name=where]")
    assert field.get_attribute("aria-invalid") == "true"
    assert "no column colour" in tab.locator(".fault").inner_text()
    assert field.input_value() == "colour = 'red'"
    visit.context.close()


def test_from_a_cell_to_its_messages(visit: Visit) -> None:
    tab = visit.go("/leaderboard")
    row = tab.locator("tbody tr", has_text="sim-atlas")
    row.locator("td[data-metric=judgement] a").click()
    tab.wait_for_url("**/evidence?**")
    assert tab.locator("#evidence tbody tr").count() == 16
    tab.locator("#evidence tbody a[href*='#m']").first.click()
    tab.wait_for_url("**/game?**#m26")
    target = tab.locator("tr:target")
    assert "counted" in (target.get_attribute("class") or "")
    assert "judgement" in target.inner_text()
    assert target.evaluate("row => row.getBoundingClientRect().top < innerHeight")
    tab.keyboard.press("n")
    assert tab.url.endswith("#m28")
    assert tab.locator("tr.at").get_attribute("id") == "m28"
    tab.keyboard.press("p")
    assert tab.url.endswith("#m26")
    assert tab.locator("th", has_text="Role").count() == 1
    tab.get_by_role("link", name="Hide roles").click()
    tab.wait_for_url("**roles=false**")
    assert tab.locator("th", has_text="Role").count() == 0
    assert tab.locator(".mark").count() == 0
    tab.get_by_role("link", name="Show roles").click()
    tab.wait_for_url("**roles=true**")
    assert tab.locator(".mark", has_text="judgement").count() > 0


def test_side_by_side(visit: Visit, pages: dict[str, str]) -> None:
    tab = visit.go(pages["compare"])
    tab.get_by_role("link", name="side by side").first.click()
    tab.wait_for_url("**beside=**")
    games = tab.locator("section.game")
    assert games.count() == 2
    left, right = (games.nth(place).bounding_box() for place in range(2))
    assert left["y"] == right["y"]
    assert left["x"] + left["width"] <= right["x"]


def test_search_and_sql(visit: Visit) -> None:
    tab = visit.go("/search")
    tab.get_by_label("Words").fill("clue")
    tab.get_by_role("button", name="Search").click()
    tab.wait_for_selector("#found mark")
    tab.locator("#found tbody a").first.click()
    tab.wait_for_url("**/game?**")
    tab = visit.go("/sql")
    tab.get_by_role("textbox", name="Query").fill("SELECT 42 AS answer, 7 AS other")
    tab.get_by_role("button", name="Run").click()
    tab.wait_for_selector("#result")
    assert tab.locator("#result td").all_inner_texts() == ["42", "7"]


def test_queries_run_by_keys_and_are_kept(visit: Visit) -> None:
    tab = visit.go("/sql")
    assert not tab.locator(".recent").is_visible()
    queries = ["SELECT '<img src=x>' AS first", "SELECT game_id, 0 AS message_index FROM games"]
    for query, keys in zip(queries, ("Control+Enter", "Meta+Enter"), strict=True):
        tab.get_by_role("textbox", name="Query").fill(query)
        tab.keyboard.press(keys)
        tab.wait_for_selector(f"form[data-ran='{query.replace(chr(39), chr(92) + chr(39))}']")
    assert tab.locator("#result tbody tr").count() > 100
    tab.locator(".recent summary").click()
    assert tab.locator(".recent li").all_inner_texts() == queries[:1]
    tab.locator("#result tbody a").nth(1).click()
    tab.wait_for_url("**/game?**#m0")
    tab = visit.go("/sql")
    tab.locator(".recent summary").click()
    assert tab.locator(".recent li").all_inner_texts() == queries[::-1]
    tab.locator(".recent a").last.click()
    tab.wait_for_selector("#result")
    assert tab.locator("#result tbody td").all_inner_texts() == ["<img src=x>"]
    tab.locator(".recent summary").click()
    tab.get_by_role("button", name="Delete recent queries").click()
    assert not tab.locator(".recent").is_visible()
    visit.go("/sql")
    assert not tab.locator(".recent").is_visible()


def test_the_theme_is_switched_and_kept(visit: Visit) -> None:
    tab = visit.go("/leaderboard")
    paper = "getComputedStyle(document.body).backgroundColor"
    light = tab.evaluate(paper)
    for _ in range(2):
        tab.get_by_role("button", name="Theme").click()
    assert tab.get_by_role("button", name="Theme: dark").is_visible()
    dark = tab.evaluate(paper)
    assert dark != light
    visit.go("/games")
    assert tab.evaluate(paper) == dark


def test_by_keyboard_alone(visit: Visit) -> None:
    tab = visit.go("/leaderboard")
    tab.keyboard.press("Tab")
    assert tab.locator(":focus").inner_text() == "Skip to content"
    tab.keyboard.press("Enter")
    for _ in range(60):
        tab.keyboard.press("Tab")
        ring = tab.locator(":focus").evaluate("one => getComputedStyle(one).outlineStyle")
        assert ring != "none"
        if tab.locator("td[data-metric=judgement] a:focus").count():
            break
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/evidence?**")
    assert tab.locator("#evidence tbody tr").count() == 16


def test_all_works_without_scripts(browser: "playwright.Browser", served_apart: Served) -> None:
    visit = Visit(browser, served_apart, java_script_enabled=False)
    tab = visit.go("/leaderboard")
    assert not tab.locator("button.theme").is_visible()
    tab.locator("[name=by]").fill("role")
    tab.locator(".bar-form button").click()
    assert tab.locator("th", has_text="Role").count() == 1
    tab.locator("td[data-metric=judgement] a").first.click()
    tab.locator("#evidence a[href*='#m']").first.click()
    assert "/game?" in tab.url
    tab.locator("a", has_text="next counted").first.click()
    assert tab.locator("tr:target.counted").count() == 1
    visit.check()
    visit.context.close()


def test_hostile_texts_do_nothing_and_break_nothing(
    browser: "playwright.Browser", attacked: Served
) -> None:
    games = attacked.json("/games.json")["rows"]
    paths = ["/leaderboard", "/games", "/documents", "/metric", "/model", "/search?words=vote"]
    paths += [f"/game?game={game['game_id']}" for game in games[::3]]
    visit = Visit(browser, attacked, viewport={"width": 1280, "height": 850})
    visit.tab.on("dialog", lambda dialog: visit.errors.append(dialog.message))
    for path in paths:
        tab = visit.go(path)
        assert tab.evaluate("window.hit") is None, path
        assert visit.fits(), path
        assert tab.locator("main h1").is_visible()
    visit.check()
    visit.context.close()
