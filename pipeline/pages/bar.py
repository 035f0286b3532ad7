"""The small drawing of an interval in a cell, as SVG without any style of its own."""

from collections.abc import Sequence

from markupsafe import Markup

WIDTH, HEIGHT, EDGE = 88, 12, 3
_MIDDLE = HEIGHT / 2


def bar(
    value: float | None,
    low: float | None,
    high: float | None,
    bounds: tuple[float, float],
    *,
    field: Sequence[float] = (),
) -> Markup:
    """The interval and value on the range; `field` are the values of others, as ticks."""
    if value is None or bounds[0] >= bounds[1]:
        return Markup("")
    marks = [_line("axis", EDGE, WIDTH - EDGE, _MIDDLE, _MIDDLE)]
    places = [_place(other, bounds) for other in field]
    marks += [_line("tick", x, x, 1, HEIGHT - 1) for x in places]
    if low is not None and high is not None:
        start, end = _place(low, bounds), _place(high, bounds)
        marks.append(
            f'<rect class="interval" x="{start:.1f}" y="{_MIDDLE - 2}" '
            f'width="{max(end - start, 1):.1f}" height="4" rx="2"/>'
        )
    marks.append(f'<circle class="dot" cx="{_place(value, bounds):.1f}" cy="{_MIDDLE}" r="3"/>')
    # All of it is made of numbers.
    return Markup(
        f'<svg class="bar" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'aria-hidden="true" focusable="false">{"".join(marks)}</svg>'
    )


def _place(value: float, bounds: tuple[float, float]) -> float:
    """Where a value is drawn; what lies outside of the range is drawn at its end."""
    low, high = bounds
    share = min(max((value - low) / (high - low), 0.0), 1.0)
    return EDGE + share * (WIDTH - 2 * EDGE)


def _line(kind: str, left: float, right: float, top: float, bottom: float) -> str:
    return f'<line class="{kind}" x1="{left:.1f}" x2="{right:.1f}" y1="{top}" y2="{bottom}"/>'
