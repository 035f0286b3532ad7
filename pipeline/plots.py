"""Plots of what the API gives: altair charts for notebooks, and SVG for pages.

Each `plot_…` takes a frame of the API and returns a chart; `svg` makes text of a chart. They need
the extra `view`. Names from logs are data in a chart, never part of an expression.
"""

import math
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

import polars as pl

from pipeline.errors import MissingExtraError, UsageError
from pipeline.metrics.registry import highest_value, metric_title, metric_titles
from pipeline.plugins import install_command
from pipeline.reports.ranking import MIN_RADAR_AXES, RADAR_AXES, area_axes
from pipeline.text_format import escape_unprintable
from pipeline.vocabulary import ALL_GAME_TYPES

if TYPE_CHECKING:
    import altair as alt

    Chart = alt.LayerChart | alt.FacetChart | alt.Chart

# A blue near to Okabe and Ito's, and a grey: told apart whatever colours one sees, and with enough
# contrast on white and on black.
ACCENT, FIELD = "#2283c7", "#808080"
# Stands for the colour of the text around the plot.
INK = "#1a1b1c"
FONT = "system-ui, sans-serif"
WIDTH, PANEL_WIDTH, PANELS_BESIDE, ROW_HEIGHT = 300, 200, 3, 18
_PANEL, _ABOVE_CENTRE, _RADIUS = (292, 192), 106, 68
MOST_POINTS, MOST_NAMES, LONGEST_NAME = 2000, 60, 60
NONE = "–"
_SCALE = 3  # dots of a picture to one of the screen, enough for print
_ID = re.compile(r'(?<=\bid=")|(?<=url\(#)')
_SIDES = {"right": 8, "top": 4, "bottom": 4}
# Where the title of the y axis is: written from left to right above it.
_ABOVE = {"titleAngle": 0, "titleAlign": "left", "titleX": 0, "titleY": -10}
MISSING_EXTRA_MESSAGE = f"plots and pages need the extra `view`: run `{install_command('view')}`"


def plot_metric(
    rows: pl.DataFrame,
    *,
    by: str | None = None,
    beside: int = PANELS_BESIDE,
    game_types: Collection[str] = (),
) -> "Chart":
    """A dot with its interval for each model, from rows of `lake.metrics` for one metric.

    With `by`, a column of the rows such as `game_type`, there is a panel for each of its values,
    and at most `beside` of them in a line. The axis ends at the highest value that the rows' games
    can reach; `game_types` are those that are counted, by default all of the metric.

    >>> rows = lake.metrics(metric="judgement", by=["model"])
    >>> type(plot_metric(rows)).__name__
    'LayerChart'
    """
    name, edition = _only(rows, "metric"), _only(rows, "edition")
    row_types = rows["game_type"].unique() if "game_type" in rows.columns else [ALL_GAME_TYPES]
    highest = max(highest_value(name, edition, game_types, row_type) for row_type in row_types)
    data = _estimates(rows, "model", "value", by)
    best = data.group_by("name").agg(pl.col("value").mean())
    order = best.sort("value", "name", descending=[True, False], nulls_last=True)["name"]
    axes = _axes(metric_titles()[name], (0.0, highest), order.to_list())
    return _styled(_in_panels(_dots(axes), data, beside))


def plot_profile(
    rows: pl.DataFrame, model: str | None, *, game_types: Collection[str] = ()
) -> "Chart":
    """A model's values over the metrics with their intervals; ticks are those of all models.

    The rows are those of `lake.metrics(by=["model"])`. A value is drawn at its place in the range
    that its metric has in games of these types, by default of all. Raises UsageError for a model
    without a row.

    >>> type(plot_profile(lake.metrics(by=["model"]), "sim-atlas")).__name__
    'LayerChart'
    """
    if model not in rows["model"].to_list():
        raise UsageError(f"no row of {model} to plot")
    alt = _altair()
    titled = rows.with_columns(title=pl.col("metric").replace_strict(metric_titles()))
    of_rows = rows.select("metric", "edition").iter_rows()
    highest = [highest_value(name, edition, game_types) for name, edition in of_rows]
    of_range = pl.col("value", "low", "high") / pl.Series(highest)
    data = _estimates(titled, "title", "value").with_columns(of_range)
    order = data["name"].unique(maintain_order=True).to_list()
    axes = _axes("place in the range of the metric", (0.0, 1.0), order)
    # The ticks are many, and those who hear a page find their values in its tables.
    field = alt.Chart(_inline(data.select("name", "value")))
    ticks = field.mark_tick(color=FIELD, thickness=1.5, size=9, aria=False)
    ticks = ticks.encode(**axes)
    dots = alt.layer(*_dots(axes), data=_inline(data.filter(rows["model"].eq_missing(model))))
    return _styled(alt.layer(ticks, dots).properties(width=WIDTH))


