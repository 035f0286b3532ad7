"""Every link of a page is an address that the page behind it takes; a late search says so."""

from typing import Any

import msgspec
import pytest

from pipeline.api import Lake
from pipeline.errors import UsageError
from pipeline.pages import NAMES, compute_page_content, parse_page_parameters, render_page_fragment

# What makes a page show all that it can show.
ASKED: dict[str, list[dict[str, str]]] = {
    "compare": [{"margin": "0.1", "by": "role"}],
    "completeness": [{}],
    "documents": [{}, {"status": "ignored"}, {"status": "ingested"}],
    "evidence": [{}, {"metric": "judgement", "model": "sim-atlas", "hit": "misses"}],
    "game": [{"game": ""}, {"game": "", "roles": "false"}],
    "games": [{}, {"outcome": "agreed"}],
    "leaderboard": [{}, {"by": "role", "where": "role = 'civilian'"}, {"edition": "release"}],
    "search": [{"words": "vote"}, {"secret": "true"}],
    "sql": [{"query": "SELECT game_id, message_index, model FROM votes LIMIT 3"}],
    "tables": [{"table": "votes"}, {"table": "judgement"}],
}
# Of most of these, other quick tests look at the values.
DEAR = ("audit", "compare", "contrast", "leaderboard", "metric", "model", "plan", "radar")
PAGES = [
    pytest.param(
        name, given, marks=[pytest.mark.slow] * (name in {*DEAR, "ratings", "sql"}), id=f"{name}{n}"
    )
    for name in NAMES
    for n, given in enumerate(ASKED.get(name, [{}]))
]


def test_a_wrong_choice_is_answered_with_the_choices() -> None:
    with pytest.raises(UsageError, match="no edition `x`: choose from paper, release, audited"):
        parse_page_parameters("leaderboard", {"edition": "x"})
    with pytest.raises(UsageError, match="no hit `hit`: did you mean `hits`"):
        parse_page_parameters("evidence", {"metric": "judgement", "hit": "hit"})


@pytest.mark.parametrize(("name", "given"), PAGES)
def test_a_page_leads_to_addresses_that_are_there(
    name: str, given: dict[str, str], opened: Lake
) -> None:
    if "game" in given:
        given = {**given, "game": opened.games(limit=1)["game_id"].item()}
    followed = []

    def link(page: str, element_id: str = "", **asked: Any) -> str:
        texts = {key: _text(value) for key, value in asked.items() if value is not None}
        parse_page_parameters(page, texts)
        followed.append(page)
        return f"/{page}#{element_id}"

    asked = parse_page_parameters(name, given)
    render_page_fragment(name, compute_page_content(name, opened, asked), asked, link)
    assert followed


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def test_a_search_that_ran_out_of_time_says_so(opened: Lake) -> None:
    asked = parse_page_parameters("search", {"words": "vote"})
    made = compute_page_content("search", opened, asked)
    late = msgspec.structs.replace(made, parts={**made.parts, "stopped": "time"})
    assert "stopped after 10 seconds" in render_page_fragment(
        "search", late, asked, lambda *_, **__: None
    )
