"""Text from logs is shown on pages, never obeyed: in HTML, attributes, SVG, JSON, CSV."""

import csv
import io
import json
import re
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from hostile import ATTACKS
from servers import Served, check_headers

from pipeline.pages import NAMES
from pipeline.pages.templating import TEMPLATES
from pipeline.text_format import UNSAFE_CHARACTERS

STATIC = TEMPLATES.parent / "static"
# What our templates and plots are made of. Anything else comes from a log.
OURS = set(
    """
    html head meta title link script body a header nav button main footer p span div form
    label select option input textarea h1 h2 h3 small table caption thead tbody tr th td data
    svg rect line circle ul li dl dt dd details summary pre code b abbr wbr figure g path text
    fieldset legend section figcaption kbd mark br defs clippath tspan
    """.split()  # noqa: SIM905 (a list of sixty quoted words is longer than the module)
)


class Tags(HTMLParser):
    """The elements of a page, and the attributes of each."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))


def addresses(served: Served) -> list[str]:
    """Every page, some with names of the lake in their address."""
    games = served.json("/games.json")["rows"]
    models = sorted({model for game in games for model in game["models"]})
    own = [
        *(f"/model?model={quote(model)}" for model in models[::3]),  # a dear page
        *(f"/evidence?metric=win_rate&model={quote(model)}" for model in models),
        f"/compare?model={quote(models[0])}&other={quote(models[1])}",
        *(f"/game?game={game['game_id']}&roles=false" for game in games[::4]),
        *(f"/tables?table={name}" for name in ("players", "messages", "games", "documents")),
        *(f"/metric?metric=win_rate&where={quote(one)}" for one in ATTACKS[:3]),
        *(f"/sql?query={quote(one)}" for one in ATTACKS[:2]),
        *(f"/search?words={quote(one.split()[0])}" for one in ATTACKS[:5]),
    ]
    return [*(f"/{name}" for name in NAMES), *own, "/sql?query=FROM+players&x=model&y=seat"]


def check_page(text: str) -> None:
    tags = Tags(text).found
    assert {tag for tag, _ in tags} <= OURS
    for tag, attributes in tags:
        assert not [name for name in attributes if name.startswith("on")], tag
        assert not {"style", "srcdoc", "formaction"} & set(attributes)
        places = [attributes.get(name, "") for name in ("href", "src", "action")]
        assert [place for place in places if not re.fullmatch(r"|/(?!/).*|#.*", place)] == []
        hx = {name for name in attributes if name.startswith("hx-")}
        assert hx <= (
            {"hx-sync:inherited"} if tag == "body" else {"hx-boost", "hx-boost:inherited"}
        )
    scripts = [attributes.get("src") for tag, attributes in tags if tag == "script"]
    assert scripts == [f"/static/{name}.js" for name in ("pages", "query", "htmx.min", "tables")]
    assert not [sign for sign in UNSAFE_CHARACTERS.findall(text) if sign != "\n"]


@pytest.mark.slow
def test_nothing_of_a_log_becomes_a_part_of_a_page(attacked: Served) -> None:
    seen = ""
    for path in addresses(attacked):
        answer = attacked.get(path)
        assert answer.status in (200, 400), (path, answer.text[-600:])
        check_headers(answer)
        check_page(answer.text)
        seen += answer.text
    assert "&lt;script&gt;window.hit=1" in seen
    assert re.search("of 1[0-9]{2},[0-9]{3} characters", seen), "no long message is cut"


@pytest.mark.some(4)
@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("game", "sql")])
def test_other_forms_hold_it_as_text(attacked: Served, name: str) -> None:
    as_json = attacked.get(f"/{name}.json")
    assert as_json.headers["content-type"].startswith("application/json")
    assert not [sign for sign in UNSAFE_CHARACTERS.findall(as_json.text) if sign != "\n"]
    json.loads(as_json.text)
    as_csv = attacked.get(f"/{name}.csv")
    if name == "plan":  # which has no rows without two models that lack no competition
        assert (as_csv.status, as_csv.text[:6]) == (400, "a plan")
        return
    assert as_csv.headers["content-disposition"] == f'attachment; filename="{name}.csv"'
    for row in csv.reader(io.StringIO(as_csv.text)):
        for cell in row:
            is_number = re.fullmatch(r"-?[\d.]+(e-?\d+)?", cell)
            assert is_number or not re.match(r"\s*[=+\-@]", cell)


def test_what_is_vendored_is_as_it_was_published() -> None:
    script = (STATIC / "htmx.min.js").read_bytes()
    docs = (Path(__file__).parents[2] / "docs" / "view.md").read_text()
    assert sha256(script).hexdigest() in docs
    assert "Zero-Clause BSD" in (STATIC / "htmx.LICENSE").read_text()


@pytest.mark.some(1)
@pytest.mark.parametrize(
    "query",
    [
        "SELECT repeat('x', 4_000_000) AS text",
        "SELECT repeat('x', 5_000) AS text FROM range(1_000)",
        "SELECT range(50_000) AS numbers FROM range(12)",
        "PIVOT (SELECT range AS r, 'x' AS x FROM range(5_000)) ON r USING first(x)",
    ],
)
@pytest.mark.slow
def test_no_result_makes_a_page_that_a_browser_cannot_show(served: Served, query: str) -> None:
    page = served.get(f"/sql?{urlencode({'query': query})}")
    assert page.status == 200, page.text
    assert len(page.text) < 3_000_000
    assert "characters</span>" in page.text or "too long for a browser" in page.text
    whole = served.get(f"/sql.json?{urlencode({'query': query})}")
    assert whole.status == 200
