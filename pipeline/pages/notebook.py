"""Pages for a notebook: their content and HTML, with a style that stays within the cell."""

from functools import cache

import polars as pl
from markupsafe import Markup
from msgspec import Struct

from pipeline.answers import AnsweringLake
from pipeline.errors import UsageError
from pipeline.events.contracts import TABLES, row_meaning
from pipeline.pages import style
from pipeline.pages.page import content, parameters
from pipeline.pages.render import environment, fragment

# The parts of the style of `magic view` that what is shown in a cell needs.
_PARTS = ("texts", "tables", "a value with its interval", "facts and plots", "transcripts")
_FRAME = ("a ", "a:hover", ".vh ", ".none ", ".id ")
_OWN = """
color-scheme: light;
--paper: var(--jp-layout-color0, light-dark(#fff, #1e1e1e));
color: var(--ink);
font: 13px/1.45 system-ui, sans-serif;
font-variant-numeric: tabular-nums;
overflow-wrap: break-word;
[data-jp-theme-light="false"] &, .vscode-dark & { color-scheme: dark; }
table { margin: 0; font: inherit; font-variant-numeric: inherit; color: inherit; }
tr:nth-child(n) { background: none; }
dt, dd { float: none; width: auto; padding: 0; font-weight: inherit; }
h4 { font: 620 1.05em/1.3 system-ui, sans-serif; margin: 1.2rem 0 .4rem; }
ul.notes { padding: 0; }
thead th { position: static; }
.scroll, .scroll:not(.wide) { overflow-x: auto; }
.board th, .board td { padding-inline: .35rem; }
h3.title { margin-top: .3rem; }
"""


class Shown(Struct, frozen=True):
    """A page of `magic view` as a notebook shows it. `rows` is its frame, `html` the page."""

    rows: pl.DataFrame
    html: str

    def __repr__(self) -> str:
        return repr(self.rows)

    def _repr_html_(self) -> str:
        return self.html


def shown(lake: AnsweringLake, name: str, given: dict[str, object]) -> Shown:
    """The page of this name with these parameters.

    Raises UsageError for an unknown page or parameter, and for whatever is wrong with a value.
    """
    texts = {
        key: str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in given.items()
        if value is not None
    }
    asked = parameters(name, texts)
    contents = content(name, lake, asked)
    if contents.faults:
        raise UsageError("; ".join(contents.faults.values()))
    html = fragment(
        name,
        contents,
        asked,
        lambda *_, **__: None,  # a notebook has no other page
        level=3,
        is_interactive=False,
        # So that a notebook can show several games.
        prefix_of=lambda one, _: f"g{one.game['game_id'][:12]}-",
    )
    return Shown(contents.rows, framed(html))


def lake_html(lake: AnsweringLake) -> str:
    """The lake's state, and its tables with their rows."""
    sizes = [
        (name, row_meaning(name).rstrip("."), sum(lake.counts(name).values())) for name in TABLES
    ]
    # Its last part alone: what is shown is often sent to others.
    name = str(lake.path).rpartition("/")[2]
    text = environment().get_template("lake.html").render(name=name, lake=lake, sizes=sizes)
    return framed(Markup(text))


def framed(html: Markup) -> str:
    """The HTML in a frame with its style, which does not reach what is around it."""
    return f'<div class="magic-page"><style>{_style()}</style>\n{html}</div>'


@cache
def _style() -> str:
    """What the cell needs of the style of `magic view`, for what is within the frame alone."""
    own = "".join([style.colours(), style.lines(*_FRAME), style.parts(*_PARTS), _OWN])
    # The name is doubled, so that our rules win over those of the notebook itself.
    return f".magic-page.magic-page {{{own}}}"