def plot_differences(rows: pl.DataFrame) -> "Chart":
    """The differences of `lake.compare` with their intervals, a panel for each pair of models.

    >>> rows = lake.compare(("sim-delta", "sim-atlas"))
    >>> type(plot_differences(rows)).__name__
    'LayerChart'
    """
    titled = rows.with_columns(
        title=pl.col("metric").replace_strict(metric_titles()),
        pair=pl.concat_str(pl.col("model"), pl.lit(" − "), pl.col("other")),
    )
    data = _estimates(titled, "title", "difference", "pair")
    furthest = data.select(pl.max_horizontal(pl.col("value", "low", "high").abs().max())).item()
    bound = float(furthest or 1)
    alt = _altair()
    zero = alt.Chart().mark_rule(color=INK, strokeDash=[3, 3], aria=False).encode(x=alt.datum(0))
    order = data["name"].unique(maintain_order=True).to_list()
    dots = _dots(_axes("difference", (-bound, bound), order))
    return _styled(_in_panels([zero, *dots], data))


def plot_radar(rows: pl.DataFrame, *, beside: int = PANELS_BESIDE) -> "Chart":
    """The metrics of `lake.radar` around a point, a panel for each model, and below bars of areas.

    The outer ring is 100 percent, as in the paper: a dot on it stands for a value above, with its
    number. In a panel the polygons of the other models are grey, and at most `beside` panels are in
    a line. Bars have their intervals. Models without an area are named below. Raises UsageError if
    none has one.

    >>> type(plot_radar(lake.radar())).__name__
    'VConcatChart'
    """
    drawn = rows.drop_nulls("area")
    if drawn.is_empty():
        valued = [name for name in RADAR_AXES if rows[name].count()]
        raise UsageError(
            f"there is no area to plot: it needs at least {MIN_RADAR_AXES} metrics, and a model "
            "with a "
            "value of each metric that any model has; metrics with a value here: "
            f"{', '.join(valued) or 'none'}. `magic radar` says what each model lacks"
        )
    alt, axes = _altair(), area_axes(rows)
    data = drawn.select(*axes, "area", low="ci_low", high="ci_high")
    data = data.with_columns(name=_names(drawn["model"]))
    without = _names(rows.filter(pl.col("area").is_null())["model"]).to_list()
    lines = [f"without an area: {name}" for name in without[:MOST_NAMES]]
    if len(without) > MOST_NAMES:
        lines.append(f"and {len(without) - MOST_NAMES:,} more models without an area")
    return _styled(alt.vconcat(_polygons(data, axes, beside, lines), _areas(data), spacing=26))


