"""What a person does with the pages, in a real browser."""

from collections.abc import Callable
from contextlib import suppress
from itertools import cycle

import pytest
from accessibility import grave
from servers import Served
from visits import Visit

pytestmark = pytest.mark.slow

playwright = pytest.importorskip("playwright.sync_api")
pytest.importorskip("axe_playwright_python.sync_playwright")

Visits = Callable[..., Visit]


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


def test_every_page_is_accessible_and_fits(
    visits: Visits, served_apart: Served, pages: dict[str, str]
) -> None:
    """axe finds nothing serious or critical in either theme; a phone is wide enough."""
    visit = visits(served_apart, width=375, height=740)
    for (name, path), theme in zip(pages.items(), cycle(["dark", "light"])):
        visit.tab.emulate_media(color_scheme=theme)
        tab = visit.go(path)
        assert visit.fits(), name
        assert grave(tab) == [], f"{name}, {theme}"


def test_sort_and_slice(visit: Visit) -> None:
    """The focus stays on what was used."""
    tab = visit.go("/leaderboard")
    assert tab.locator("tbody th").first.inner_text() == "sim-delta"
    for order in ("descending", "ascending"):
        tab.get_by_role("link", name="Cooperation").click()
        tab.wait_for_selector(f"th[aria-sort={order}]")
        assert tab.locator(f"th[aria-sort={order}]").inner_text() == "Cooperation"
        tab.locator("thead a:focus", has_text="Cooperation").wait_for()
        tab.locator("main:not([aria-busy=true])").wait_for()
        shown = tab.locator("#status", has_text="Leaderboard, edition paper: shown.")
        shown.wait_for(state="attached")
    assert tab.locator("tbody th").first.inner_text() == "sim-atlas"
    tab.locator("input[name=where]").fill("role = 'civilian'")
    tab.get_by_label("Group by").fill("role")
    tab.get_by_label("Group by").press("Enter")
    tab.wait_for_url("**where=role**")
    tab.locator("[name=by]:focus").wait_for()
    assert ", by role · " in tab.title()
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


def test_a_server_that_does_not_answer_is_said_for_all_to_see(visit: Visit) -> None:
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
    visit.errors.clear()


def test_a_wrong_condition_is_said_beside_its_field(visit: Visit) -> None:
    tab = visit.go("/leaderboard")
    field = tab.locator("input[name=where]")
    field.fill("colour = 'red'")
    tab.get_by_role("button", name="Show").click()
    tab.wait_for_selector(".fault")
    assert field.get_attribute("aria-invalid") == "true"
    assert "no column colour" in tab.locator(".fault").inner_text()
    assert field.input_value() == "colour = 'red'"
    visit.errors.clear()


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
    tab.get_by_role("link", name="Hide roles").click()
    tab.wait_for_url("**roles=false**")
    assert tab.locator("th", has_text="Role").count() == 0
    assert tab.locator(".mark").count() == 0
    tab.get_by_role("link", name="Show roles").click()
    tab.wait_for_url("**roles=true**")
    assert tab.locator(".mark", has_text="judgement").count() > 0


def test_queries_run_by_keys_and_are_kept(visit: Visit) -> None:
    tab = visit.go("/sql")
    assert not tab.locator(".recent").is_visible()
    queries = ["SELECT '<img src=x>' AS first", "SELECT game_id, 0 AS message_index FROM games"]
    for query, keys in zip(queries, ("Control+Enter", "Meta+Enter"), strict=True):
        tab.get_by_role("textbox", name="Query").fill(query)
        tab.keyboard.press(keys)
        tab.wait_for_selector(f"form[data-ran='{query.replace(chr(39), chr(92) + chr(39))}']")
    assert tab.locator("#result tbody tr").count() > 100
    tab = visit.go("/sql")
    tab.locator(".recent summary").click()
    assert tab.locator(".recent li").all_inner_texts() == queries[::-1]
    tab.locator(".recent a").last.click()
    tab.wait_for_selector("#result")
    assert tab.locator("#result tbody td").all_inner_texts() == ["<img src=x>"]
    tab.locator(".recent summary").click()
    tab.get_by_role("button", name="Delete recent queries").click()
    visit.go("/sql")
    assert not tab.locator(".recent").is_visible()


def test_the_theme_is_switched_and_kept(visit: Visit) -> None:
    tab = visit.go("/leaderboard")
    paper = "getComputedStyle(document.body).backgroundColor"
    light = tab.evaluate(paper)
    for _ in range(2):
        tab.get_by_role("button", name="Theme").click()
    assert tab.get_by_role("button", name="Theme: dark").is_visible()
    assert (dark := tab.evaluate(paper)) != light
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


def test_all_works_without_scripts(visits: Visits, served_apart: Served) -> None:
    tab = visits(served_apart, java_script_enabled=False).go("/leaderboard")
    assert not tab.locator("button.theme").is_visible()
    tab.locator("[name=by]").fill("role")
    tab.locator(".bar-form button").click()
    assert tab.locator("th", has_text="Role").count() == 1
    tab.locator("td[data-metric=judgement] a").first.click()
    tab.locator("#evidence a[href*='#m']").first.click()
    assert "/game?" in tab.url
    tab.locator("a", has_text="next counted").first.click()
    assert tab.locator("tr:target.counted").count() == 1


def test_hostile_texts_do_nothing_and_break_nothing(visits: Visits, attacked: Served) -> None:
    games = attacked.json("/games.json")["rows"]
    paths = ["/leaderboard", "/games", "/documents", "/metric", "/model", "/search?words=vote"]
    paths += [f"/game?game={game['game_id']}" for game in games[::3]]
    visit = visits(attacked)
    for path in paths:
        tab = visit.go(path)
        assert tab.evaluate("window.hit") is None, path
        assert visit.fits(), path
        assert tab.locator("main h1").is_visible(), path
