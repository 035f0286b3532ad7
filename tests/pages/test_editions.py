"""One edition from the address to the mark: links lead on in it, and values are its own."""

import re
from html import unescape
from urllib.parse import parse_qs, urlsplit

import polars as pl
import pytest
from readback import content_of, html
from test_roles import Kept

from pipeline.api import Lake
from pipeline.metrics.registry import metric_names, metric_spec, metric_sql_header_with_defaults
from pipeline.pages import NAMES, page_definition
from pipeline.pages.content import PageContent
from pipeline.vocabulary import EDITIONS, PAPER

WITH_EDITIONS = [
    name for name in NAMES if "edition" in page_definition(name).parameters.__struct_fields__
]
NEEDED = {
    "compare": {"model": "sim-atlas", "other": "sim-delta"},
    "search": {"words": "vote"},
    "metric": {"metric": "judgement"},
    "evidence": {"metric": "judgement"},
    "contrast": {"model": "sim-atlas", "by": "role"},
    "compare_with": {"method": "role=civilian"},
}
WITHOUT_ROWS = {("release", "contrast"), ("release", "compare_with")}


def links(text: str) -> list[tuple[str, dict[str, str]]]:
    """The page and the parameters of each link, but for those to a place in the same page."""
    found = [urlsplit(unescape(one)) for one in re.findall(r'href="(/[^"]*)"', text)]
    return [
        (one.path[1:], {name: value for name, (value,) in parse_qs(one.query).items()})
        for one in found
    ]


def test_an_edition_with_a_rule_of_its_own_refuses_losses_beside_the_field(opened: Lake) -> None:
    refused = content_of(opened, "radar", edition="release", failures="loss")
    assert "release" in refused.faults["failures"]
    assert refused.rows.equals(content_of(opened, "radar", edition="release").rows)


@pytest.mark.some(9)
@pytest.mark.slow
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("name", WITH_EDITIONS)
def test_every_link_leads_on_in_the_edition(name: str, edition: str, opened: Lake) -> None:
    game = opened.games(game_type="undercover")["game_id"][0]
    needed = {**NEEDED, "game": {"game": game}}.get(name, {})
    text = html(opened, name, edition=edition, **needed)
    if name == "game":  # which also leads to itself in the other editions
        text = re.sub(r"<span>in the edition</span>.*?</nav>", "", text, flags=re.DOTALL)
    leading = [given for to, given in links(text) if to in WITH_EDITIONS]
    # The lake has one ingest, and the release edition has no groups and conditions.
    has_links = name != "diff" and (edition, name) not in WITHOUT_ROWS
    assert {given.get("edition", PAPER) for given in leading} == ({edition} if has_links else set())


@pytest.mark.some(1)
@pytest.mark.slow
@pytest.mark.parametrize("edition", EDITIONS)
def test_every_row_of_evidence_leads_to_its_mark(edition: str, opened: Lake) -> None:
    """All rows of some games, among which is each kind of row."""
    kept, seen = Kept(opened), dict[str, PageContent]()
    for name in metric_names(edition):
        asked = {"metric": name, "edition": edition}
        rows = content_of(opened, "evidence", **asked).rows
        targets = [to for page, to in links(html(opened, "evidence", **asked)) if page == "game"]
        by_game = {to["game"]: to for to in targets}
        kinds = rows.unique(["game_type", "what", "hit"], keep="first", maintain_order=True)
        assert kinds.height
        games = pl.col("game_id").is_in(kinds["game_id"].unique().implode())
        for row in rows.filter(games).iter_rows(named=True):
            to = by_game[row["game_id"]]
            key = str(to)
            seen[key] = seen.get(key) or content_of(kept, "game", **to)
            marks = [
                (mark.what, mark.hit, mark.player)
                for part in seen[key].games[0].parts
                if part.message and part.message["message_index"] == row["message_index"]
                for mark in part.marks
            ]
            assert (row["what"], row["hit"], row["player"]) in marks


@pytest.mark.some(1)
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_page_of_a_metric_defines_it_in_the_edition(edition: str, opened: Lake) -> None:
    for name in metric_names(edition):
        found = content_of(opened, "metric", metric=name, edition=edition)
        assert found.choices["metric"] == metric_names(edition)
        said, declared = metric_sql_header_with_defaults(name, edition), metric_spec(name, edition)
        assert found.head.value == " ".join(said["value"])
        assert found.head.high == declared.high
        assert float(said["range"][0].partition("..")[2]) == pytest.approx(declared.high, abs=0.01)