def _polygons(data: pl.DataFrame, axes: Sequence[str], beside: int, notes: Sequence[str]) -> Any:
    """The polygon of each model in a panel of its own, over those of all others."""
    alt, n, corner = _altair(), data.height, len(axes)
    values = data.select(axes).to_numpy() * 100
    # As in the paper, whose values end there: one axis to 200 would shrink all others.
    rings = (50, far := 100)
    # What lies on the axes, line by line: models, rings, and outside the names.
    reaches = [*values.clip(max=far), *([ring] * corner for ring in rings), [1.14 * far] * corner]
    points = _corners(reaches, corner, _RADIUS / far)
    beside, (width, height) = min(beside, math.ceil(math.sqrt(n))), _PANEL
    panel = pl.int_range(n)
    panels = data.select(
        "name",
        panel=panel,
        cx=(panel % beside + 0.5) * width,
        cy=-(panel // beside) * height - _ABOVE_CENTRE,
        label=pl.Series(
            [
                f"{row['name']}: area {row['area']:,.0f}; "
                + ", ".join(f"{metric_title(name)} {100 * row[name]:.1f}" for name in axes)
                for row in data.iter_rows(named=True)
            ]
        ),
    )
    placed = panels.join(points, how="cross").with_columns(
        x=pl.col("cx") + pl.col("dx"), y=pl.col("cy") + pl.col("dy"), value=pl.col("reach")
    )
    placed = placed.with_columns(group=pl.format("{} {}", "panel", "line"))
    line, is_corner = pl.col("line"), pl.col("at") < corner
    is_ring = line.is_between(n, n + len(rings) - 1)
    titled = pl.col("at").replace_strict(
        {at: metric_title(axis) for at, axis in enumerate(axes)}, default=""
    )
    side = pl.when(pl.col("dx") > 1).then(1).when(pl.col("dx") < -1).then(-1).otherwise(0)
    below = (n - 1) // beside + 1
    ends = {"x": [0, beside * width], "y": [-below * height, 0]}
    channels = {
        name: getattr(alt, name.upper())(
            f"{name}:Q", axis=None, scale=alt.Scale(domain=end, nice=False)
        )
        for name, end in ends.items()
    }

    def drawn(rows: pl.DataFrame, kind: str, style: dict[str, Any], **more: Any) -> Any:
        mark = getattr(alt.Chart(_inline(rows)), f"mark_{kind}")(**{"aria": False, **style})
        return mark.encode(**channels, **more)

    along = {"detail": "group:N", "order": "at:Q"}
    grey = {"color": FIELD, "strokeWidth": 1, "fill": None}
    text = {"font": FONT, "fontSize": 11, "color": INK}
    names = placed.filter(is_corner, line == n + len(rings)).with_columns(text=titled, side=side)
    numbers = [
        (panel, at, f"{value:.0f}")
        for panel, row in enumerate(values.tolist())
        for at, value in enumerate(row)
        if value > far
    ]
    columns = {"panel": pl.Int64, "at": pl.Int64, "number": pl.String}
    beyond = pl.DataFrame(numbers, columns, orient="row")
    layers = [
        drawn(
            placed.filter(is_ring), "line", grey | {"opacity": 0.35, "strokeDash": [2, 2]}, **along
        ),
        drawn(
            placed.filter(is_corner, line == n + len(rings) - 1),
            "rule",
            grey | {"opacity": 0.3},
            x2="cx:Q",
            y2="cy:Q",
        ),
        drawn(
            placed.filter(line < n, line != pl.col("panel")),
            "line",
            grey | {"opacity": 0.45},
            **along,
        ),
        drawn(
            placed.filter(line == pl.col("panel")),
            "line",
            {"aria": True, "color": ACCENT, "fill": ACCENT, "fillOpacity": 0.25, "strokeWidth": 2},
            description="label:N",
            **along,
        ),
        drawn(
            placed.filter(line == pl.col("panel")).join(beyond, on=["panel", "at"]),
            "point",
            {"color": ACCENT, "filled": True, "opacity": 1, "size": 40},
        ),
        drawn(
            placed.filter(is_ring, at=0),
            "text",
            {**text, "color": FIELD, "align": "left", "dx": 3, "dy": 5},
            text="value:Q",
        ),
        drawn(
            panels.with_columns(x="cx", y=pl.col("cy") + _ABOVE_CENTRE - 12),
            "text",
            {**text, "fontSize": 12, "fontWeight": "bold", "limit": width - 8},
            text="name:N",
        ),
        *(
            drawn(rows.filter(side=at), "text", {**text, **style, "align": align}, text=shown)
            for rows, shown, style in (
                (names, "text:N", {}),
                (names.join(beyond, on=["panel", "at"]), "number:N", {"dy": 13}),
            )
            for at, align in ((-1, "right"), (0, "center"), (1, "left"))
        ),
    ]
    lines = ["metrics in percent" + ("; grey: the other models" if n > 1 else "")]
    if numbers:
        lines += [f"a dot has its value, above {far}, beside it", "areas count all of it"]
    what = alt.Title([*lines, *notes], orient="bottom")
    return alt.layer(*layers).properties(width=beside * width, height=below * height, title=what)


def _corners(reaches: Iterable[Sequence[float]], n: int, scale: float) -> pl.DataFrame:
    """line, at, reach, dx, dy: where the n corners of each line are; all lines are closed."""
    rows = [
        (
            line,
            at,
            reach,
            *(reach * scale * part(2 * math.pi * at / n) for part in (math.sin, math.cos)),
        )
        for line, on_axes in enumerate(reaches)
        for at, reach in enumerate([*on_axes, on_axes[0]])
    ]
    return pl.DataFrame(rows, schema=["line", "at", "reach", "dx", "dy"], orient="row")


def _areas(data: pl.DataFrame) -> Any:
    """Bars of the areas with their intervals, each below its model's name.

    Names beside the bars would make the plot so wide that a phone shows its texts too small.
    """
    alt = _altair()
    rows = data.select("name", "low", "high", value="area")
    order, above = alt.Scale(domain=rows["name"].to_list()), -ROW_HEIGHT / 2
    label = alt.Axis(labelAlign="left", labelPadding=0, labelOffset=above)
    names = alt.Y("name:N", title=None, scale=order, axis=label)
    scale, axis = alt.Scale(domainMin=0), alt.Axis(format="~s", tickCount=5)
    across = {"title": "area, with its interval", "scale": scale, "axis": axis}
    base = alt.Chart(_inline(rows))
    bars = base.mark_bar(color=ACCENT, opacity=0.55, height=11, yOffset=-above, aria=False)
    rules = base.mark_rule(color=ACCENT, strokeWidth=2, yOffset=-above, aria=False)
    both = alt.layer(
        bars.encode(x=alt.X("value:Q", **across), y=names),
        rules.encode(x=alt.X("low:Q", **across), x2="high:Q", y=names),
    )
    return both.properties(width=WIDTH, height=alt.Step(2 * ROW_HEIGHT))


def plot_columns(rows: pl.DataFrame, x: str, y: str) -> "Chart":
    """The rows as points, one column against another, for example of the result of a query.

    A column of numbers or times has an axis of its own kind; any other is taken for names. Of many
    rows only the first `MOST_POINTS` are drawn, and the title says so. Raises UsageError for a
    column that is not there, is nested, or has too many different names.

    >>> rows = lake.sql("SELECT model, count(*) AS votes FROM votes GROUP BY model")
    >>> type(plot_columns(rows, "model", "votes")).__name__
    'Chart'
    """
    if strangers := [name for name in (x, y) if name not in rows.columns]:
        known = ", ".join(rows.columns)
        raise UsageError(f"no column {', '.join(strangers)} to plot: choose from {known}")
    alt = _altair()
    shown = rows.head(MOST_POINTS)
    data = pl.DataFrame({"x": _values(shown[x]), "y": _values(shown[y])})
    # A description of vega's own making would have the columns' names in an expression.
    label = pl.format("{}: {}; {}: {}", pl.lit(_name(x)), "x", pl.lit(_name(y)), "y")
    data = data.with_columns(label=label).drop_nulls()
    kinds = (_kind(rows[x].dtype), _kind(rows[y].dtype))
    # Names are wider in some browsers than expected: upright they would run into the title.
    named = {"labelAngle": -40, "titlePadding": 16, "labelOverlap": False}
    slanted = {"axis": alt.Axis(**named)} if kinds[0] == "nominal" else {}
    axes = {
        "x": alt.X("x", type=kinds[0], title=_name(x), scale=alt.Scale(zero=False), **slanted),
        "y": alt.Y("y", type=kinds[1], title=_name(y), scale=alt.Scale(zero=False)),
    }
    points = alt.Chart(_inline(data)).mark_point(filled=True, color=ACCENT, size=36, opacity=0.7)
    title = f"the first {MOST_POINTS:,} of {rows.height:,} rows"
    titled = {"title": title} if rows.height > MOST_POINTS else {}
    return _styled(points.encode(**axes, description="label:N").properties(width=WIDTH, **titled))


def chart_to_svg(chart: "Chart", prefix: str = "plot") -> str:
    """The chart as SVG, for a page: texts are texts, and have the colour of the text around it.

    The names of its parts begin with `prefix`, so that a page can have several. It refers to
    nothing outside of itself.

    >>> chart = lake.plot_metric("judgement")
    >>> svg(chart)[:4]
    '<svg'
    """
    text = _drawn(chart, "svg", background="transparent")
    text = text.replace(INK, "currentColor").replace("<svg ", '<svg overflow="visible" ', 1)
    return _ID.sub(f"{prefix}-", text)


def export_chart(chart: "Chart", form: str) -> bytes:
    """The chart as a file of its own, on white: `svg` or `png`."""
    drawn: str | bytes = _drawn(chart, form)
    return drawn.encode() if isinstance(drawn, str) else drawn


def _drawn(chart: "Chart", form: str, background: str | None = None) -> Any:
    """The chart in a form of the library; raises MissingExtraError where that is not installed."""
    with raise_missing_extra():
        import vl_convert
    # Checking the chart against its schema would take longer than drawing it.
    chosen = chart.to_dict(validate=False)
    chosen["config"] |= {"background": background} if background else {}
    # That of the grammar in which the library of charts writes them.
    version = ".".join(_altair().SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    draw = getattr(vl_convert, f"vegalite_to_{form}")
    scale = {} if form == "svg" else {"scale": _SCALE}
    return draw(chosen, vl_version=version, allowed_base_urls=[], **scale)


def _altair() -> Any:
    """The library, which only plots need; raises MissingExtraError where it is not installed."""
    with raise_missing_extra(), _grammars_later():
        import altair
    return altair


@contextmanager
def raise_missing_extra() -> Iterator[None]:
    """Within it, a library that is not installed is a MissingExtraError."""
    try:
        yield
    except ModuleNotFoundError:
        raise MissingExtraError(MISSING_EXTRA_MESSAGE) from None


@contextmanager
def _grammars_later() -> Iterator[None]:
    """Puts off the grammars of addresses that jsonschema loads where Jupyter is installed.

    They take two seconds, and altair, which imports jsonschema, has no address checked. Whoever
    else in this process checks one has them loaded then.
    """
    name = "rfc3987_syntax"
    if not {name, "jsonschema"}.isdisjoint(sys.modules) or find_spec(name) is None:
        yield
        return
    later: Any = ModuleType(name)
    later.is_valid_syntax = lambda *terms: import_module(name).is_valid_syntax(*terms)
    sys.modules[name] = later
    try:
        yield
    finally:
        del sys.modules[name]


def _only(rows: pl.DataFrame, column: str) -> Any:
    values = rows[column].unique().to_list()
    if not values:
        raise UsageError("there is nothing to plot: no row has a value")
    if len(values) != 1:
        raise UsageError(f"the plot is of one {column}, not of {len(values)}: filter the rows")
    return str(values[0])


def _estimates(rows: pl.DataFrame, name: str, value: str, panel: str | None = None) -> pl.DataFrame:
    """name, panel, value, low, high, and the label that says it all; ends are null if unknown."""
    has_interval = "ci_low" in rows.columns
    data = pl.DataFrame(
        {
            "name": _names(rows[name]),
            "panel": _names(rows[panel]) if panel else pl.repeat("", rows.height, eager=True),
            "value": rows[value],
            "low": rows["ci_low"] if has_interval else rows[value],
            "high": rows["ci_high"] if has_interval else rows[value],
        }
    )
    who = _names(rows["model"]) if name != "model" else data["name"]
    labels = map(_label, who, data["name"], data["value"], data["low"], data["high"])
    return data.with_columns(label=pl.Series(list(labels), dtype=pl.String))


def _label(who: str, name: str, value: float | None, low: float | None, high: float | None) -> str:
    """What a mark shows in words."""
    what = who if who == name else f"{who}, {name}"
    ends = "" if low is None or high is None else f" ({low:.4f} to {high:.4f})"
    return f"{what}: {'no value' if value is None else f'{value:.4f}{ends}'}"


def _names(column: pl.Series) -> pl.Series:
    return pl.Series([_name(text) for text in column], dtype=pl.String)


def _name(value: object) -> str:
    """A name that can be drawn: printable, on one line, and of bounded length."""
    text = escape_unprintable(NONE if value is None else " ".join(str(value).split()))
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 1]}…"


