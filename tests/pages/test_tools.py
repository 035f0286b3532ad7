"""What scripts add to pages, in a browser: tools of tables, hints, copies, and what is said."""

from collections.abc import Iterator
from urllib.parse import quote

import pytest
from accessibility import grave
from servers import Served
from test_browser import Visit

pytestmark = pytest.mark.slow


playwright = pytest.importorskip("playwright.sync_api")

SEEN = "where => [...document.querySelectorAll(where)].filter(one => one.checkVisibility()).length"

# The boxes of a page that show only a part of what is in them, and whether they fade at their end.
BOXES = """() => [...document.querySelectorAll('main *')].filter(one =>
    getComputedStyle(one).overflowY != 'visible'
    && one.clientHeight > 1 && one.scrollHeight > one.clientHeight + 2).map(one => {
        const end = getComputedStyle(one, '::after');
        const fades = end.position == 'sticky' && end.backgroundImage.includes('gradient');
        return [one.classList[0], fades];
    })"""
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


@pytest.fixture
def visit(browser: "playwright.Browser", served_apart: Served) -> Iterator[Visit]:
    allowed = ["clipboard-read", "clipboard-write"]
    visited = Visit(
        browser, served_apart, viewport={"width": 1280, "height": 850}, permissions=allowed
    )
    yield visited
    visited.check()
    visited.context.close()


def names(tab: "playwright.Page", table: str) -> list[str]:
    texts: list[str] = tab.locator(f"{table} tbody tr:visible th").all_inner_texts()
    return texts


def test_a_table_is_sorted_both_ways_and_as_it_was(visit: Visit) -> None:
    tab = visit.go("/metric?metric=judgement")
    table = tab.locator("#all-types")
    before = names(tab, "#all-types")
    table.get_by_role("button", name="Model").click()
    assert table.locator("th[aria-sort=ascending]").inner_text().startswith("Model")
    assert names(tab, "#all-types") == sorted(before)
    cells = table.locator("td data.value")
    for order in ("descending", "ascending"):
        table.get_by_role("button", name="Value").click()
        assert table.locator("th[aria-sort]").count() == 1
        values = [float(text) for text in cells.all_inner_texts()]
        assert values == sorted(values, reverse=order == "descending")
        assert f"Sorted by Value, {order}." in tab.locator("#status").inner_text()
    table.get_by_role("button", name="Value").click()
    assert table.locator("th[aria-sort]").count() == 0
    assert names(tab, "#all-types") == before


def test_a_missing_value_is_last_either_way(visit: Visit) -> None:
    cells = "#readability tbody tr td:nth-child(4)"
    tab = visit.go("/completeness")
    head = tab.locator("#readability thead th:nth-child(4) button")
    for _ in range(2):
        head.click()
        texts = tab.locator(cells).all_inner_texts()
        none = [place for place, text in enumerate(texts) if text == "–"]
        assert none == list(range(len(texts) - len(none), len(texts)))


def test_a_table_is_filtered_and_counted(visit: Visit) -> None:
    tab = visit.go("/metric?metric=judgement")
    tools = tab.locator(".tools:has(+ .scroll #by-type)")
    assert tools.locator(".place").inner_text() == "8 rows"
    tools.get_by_label("Filter rows").fill("atlas CHAM")
    assert tools.locator(".place").inner_text() == "1 of 8 rows"
    assert names(tab, "#by-type") == ["sim-atlas"]
    tools.get_by_label("Filter rows").fill("")
    assert len(names(tab, "#by-type")) == 8
    tab = visit.go("/games")
    tools = tab.locator(".tools")
    assert tools.locator(".place").inner_text() == "50 rows on this page"
    assert tools.get_by_label("Filter this page only").is_visible()
    assert tab.locator("#games thead button").count() == 0
    assert tab.locator(".pager").inner_text().startswith("Rows 1 to 50; more follow")
    while tab.get_by_role("link", name="Next page").count():
        address = tab.url
        tab.get_by_role("link", name="Next page").click()
        tab.wait_for_url(lambda new, old=address: new != old)
        tab.locator("h1:focus").wait_for()
        assert tab.evaluate("scrollY") == 0
    n_games = len(visit.served.get("/games.csv").text.splitlines()) - 1
    assert f" to {n_games} of {n_games}" in tab.locator(".pager").inner_text()


