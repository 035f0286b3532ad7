"""What scripts add to pages, in a browser: tools of tables, hints, copies, and what is said."""

from collections.abc import Callable
from urllib.parse import quote

import pytest
from accessibility import grave
from servers import Served
from visits import Visit

pytestmark = pytest.mark.slow

playwright = pytest.importorskip("playwright.sync_api")
pytest.importorskip("axe_playwright_python.sync_playwright")

Visits = Callable[..., Visit]

SEEN = "where => [...document.querySelectorAll(where)].filter(one => one.checkVisibility()).length"

# The height of a plot's smallest text on the screen, and the pairs of texts that overlap.
TEXTS = """svg => {
    const texts = [...svg.querySelectorAll('text')].filter(one => one.textContent.trim());
    const scale = svg.getBoundingClientRect().width / svg.getAttribute('width');
    const sizes = texts.map(one => parseFloat(getComputedStyle(one).fontSize) * scale);
    const boxes = texts.map(one => one.getBoundingClientRect());
    const pairs = boxes.flatMap((a, at) => boxes.slice(at + 1)
        .map((b, more) => [texts[at].textContent, texts[at + 1 + more].textContent,
            Math.min(a.right, b.right) - Math.max(a.left, b.left),
            Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top)]));
    return [Math.min(...sizes), pairs.filter(([, , x, y]) => x > 2 && y > 4)];
}"""


def test_a_table_is_sorted_both_ways_and_as_it_was(visit: Visit) -> None:
    """Ids as texts: 1234e567 and 5e10 could be read as numbers. What is missing is last."""
    rows = "('1234e567', 9), ('5e10', 10), ('9', NULL), ('77ab12cd', 8)"
    tab = visit.go("/sql?query=" + quote(f"FROM (VALUES {rows}) AS t(id, n)"))
    ids = tab.locator("#result tbody td:first-child")
    for column, order, sorted_ids in (
        ("id", "ascending", ["5e10", "9", "77ab12cd", "1234e567"]),
        ("n", "descending", ["5e10", "1234e567", "77ab12cd", "9"]),
        ("n", "ascending", ["77ab12cd", "1234e567", "5e10", "9"]),
    ):
        tab.get_by_role("button", name=column, exact=True).click()
        assert tab.locator("#result th[aria-sort]").get_attribute("aria-sort") == order
        assert ids.all_inner_texts() == sorted_ids
        assert f"Sorted by {column}, {order}." in tab.locator("#status").inner_text()
    tab.get_by_role("button", name="n", exact=True).click()
    assert tab.locator("#result th[aria-sort]").count() == 0
    assert ids.all_inner_texts() == ["1234e567", "5e10", "9", "77ab12cd"]


def test_a_table_is_filtered_and_counted(visit: Visit) -> None:
    tab = visit.go("/metric?metric=judgement")
    tools = tab.locator(".tools:has(+ .scroll #by-type)")
    assert tools.locator(".place").inner_text() == "8 rows"
    tools.get_by_label("Filter rows").fill("atlas CHAM")
    assert tools.locator(".place").inner_text() == "1 of 8 rows"
    names = tab.locator("#by-type tbody tr:visible th")
    assert names.all_inner_texts() == ["sim-atlas"]
    tools.get_by_label("Filter rows").fill("")
    assert names.count() == 8
    tab = visit.go("/games")
    assert tab.locator(".tools .place").inner_text() == "50 rows on this page"
    assert tab.get_by_label("Filter this page only").is_visible()
    assert tab.locator(".pager").inner_text().startswith("Rows 1 to 50; more follow")
    tab.get_by_role("link", name="Next page").click()
    tab.locator("h1:focus").wait_for()
    assert tab.evaluate("scrollY") == 0
    assert tab.locator(".pager").inner_text().startswith("Rows 51 to 100; more follow")


def test_each_table_is_copied(visit: Visit) -> None:
    tab = visit.go("/model?model=sim-atlas")
    frames = [one.get_attribute("data-frame") for one in tab.locator("main table").all()]
    assert len(frames) > 3
    for frame in frames[:2]:
        tools = tab.locator(f".tools:has(+ .scroll [data-frame={frame}])")
        tools.locator(".copies summary").click()
        tools.get_by_role("button", name="CSV").click()
        tools.get_by_role("button", name="Copied").wait_for()
        copied = tab.evaluate("navigator.clipboard.readText()")
        address = f"/model.csv?model=sim-atlas&frame={frame}"
        assert copied.splitlines() == visit.served.get(address).text.splitlines()