def _axes(title: str, ends: tuple[float, float], order: Sequence[str]) -> dict[str, Any]:
    """Values from left to right between the ends, and names in this order from above."""
    alt = _altair()
    across = alt.Scale(domain=list(ends), nice=False)
    down = alt.Scale(domain=list(order))
    return {
        "x": alt.X("value:Q", title=title, scale=across),
        "y": alt.Y("name:N", title=None, scale=down),
    }


def _dots(axes: Mapping[str, Any]) -> list[Any]:
    """The intervals, and the dots on them."""
    alt = _altair()
    # A mark for readers of the screen is the dot, which says its interval.
    rules = alt.Chart().mark_rule(color=ACCENT, strokeWidth=2, opacity=0.6, aria=False)
    dots = alt.Chart().mark_point(color=ACCENT, filled=True, size=50, opacity=1)
    ends = {"x": alt.X("low:Q"), "x2": "high:Q", "y": axes["y"]}
    return [rules.encode(**ends), dots.encode(**axes, description="label:N")]


def _in_panels(layers: Sequence[Any], data: pl.DataFrame, beside: int = PANELS_BESIDE) -> Any:
    """The layers over the data; in panels, if there are several."""
    alt = _altair()
    chart = alt.layer(*layers, data=_inline(data))
    names = data["panel"].unique(maintain_order=True).to_list()
    if len(names) <= 1:
        return chart.properties(width=WIDTH, title="".join(names))
    facet = alt.Facet("panel:N", header=alt.Header(title=None), sort=names)
    panels = chart.properties(width=PANEL_WIDTH)
    return panels.facet(facet=facet, columns=min(beside, len(names)))