def test_a_table_is_copied(visit: Visit) -> None:
    tab = visit.go("/leaderboard")
    tab.locator(".copies summary").click()
    tab.get_by_role("button", name="CSV").click()
    tab.get_by_role("button", name="Copied").wait_for()
    copied = tab.evaluate("navigator.clipboard.readText()")
    assert copied.splitlines() == visit.served.get("/leaderboard.csv").text.splitlines()


def test_each_table_is_copied(visit: Visit) -> None:
    tab = visit.go("/model?model=sim-atlas")
    frames = [one.get_attribute("data-frame") for one in tab.locator("main table").all()]
    assert len(frames) > 3
    for frame in frames[:4]:
        tools = tab.locator(f".tools:has(+ .scroll [data-frame={frame}])")
        tools.locator(".copies summary").click()
        tools.get_by_role("button", name="CSV").click()
        tools.get_by_role("button", name="Copied").wait_for()
        copied = tab.evaluate("navigator.clipboard.readText()")
        address = f"/model.csv?model=sim-atlas&frame={frame}"
        assert copied.splitlines() == visit.served.get(address).text.splitlines()


def test_a_link_opens_after_the_token(
    browser: "playwright.Browser", beyond: tuple[Served, str]
) -> None:
    asked, token = beyond
    visit = Visit(browser, asked)
    tab = visit.go("/games?game_type=chameleon")
    assert "Token needed" in tab.title()
    assert grave(tab) == []
    tab.get_by_label("Token").fill("another")
    tab.get_by_role("button", name="Open /games").click()
    tab.get_by_text("The token is wrong").wait_for()
    tab.get_by_label("Token").fill(token)
    tab.get_by_role("button", name="Open /games").click()
    tab.wait_for_url("**/games?game_type=chameleon")
    tab.locator("#games").wait_for(timeout=120_000)
    assert [one for one in visit.errors if "401" not in one] == []
    visit.context.close()


def test_the_focus_stays_on_what_was_used(visit: Visit) -> None:
    tab = visit.go("/leaderboard")
    tab.get_by_role("link", name="Cooperation").click()
    tab.wait_for_selector("th[aria-sort=descending]")
    tab.locator("thead a:focus", has_text="Cooperation").wait_for()
    tab.locator("main:not([aria-busy=true])").wait_for()
    tab.locator("#status", has_text="Leaderboard, edition paper: shown.").wait_for(state="attached")
    tab.get_by_label("Group by").fill("role")
    tab.get_by_label("Group by").press("Enter")
    tab.wait_for_url("**by=role**")
    tab.locator("[name=by]:focus").wait_for()
    assert tab.title().startswith("Leaderboard, edition paper, by role · ")
    assert tab.locator("h1").inner_text() == "Leaderboard edition paper, by role"


def test_a_busy_page_says_so(visit: Visit) -> None:
    tab = visit.go("/leaderboard")
    tab.route("**/leaderboard?**", lambda route: tab.wait_for_timeout(700) or route.continue_())
    tab.get_by_role("link", name="Cooperation").click(no_wait_after=True)
    tab.wait_for_selector("html.busy main[aria-busy=true]")
    assert tab.locator("#status").inner_text() == "Computing the page."
    tab.wait_for_selector("html:not(.busy) th[aria-sort=descending]")


def test_hints_are_for_the_keyboard_and_for_a_finger(
    browser: "playwright.Browser", served_apart: Served
) -> None:
    visit = Visit(browser, served_apart, viewport={"width": 375, "height": 740}, has_touch=True)
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
    tab.locator("h1").tap()
    assert hint.count() == 0
    tab.get_by_role("button", name="Details").tap()
    assert " settings" in tab.locator("td .cell").first.inner_text()
    assert tab.locator("td[data-title='Letters']").first.is_visible()
    assert visit.fits()
    assert grave(tab) == []
    visit.check()
    visit.context.close()


@pytest.mark.parametrize("scripts", [True, False])
def test_a_phone_shows_the_menu_and_the_first_value(
    browser: "playwright.Browser", served_apart: Served, *, scripts: bool
) -> None:
    visit = Visit(
        browser, served_apart, viewport={"width": 375, "height": 740}, java_script_enabled=scripts
    )
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
    visit.check()
    visit.context.close()