def test_a_link_opens_after_the_token(visits: Visits, beyond: tuple[Served, str]) -> None:
    asked, token = beyond
    visit = visits(asked)
    tab = visit.go("/games?game_type=chameleon")
    assert "Token needed" in tab.title()
    assert grave(tab) == []
    for text, found in (("another", "text=The token is wrong"), (token, "#games")):
        tab.get_by_label("Token").fill(text)
        tab.get_by_role("button", name="Open /games").click()
        tab.locator(found).wait_for(timeout=120_000)
    assert tab.url.endswith("/games?game_type=chameleon")
    visit.errors = [one for one in visit.errors if "401" not in one]


def test_a_busy_page_says_so(visit: Visit) -> None:
    tab = visit.go("/leaderboard")
    tab.route("**/leaderboard?**", lambda route: tab.wait_for_timeout(700) or route.continue_())
    tab.get_by_role("link", name="Cooperation").click(no_wait_after=True)
    tab.wait_for_selector("html.busy main[aria-busy=true]")
    assert tab.locator("#status").inner_text() == "Computing the page."
    tab.wait_for_selector("html:not(.busy) th[aria-sort=descending]")


def test_hints_are_for_the_keyboard_and_for_a_finger(visits: Visits, served_apart: Served) -> None:
    visit = visits(served_apart, width=375, height=740, has_touch=True)
    tab = visit.go("/leaderboard")
    cell = tab.locator("td a.cell").first
    tab.keyboard.press("Tab")
    cell.focus()
    hint = tab.locator(".hint")
    assert hint.inner_text() == cell.get_attribute("title")
    tab.keyboard.press("Escape")
    assert hint.count() == 0
    tab.locator("span.none[title]").first.tap()
    assert hint.count() == 1
    assert visit.fits()
    tab.get_by_role("button", name="Details").tap()
    assert " settings" in tab.locator("td .cell").first.inner_text()
    assert visit.fits()
    assert grave(tab) == []


@pytest.mark.parametrize("scripts", [True, False])
def test_a_phone_shows_the_menu_and_the_first_value(
    visits: Visits, served_apart: Served, *, scripts: bool
) -> None:
    visit = visits(served_apart, width=375, height=740, java_script_enabled=scripts)
    tab = visit.go("/leaderboard")
    if scripts:
        tab.locator(".tools").wait_for()
        first = tab.locator("td a.cell").first.bounding_box()
        assert first["x"] + first["width"] <= 375
        assert first["y"] + first["height"] <= 740
    assert not tab.get_by_role("link", name="SQL").is_visible()
    tab.get_by_role("button", name="Menu").click()
    tab.get_by_role("link", name="SQL").click()
    tab.wait_for_url("**/sql")


@pytest.mark.parametrize("width", [390, 1280])
def test_texts_of_a_radar_are_readable_and_do_not_overlap(
    visits: Visits, served: Served, width: int
) -> None:
    visit = visits(served, width=width, height=800)
    drawing = visit.go("/radar").locator(".plot svg").locator("visible=true")
    assert visit.fits()
    smallest, overlapping = drawing.evaluate(TEXTS)
    assert smallest >= 11
    assert overlapping == []


def test_a_print_names_the_lake_and_has_all_columns(visits: Visits, served: Served) -> None:
    visit = visits(served, width=1030, height=700)  # a sheet's
    tab = visit.go("/sql?query=" + quote("SELECT repeat('wide', 99), * FROM votes"))
    tab.emulate_media(media="print")
    assert "after ingest 1 of 20" in tab.locator(".printed").inner_text()
    for hidden in (".menu", ".tools", ".theme"):
        assert not tab.locator(hidden).first.is_visible(), hidden
    assert visit.fits()
    n_columns = tab.locator("#result thead th").count()
    assert tab.evaluate(SEEN, "#result tr:first-child td") == n_columns > 8