def _inline(data: pl.DataFrame) -> Any:
    """The rows that have a value, as part of the chart."""
    has_value = pl.all() if "value" not in data.columns else pl.col("value")
    return _altair().Data(values=data.filter(pl.all_horizontal(has_value.is_not_null())).to_dicts())


def _values(column: pl.Series) -> pl.Series:
    """A column's values as they are drawn; what is no finite number or time is a name or null."""
    dtype = column.dtype
    if dtype.is_nested() or dtype == pl.Binary:
        raise UsageError(f"column {column.name} cannot be plotted: it has lists, structs or bytes")
    if dtype.is_numeric():
        numbers = column.cast(pl.Float64, strict=False)
        return numbers.set(~numbers.is_finite(), None)
    if dtype in (pl.Date, pl.Datetime):
        return column.cast(pl.Datetime).dt.to_string("%Y-%m-%dT%H:%M:%S%.3f")
    names = _names(column)
    if (n_names := names.n_unique()) > MOST_NAMES:
        raise UsageError(
            f"column {column.name} has {n_names} different names: at most {MOST_NAMES} can be "
            "plotted"
        )
    return names


def _kind(dtype: pl.DataType) -> str:
    if dtype.is_numeric():
        return "quantitative"
    return "temporal" if dtype in (pl.Date, pl.Datetime) else "nominal"