def test_a_print_names_the_lake_and_cuts_nothing(visit: Visit) -> None:
    tab = visit.go("/leaderboard?game_type=chameleon")
    tab.locator(".tools").wait_for()
    tab.emulate_media(media="print")
    assert "after ingest 1 of 20" in tab.locator(".printed").inner_text()
    assert "game type chameleon" in tab.locator("h1").inner_text()
    for hidden in (".menu", ".tools", ".bar-form", ".theme"):
        assert not tab.locator(hidden).first.is_visible()
    region = tab.locator(".scroll").first
    assert region.evaluate("one => getComputedStyle(one).overflow") == "visible"
    assert region.evaluate("one => getComputedStyle(one).maxHeight") == "none"


def test_on_a_phone_nothing_is_tabbed_to_or_shrunk_that_cannot_be_seen(
    browser: "playwright.Browser", served: Served
) -> None:
    """Headings are not shown where each row is a card; a plot fits and can be read."""
    visit = Visit(browser, served, viewport={"width": 390, "height": 740})
    tab = visit.go("/radar")
    assert tab.locator("thead th").count()
    assert tab.evaluate(SEEN, "thead :is(th, a, button)") == 0
    drawn = "e => [e.getBoundingClientRect().width, Number(e.getAttribute('width'))]"
    shown, made = tab.locator(".plot svg").locator("visible=true").evaluate(drawn)
    assert 0.8 * made < shown <= 390
    assert visit.fits()
    visit.context.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_texts_of_a_radar_are_readable_and_do_not_overlap(
    browser: "playwright.Browser", served: Served, width: int
) -> None:
    visit = Visit(browser, served, viewport={"width": width, "height": 800})
    drawing = visit.go("/radar").locator(".plot svg").locator("visible=true")
    smallest, overlapping = drawing.evaluate(TEXTS)
    assert smallest >= 11
    assert overlapping == []
    visit.context.close()


@pytest.mark.parametrize(("width", "of_sql"), [(390, ["columns"]), (1280, ["columns", "scroll"])])
def test_only_what_is_wide_and_long_is_in_a_box_which_fades_where_it_goes_on(
    browser: "playwright.Browser", served: Served, width: int, of_sql: list[str]
) -> None:
    """A box that ends at the line between two rows looks as if there were no more."""
    visit = Visit(browser, served, viewport={"width": width, "height": 800})
    for path in ("/completeness", "/games", "/evidence?metric=judgement", "/leaderboard"):
        assert visit.go(path).evaluate(BOXES) == []
    tab = visit.go("/sql?query=FROM votes")
    assert tab.evaluate(BOXES) == [[box, True] for box in of_sql]
    visit.context.close()


def test_a_model_is_a_short_page_on_a_phone(browser: "playwright.Browser", served: Served) -> None:
    visit = Visit(browser, served, viewport={"width": 390, "height": 800})
    tab = visit.go("/model?model=sim-atlas")
    tab.locator(".tools").first.wait_for()
    assert tab.evaluate("document.documentElement.scrollHeight") < 3_000
    rows = tab.locator("details.fold table tbody tr")
    assert rows.locator("visible=true").count() == 0
    for fold in tab.locator("details.fold > summary").all():
        fold.click()
    assert rows.locator("visible=true").count() > 20
    visit.context.close()


def test_forced_colours_tell_the_page_that_is_shown(
    browser: "playwright.Browser", served: Served
) -> None:
    visit = Visit(browser, served, forced_colors="active")
    tab = visit.go("/tables")
    border = "e => getComputedStyle(e).borderBottomColor"
    others = tab.locator(".menu a:not([aria-current])")
    colours = {others.nth(at).evaluate(border) for at in range(others.count())}
    assert len(colours) == 1
    assert tab.locator(".menu a[aria-current]").evaluate(border) not in colours
    visit.context.close()


@pytest.mark.parametrize("query", ["FROM games LIMIT 2", "SELECT repeat('wide', 99), * FROM votes"])
def test_a_wide_result_is_printed_with_all_of_its_columns(
    browser: "playwright.Browser", served: Served, query: str
) -> None:
    visit = Visit(browser, served, viewport={"width": 1030, "height": 700})  # a sheet's
    tab = visit.go("/sql?query=" + quote(query))
    tab.emulate_media(media="print")
    assert visit.fits()
    n_columns = tab.locator("#result thead th").count()
    assert tab.evaluate(SEEN, "#result tr:first-child td") == n_columns > 8
    visit.context.close()
