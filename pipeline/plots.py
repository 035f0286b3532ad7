"""Charts of frames that the API returns: altair charts for notebooks, and SVG or PNG files.

Each `plot_…` takes a frame and returns a chart; `chart_to_svg` and `export_chart` convert a chart.
They need the extra `view`. Names from logs are data in a chart, never part of an expression.
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
from pipeline.metrics.registry import highest_possible_metric_value, metric_title, metric_titles
from pipeline.plugins import install_command
from pipeline.reports.ranking import MIN_RADAR_AXES, RADAR_AXES, metrics_in_radar_areas
from pipeline.text_format import escape_unprintable
from pipeline.vocabulary import ALL_GAME_TYPES

if TYPE_CHECKING:
    import altair as alt

    Chart = alt.LayerChart | alt.FacetChart | alt.Chart

# A blue similar to that of Okabe and Ito, and a grey. Colour-blind readers can tell them apart, and
# they have enough contrast on white and on black.
ACCENT_COLOR, NEUTRAL_COLOR = "#2283c7", "#808080"
# A placeholder for the colour of the text around the plot.
TEXT_COLOR = "#1a1b1c"
FONT = "system-ui, sans-serif"
WIDTH, PANEL_WIDTH, PANELS_PER_LINE, ROW_HEIGHT = 300, 200, 3, 18
_RADAR_PANEL_SIZE, _RADAR_CENTRE_OFFSET, _RADAR_RADIUS = (292, 192), 106, 68
MAX_POINTS, MAX_NAMES, MAX_NAME_LENGTH = 2000, 60, 60
NULL_NAME = "–"
_PNG_SCALE = 3  # pixels of a PNG per pixel of the screen, enough for print
_SVG_ID = re.compile(r'(?<=\bid=")|(?<=url\(#)')
_PADDING = {"right": 8, "top": 4, "bottom": 4}
# The position of the title of the y axis: horizontally above the axis.
_Y_TITLE_POSITION = {"titleAngle": 0, "titleAlign": "left", "titleX": 0, "titleY": -10}
MISSING_EXTRA_MESSAGE = f"plots and pages need the extra `view`: run `{install_command('view')}`"


def plot_metric(
    rows: pl.DataFrame,
    *,
    by: str | None = None,
    beside: int = PANELS_PER_LINE,
    game_types: Collection[str] = (),
) -> "Chart":
    """Return a chart of one metric: a dot for each model's value, and a line for its interval.

    The rows are those of `lake.metrics`. With `by`, a column of the rows such as `game_type`, there
    is one panel for each of its values, with at most `beside` panels in a line. The axis ends at
    the highest value that the metric can have in the games of the rows; `game_types` are the
    counted types, by default all types of the metric.

    Raises UsageError for rows of several metrics or editions, and without rows.

    >>> rows = lake.metrics(metric="judgement", by=["model"])
    >>> type(plot_metric(rows)).__name__
    'LayerChart'
    """
    name, edition = _only_value_of_column(rows, "metric"), _only_value_of_column(rows, "edition")
    row_types = rows["game_type"].unique() if "game_type" in rows.columns else [ALL_GAME_TYPES]
    highest = max(
        highest_possible_metric_value(name, edition, game_types, row_type) for row_type in row_types
    )
    data = _values_with_intervals(rows, "model", "value", by)
    best = data.group_by("name").agg(pl.col("value").mean())
    order = best.sort("value", "name", descending=[True, False], nulls_last=True)["name"]
    axes = _value_and_name_axes(metric_titles()[name], (0.0, highest), order.to_list())
    return _set_common_style(_chart_with_panels(_interval_and_dot_layers(axes), data, beside))


def plot_profile(
    rows: pl.DataFrame, model: str | None, *, game_types: Collection[str] = ()
) -> "Chart":
    """Return a chart of one model's values in all metrics, with the other models as ticks.

    The rows are those of `lake.metrics(by=["model"])`. Each value is drawn relative to the range
    that its metric has in games of `game_types`, by default of all types.

    Raises UsageError for a model without a row.

    >>> type(plot_profile(lake.metrics(by=["model"]), "sim-atlas")).__name__
    'LayerChart'
    """
    if model not in rows["model"].to_list():
        raise UsageError(f"no row of {model} to plot")
    alt = _import_altair()
    titled_rows = rows.with_columns(title=pl.col("metric").replace_strict(metric_titles()))
    highest_values = pl.Series(
        [
            highest_possible_metric_value(metric, edition, game_types)
            for metric, edition in rows.select("metric", "edition").iter_rows()
        ]
    )
    data = _values_with_intervals(titled_rows, "title", "value").with_columns(
        pl.col("value", "low", "high") / highest_values
    )
    order = data["name"].unique(maintain_order=True).to_list()
    axes = _value_and_name_axes("place in the range of the metric", (0.0, 1.0), order)
    # The many ticks are hidden from screen readers, because the page's tables have their values.
    ticks = (
        alt.Chart(_chart_data_without_null_values(data.select("name", "value")))
        .mark_tick(color=NEUTRAL_COLOR, thickness=1.5, size=9, aria=False)
        .encode(**axes)
    )
    dots = alt.layer(
        *_interval_and_dot_layers(axes),
        data=_chart_data_without_null_values(data.filter(rows["model"].eq_missing(model))),
    )
    return _set_common_style(alt.layer(ticks, dots).properties(width=WIDTH))


def plot_differences(rows: pl.DataFrame) -> "Chart":
    """Return a chart of the differences in `lake.compare`, with one panel for each pair of models.

    Each metric has a dot for its difference, and a line for its interval.

    >>> rows = lake.compare(("sim-delta", "sim-atlas"))
    >>> type(plot_differences(rows)).__name__
    'LayerChart'
    """
    titled_rows = rows.with_columns(
        title=pl.col("metric").replace_strict(metric_titles()),
        pair=pl.concat_str(pl.col("model"), pl.lit(" − "), pl.col("other")),
    )
    data = _values_with_intervals(titled_rows, "title", "difference", "pair")
    limit = data.select(pl.max_horizontal(pl.col("value", "low", "high").abs().max())).item()
    bound = float(limit or 1)
    alt = _import_altair()
    zero = (
        alt.Chart()
        .mark_rule(color=TEXT_COLOR, strokeDash=[3, 3], aria=False)
        .encode(x=alt.datum(0))
    )
    order = data["name"].unique(maintain_order=True).to_list()
    dots = _interval_and_dot_layers(_value_and_name_axes("difference", (-bound, bound), order))
    return _set_common_style(_chart_with_panels([zero, *dots], data))


def plot_radar(rows: pl.DataFrame, *, beside: int = PANELS_PER_LINE) -> "Chart":
    """Return a chart with the radar polygon of each model in `lake.radar`, and bars of the areas.

    The outer ring is 100 percent, as in the paper. A higher value is a dot on the ring with its
    number. The polygons of the other models are grey in each panel, and at most `beside` panels are
    in a line. The bars have intervals. Models without an area are listed below.

    Raises UsageError if no model has an area.

    >>> type(plot_radar(lake.radar())).__name__
    'VConcatChart'
    """
    rows_with_area = rows.drop_nulls("area")
    if rows_with_area.is_empty():
        metrics_with_value = [name for name in RADAR_AXES if rows[name].count()]
        raise UsageError(
            f"there is no area to plot: it needs at least {MIN_RADAR_AXES} metrics, and a model "
            "with a value of each metric that any model has; metrics with a value here: "
            f"{', '.join(metrics_with_value) or 'none'}. Run `magic radar` to list what each model "
            "lacks"
        )
    alt, axes = _import_altair(), metrics_in_radar_areas(rows)
    data = rows_with_area.select(*axes, "area", low="ci_low", high="ci_high")
    data = data.with_columns(name=_printable_short_names(rows_with_area["model"]))
    models_without_area = _printable_short_names(rows.filter(pl.col("area").is_null())["model"])
    footnotes = [f"without an area: {name}" for name in models_without_area[:MAX_NAMES]]
    if len(models_without_area) > MAX_NAMES:
        n_more = len(models_without_area) - MAX_NAMES
        footnotes.append(f"and {n_more:,} more models without an area")
    return _set_common_style(
        alt.vconcat(
            _draw_radar_polygons(data, axes, beside, footnotes),
            _draw_radar_area_bars(data),
            spacing=26,
        )
    )


def _draw_radar_polygons(
    data: pl.DataFrame, axes: Sequence[str], max_panels_per_line: int, footnotes: Sequence[str]
) -> Any:
    """Return a chart with one panel for each model: its polygon, and in grey all other polygons."""
    alt, n_models, n_corners = _import_altair(), data.height, len(axes)
    values = data.select(axes).to_numpy() * 100
    # The axes end at 100 as in the paper, because an axis to 200 would shrink all others.
    ring_values = (50, max_value := 100)
    # The distances on the axes, line by line: models, rings, and the names outside.
    distances = [
        *values.clip(max=max_value),
        *([ring] * n_corners for ring in ring_values),
        [1.14 * max_value] * n_corners,
    ]
    points = _radar_polygon_corners(distances, n_corners, _RADAR_RADIUS / max_value)
    panels_per_line = min(max_panels_per_line, math.ceil(math.sqrt(n_models)))
    width, height = _RADAR_PANEL_SIZE
    panel = pl.int_range(n_models)
    panels = data.select(
        "name",
        panel=panel,
        cx=(panel % panels_per_line + 0.5) * width,
        cy=-(panel // panels_per_line) * height - _RADAR_CENTRE_OFFSET,
        label=pl.Series(
            [
                f"{row['name']}: area {row['area']:,.0f}; "
                + ", ".join(f"{metric_title(name)} {100 * row[name]:.1f}" for name in axes)
                for row in data.iter_rows(named=True)
            ]
        ),
    )
    placed_points = panels.join(points, how="cross").with_columns(
        x=pl.col("cx") + pl.col("dx"), y=pl.col("cy") + pl.col("dy"), value=pl.col("reach")
    )
    placed_points = placed_points.with_columns(group=pl.format("{} {}", "panel", "line"))
    line, is_corner = pl.col("line"), pl.col("at") < n_corners
    is_ring = line.is_between(n_models, n_models + len(ring_values) - 1)
    axis_titles = pl.col("at").replace_strict(
        {corner: metric_title(axis) for corner, axis in enumerate(axes)}, default=""
    )
    side = pl.when(pl.col("dx") > 1).then(1).when(pl.col("dx") < -1).then(-1).otherwise(0)
    n_panel_lines = (n_models - 1) // panels_per_line + 1
    axis_ranges = {"x": [0, panels_per_line * width], "y": [-n_panel_lines * height, 0]}
    channels = {
        name: getattr(alt, name.upper())(
            f"{name}:Q", axis=None, scale=alt.Scale(domain=axis_range, nice=False)
        )
        for name, axis_range in axis_ranges.items()
    }

    def draw_layer(
        rows: pl.DataFrame, mark_type: str, style: dict[str, Any], **encodings: Any
    ) -> Any:
        mark = getattr(alt.Chart(_chart_data_without_null_values(rows)), f"mark_{mark_type}")(
            **{"aria": False, **style}
        )
        return mark.encode(**channels, **encodings)

    line_encodings = {"detail": "group:N", "order": "at:Q"}
    grey_style = {"color": NEUTRAL_COLOR, "strokeWidth": 1, "fill": None}
    text_style = {"font": FONT, "fontSize": 11, "color": TEXT_COLOR}
    axis_names = placed_points.filter(is_corner, line == n_models + len(ring_values)).with_columns(
        text=axis_titles, side=side
    )
    beyond_values = [
        (panel, corner, f"{value:.0f}")
        for panel, row in enumerate(values.tolist())
        for corner, value in enumerate(row)
        if value > max_value
    ]
    columns = {"panel": pl.Int64, "at": pl.Int64, "number": pl.String}
    values_beyond_ring = pl.DataFrame(beyond_values, columns, orient="row")
    layers = [
        draw_layer(
            placed_points.filter(is_ring),
            "line",
            grey_style | {"opacity": 0.35, "strokeDash": [2, 2]},
            **line_encodings,
        ),
        draw_layer(
            placed_points.filter(is_corner, line == n_models + len(ring_values) - 1),
            "rule",
            grey_style | {"opacity": 0.3},
            x2="cx:Q",
            y2="cy:Q",
        ),
        draw_layer(
            placed_points.filter(line < n_models, line != pl.col("panel")),
            "line",
            grey_style | {"opacity": 0.45},
            **line_encodings,
        ),
        draw_layer(
            placed_points.filter(line == pl.col("panel")),
            "line",
            {
                "aria": True,
                "color": ACCENT_COLOR,
                "fill": ACCENT_COLOR,
                "fillOpacity": 0.25,
                "strokeWidth": 2,
            },
            description="label:N",
            **line_encodings,
        ),
        draw_layer(
            placed_points.filter(line == pl.col("panel")).join(
                values_beyond_ring, on=["panel", "at"]
            ),
            "point",
            {"color": ACCENT_COLOR, "filled": True, "opacity": 1, "size": 40},
        ),
        draw_layer(
            placed_points.filter(is_ring, at=0),
            "text",
            {**text_style, "color": NEUTRAL_COLOR, "align": "left", "dx": 3, "dy": 5},
            text="value:Q",
        ),
        draw_layer(
            panels.with_columns(x="cx", y=pl.col("cy") + _RADAR_CENTRE_OFFSET - 12),
            "text",
            {**text_style, "fontSize": 12, "fontWeight": "bold", "limit": width - 8},
            text="name:N",
        ),
        *(
            draw_layer(
                rows.filter(side=text_side),
                "text",
                {**text_style, **style, "align": align},
                text=text_field,
            )
            for rows, text_field, style in (
                (axis_names, "text:N", {}),
                (axis_names.join(values_beyond_ring, on=["panel", "at"]), "number:N", {"dy": 13}),
            )
            for text_side, align in ((-1, "right"), (0, "center"), (1, "left"))
        ),
    ]
    lines = ["metrics in percent" + ("; grey: the other models" if n_models > 1 else "")]
    if beyond_values:
        lines += [f"a dot has its value, above {max_value}, beside it", "areas count all of it"]
    title = alt.Title([*lines, *footnotes], orient="bottom")
    return alt.layer(*layers).properties(
        width=panels_per_line * width, height=n_panel_lines * height, title=title
    )


def _radar_polygon_corners(
    distances: Iterable[Sequence[float]], n_corners: int, scale: float
) -> pl.DataFrame:
    """Return the corners of closed polygons around a centre.

    Args:
        distances: The distances of the corners from the centre, for each polygon.
        n_corners: The number of corners of each polygon.
        scale: The pixels of a distance of 1.

    Returns:
        A row for each corner: the numbers of the polygon (`line`) and of the corner (`at`), its
        distance (`reach`), and its place in pixels (`dx`, `dy`).
    """
    rows = [
        (
            line,
            index,
            distance,
            *(
                distance * scale * function(2 * math.pi * index / n_corners)
                for function in (math.sin, math.cos)
            ),
        )
        for line, axis_distances in enumerate(distances)
        for index, distance in enumerate([*axis_distances, axis_distances[0]])
    ]
    return pl.DataFrame(rows, schema=["line", "at", "reach", "dx", "dy"], orient="row")


def _draw_radar_area_bars(data: pl.DataFrame) -> Any:
    """Return a chart of the radar areas as bars with intervals, each below its model's name.

    Names next to the bars would make the plot so wide that its texts are too small on a phone.
    """
    alt = _import_altair()
    rows = data.select("name", "low", "high", value="area")
    order, half_row_offset = alt.Scale(domain=rows["name"].to_list()), -ROW_HEIGHT / 2
    name_axis = alt.Axis(labelAlign="left", labelPadding=0, labelOffset=half_row_offset)
    names = alt.Y("name:N", title=None, scale=order, axis=name_axis)
    scale, axis = alt.Scale(domainMin=0), alt.Axis(format="~s", tickCount=5)
    x_options = {"title": "area, with its interval", "scale": scale, "axis": axis}
    base = alt.Chart(_chart_data_without_null_values(rows))
    bars = base.mark_bar(
        color=ACCENT_COLOR, opacity=0.55, height=11, yOffset=-half_row_offset, aria=False
    )
    rules = base.mark_rule(color=ACCENT_COLOR, strokeWidth=2, yOffset=-half_row_offset, aria=False)
    layers = alt.layer(
        bars.encode(x=alt.X("value:Q", **x_options), y=names),
        rules.encode(x=alt.X("low:Q", **x_options), x2="high:Q", y=names),
    )
    return layers.properties(width=WIDTH, height=alt.Step(2 * ROW_HEIGHT))


def plot_columns(rows: pl.DataFrame, x: str, y: str) -> "Chart":
    """Return a scatter chart of two columns of any rows, such as the result of a query.

    Numbers and times have an axis of their type; the values of any other column are names. At most
    the first 2,000 rows are drawn; then the title says so.

    Raises UsageError for a column that does not exist, is nested, or has too many different names.

    >>> rows = lake.sql("SELECT model, count(*) AS votes FROM votes GROUP BY model")
    >>> type(plot_columns(rows, "model", "votes")).__name__
    'Chart'
    """
    if unknown_columns := [name for name in (x, y) if name not in rows.columns]:
        column_names = ", ".join(rows.columns)
        raise UsageError(
            f"no column {', '.join(unknown_columns)} to plot: choose from {column_names}"
        )
    alt = _import_altair()
    first_rows = rows.head(MAX_POINTS)
    data = pl.DataFrame(
        {
            "x": _to_numbers_times_or_names(first_rows[x]),
            "y": _to_numbers_times_or_names(first_rows[y]),
        }
    )
    # The default description of Vega would contain the names of columns in an expression.
    label = pl.format(
        "{}: {}; {}: {}",
        pl.lit(_printable_short_name(x)),
        "x",
        pl.lit(_printable_short_name(y)),
        "y",
    )
    data = data.with_columns(label=label).drop_nulls()
    axis_types = (_vega_type(rows[x].dtype), _vega_type(rows[y].dtype))
    # Names are wider in some browsers than expected, so vertical names would overlap the title.
    label_options = {"labelAngle": -40, "titlePadding": 16, "labelOverlap": False}
    x_options = {"axis": alt.Axis(**label_options)} if axis_types[0] == "nominal" else {}
    axes = {
        "x": alt.X(
            "x",
            type=axis_types[0],
            title=_printable_short_name(x),
            scale=alt.Scale(zero=False),
            **x_options,
        ),
        "y": alt.Y(
            "y", type=axis_types[1], title=_printable_short_name(y), scale=alt.Scale(zero=False)
        ),
    }
    points = alt.Chart(_chart_data_without_null_values(data)).mark_point(
        filled=True, color=ACCENT_COLOR, size=36, opacity=0.7
    )
    title = f"the first {MAX_POINTS:,} of {rows.height:,} rows"
    title_options = {"title": title} if rows.height > MAX_POINTS else {}
    return _set_common_style(
        points.encode(**axes, description="label:N").properties(width=WIDTH, **title_options)
    )


def chart_to_svg(chart: "Chart", prefix: str = "plot") -> str:
    """Convert a chart to the text of an SVG image that can be inserted in a web page.

    Its texts have the colour of the text of the page. The ids in the SVG begin with `prefix`, so a
    page can contain several charts. The SVG has no references to other files.

    Raises MissingExtraError without the extra `view`.

    >>> chart = lake.plot_metric("judgement")
    >>> chart_to_svg(chart)[:4]
    '<svg'
    """
    text = _render_chart(chart, "svg", background="transparent")
    text = text.replace(TEXT_COLOR, "currentColor").replace("<svg ", '<svg overflow="visible" ', 1)
    return _SVG_ID.sub(f"{prefix}-", text)


def export_chart(chart: "Chart", image_format: str) -> bytes:
    """Convert a chart to the bytes of an SVG or PNG file with a white background.

    Args:
        chart: The chart.
        image_format: `svg` or `png`.

    Returns:
        The bytes of the file.

    Raises:
        MissingExtraError: If the extra `view` is not installed.
    """
    content: str | bytes = _render_chart(chart, image_format)
    return content.encode() if isinstance(content, str) else content


def _render_chart(chart: "Chart", image_format: str, background: str | None = None) -> Any:
    with raise_missing_extra_for_import_errors():
        import vl_convert
    # The chart is not validated, because validation takes longer than drawing.
    specification = chart.to_dict(validate=False)
    specification["config"] |= {"background": background} if background else {}
    # The Vega-Lite version in which altair writes charts.
    version = ".".join(_import_altair().SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    convert = getattr(vl_convert, f"vegalite_to_{image_format}")
    options = {} if image_format == "svg" else {"scale": _PNG_SCALE}
    return convert(specification, vl_version=version, allowed_base_urls=[], **options)


def _import_altair() -> Any:
    with raise_missing_extra_for_import_errors(), _defer_import_of_rfc3987_syntax():
        import altair
    return altair


@contextmanager
def raise_missing_extra_for_import_errors() -> Iterator[None]:
    """Raise MissingExtraError if an import in the block fails because a module is missing."""
    try:
        yield
    except ModuleNotFoundError:
        raise MissingExtraError(MISSING_EXTRA_MESSAGE) from None


@contextmanager
def _defer_import_of_rfc3987_syntax() -> Iterator[None]:
    """Replace the slow module rfc3987_syntax in the block; it is imported at its first use.

    jsonschema, which altair imports, loads it in two seconds if Jupyter is installed. It is needed
    only to validate URLs, which altair does not.
    """
    name = "rfc3987_syntax"
    if not {name, "jsonschema"}.isdisjoint(sys.modules) or find_spec(name) is None:
        yield
        return
    placeholder: Any = ModuleType(name)
    placeholder.is_valid_syntax = lambda *arguments: import_module(name).is_valid_syntax(*arguments)
    sys.modules[name] = placeholder
    try:
        yield
    finally:
        del sys.modules[name]


def _only_value_of_column(rows: pl.DataFrame, column: str) -> Any:
    values = rows[column].unique().to_list()
    if not values:
        raise UsageError("there is nothing to plot: no row has a value")
    if len(values) != 1:
        raise UsageError(
            f"a plot has one {column}, but the rows have {len(values)}: filter the rows"
        )
    return str(values[0])


def _values_with_intervals(
    rows: pl.DataFrame, name_column: str, value_column: str, panel_column: str | None = None
) -> pl.DataFrame:
    """Return the columns `name`, `panel`, `value`, `low`, `high` and `label` of a chart."""
    has_interval = "ci_low" in rows.columns
    data = pl.DataFrame(
        {
            "name": _printable_short_names(rows[name_column]),
            "panel": _printable_short_names(rows[panel_column])
            if panel_column
            else pl.repeat("", rows.height, eager=True),
            "value": rows[value_column],
            "low": rows["ci_low" if has_interval else value_column],
            "high": rows["ci_high" if has_interval else value_column],
        }
    )
    models = _printable_short_names(rows["model"]) if name_column != "model" else data["name"]
    labels = map(_point_description, models, data["name"], data["value"], data["low"], data["high"])
    return data.with_columns(label=pl.Series(list(labels), dtype=pl.String))


def _point_description(
    model: str, name: str, value: float | None, low: float | None, high: float | None
) -> str:
    """Return the text of a point for screen readers, such as "gpt-4, win rate: 0.5000"."""
    subject = model if model == name else f"{model}, {name}"
    interval = "" if low is None or high is None else f" ({low:.4f} to {high:.4f})"
    return f"{subject}: {'no value' if value is None else f'{value:.4f}{interval}'}"


def _printable_short_names(column: pl.Series) -> pl.Series:
    return pl.Series([_printable_short_name(text) for text in column], dtype=pl.String)


def _printable_short_name(value: object) -> str:
    """Return a name without control characters or line breaks, and of limited length."""
    text = escape_unprintable(NULL_NAME if value is None else " ".join(str(value).split()))
    return text if len(text) <= MAX_NAME_LENGTH else f"{text[: MAX_NAME_LENGTH - 1]}…"


def _value_and_name_axes(
    title: str, value_range: tuple[float, float], names: Sequence[str]
) -> dict[str, Any]:
    """Return the horizontal axis of values, `x`, and the vertical axis of names, `y`."""
    alt = _import_altair()
    value_scale = alt.Scale(domain=list(value_range), nice=False)
    name_scale = alt.Scale(domain=list(names))
    return {
        "x": alt.X("value:Q", title=title, scale=value_scale),
        "y": alt.Y("name:N", title=None, scale=name_scale),
    }


def _interval_and_dot_layers(axes: Mapping[str, Any]) -> list[Any]:
    alt = _import_altair()
    # Screen readers get the dot, whose description contains the interval.
    rules = alt.Chart().mark_rule(color=ACCENT_COLOR, strokeWidth=2, opacity=0.6, aria=False)
    dots = alt.Chart().mark_point(color=ACCENT_COLOR, filled=True, size=50, opacity=1)
    interval_encodings = {"x": alt.X("low:Q"), "x2": "high:Q", "y": axes["y"]}
    return [rules.encode(**interval_encodings), dots.encode(**axes, description="label:N")]


def _chart_with_panels(
    layers: Sequence[Any], data: pl.DataFrame, max_panels_per_line: int = PANELS_PER_LINE
) -> Any:
    """Return the layers as one chart, with one panel for each value of the column `panel`."""
    alt = _import_altair()
    chart = alt.layer(*layers, data=_chart_data_without_null_values(data))
    names = data["panel"].unique(maintain_order=True).to_list()
    if len(names) <= 1:
        return chart.properties(width=WIDTH, title="".join(names))
    facet = alt.Facet("panel:N", header=alt.Header(title=None), sort=names)
    panels = chart.properties(width=PANEL_WIDTH)
    return panels.facet(facet=facet, columns=min(max_panels_per_line, len(names)))


def _chart_data_without_null_values(data: pl.DataFrame) -> Any:
    """Return the rows without a null in `value`, or in any column if there is no `value`."""
    has_value = pl.all() if "value" not in data.columns else pl.col("value")
    return _import_altair().Data(
        values=data.filter(pl.all_horizontal(has_value.is_not_null())).to_dicts()
    )


def _to_numbers_times_or_names(column: pl.Series) -> pl.Series:
    """Convert a column to values that a chart can draw, with null for infinities and NaN."""
    dtype = column.dtype
    if dtype.is_nested() or dtype == pl.Binary:
        raise UsageError(f"column {column.name} cannot be plotted: it has lists, structs or bytes")
    if dtype.is_numeric():
        numbers = column.cast(pl.Float64, strict=False)
        return numbers.set(~numbers.is_finite(), None)
    if dtype in (pl.Date, pl.Datetime):
        return column.cast(pl.Datetime).dt.to_string("%Y-%m-%dT%H:%M:%S%.3f")
    names = _printable_short_names(column)
    if (n_names := names.n_unique()) > MAX_NAMES:
        raise UsageError(
            f"column {column.name} has {n_names} different names: at most {MAX_NAMES} can be "
            "plotted"
        )
    return names


def _vega_type(dtype: pl.DataType) -> str:
    if dtype.is_numeric():
        return "quantitative"
    return "temporal" if dtype in (pl.Date, pl.Datetime) else "nominal"


def _set_common_style(chart: Any) -> "Chart":
    text_options = {
        "labelColor": TEXT_COLOR,
        "titleColor": TEXT_COLOR,
        "labelFont": FONT,
        "titleFont": FONT,
    }
    axis_options = text_options | {
        "gridOpacity": 0.25,
        "gridColor": NEUTRAL_COLOR,
        "domainColor": NEUTRAL_COLOR,
        "tickColor": NEUTRAL_COLOR,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelLimit": 220,
    }
    title_options = {"color": TEXT_COLOR, "font": FONT, "fontSize": 12, "anchor": "start"}
    alt = _import_altair()
    y_axis_options = {"grid": False, "ticks": False, "domain": False, "labelPadding": 8}
    header_options = {"labelFontSize": 12, "labelFontWeight": "bold", "labelAnchor": "start"}
    # Configured in one step, because each step copies the chart with all its data.
    styled: Chart = chart.configure(
        background="white",  # because texts are dark, and a notebook can be dark
        font=FONT,
        # Fonts are wider in some browsers than expected.
        padding={"left": 24, **_PADDING},
        axis=alt.AxisConfig(**axis_options),
        axisY=alt.AxisConfig(**y_axis_options, **_Y_TITLE_POSITION),
        axisX=alt.AxisConfig(tickCount=5, labelOverlap="greedy"),
        header=alt.HeaderConfig(**header_options, **text_options),
        title=alt.TitleConfig(**title_options),
        view=alt.ViewConfig(stroke=None, step=ROW_HEIGHT),
    )
    return styled