def _styled(chart: Any) -> "Chart":
    """The chart in the style of all of them."""
    text = {"labelColor": INK, "titleColor": INK, "labelFont": FONT, "titleFont": FONT}
    axis = text | {
        "gridOpacity": 0.25,
        "gridColor": FIELD,
        "domainColor": FIELD,
        "tickColor": FIELD,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelLimit": 220,
    }
    title = {"color": INK, "font": FONT, "fontSize": 12, "anchor": "start"}
    alt = _altair()
    flat = {"grid": False, "ticks": False, "domain": False, "labelPadding": 8}
    header = {"labelFontSize": 12, "labelFontWeight": "bold", "labelAnchor": "start"}
    # At once, since each step copies the chart with all its data.
    styled: Chart = chart.configure(
        background="white",  # a notebook may be dark, and the texts are not
        font=FONT,
        # Fonts are wider in some browsers than they are expected to be.
        padding={"left": 24, **_SIDES},
        axis=alt.AxisConfig(**axis),
        axisY=alt.AxisConfig(**flat, **_ABOVE),
        axisX=alt.AxisConfig(tickCount=5, labelOverlap="greedy"),
        header=alt.HeaderConfig(**header, **text),
        title=alt.TitleConfig(**title),
        view=alt.ViewConfig(stroke=None, step=ROW_HEIGHT),
    )
    return styled
