"""Small plots as inline SVG: dots and bars with intervals, lines, steps, heat maps. No script, no plotting library."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from saywhy.display import safe
from saywhy.reports.table import Row

__all__ = ["Bar", "Line", "bars", "dots", "heat", "lines", "series_swatch"]

WIDTH = 400
LABELS, VALUES = 150, 52
LINE = 27
SHAPES = ("circle", "square", "triangle", "diamond")
SERIES = 8
SHORT, LONG = 20, 58  # letters that fit beside a bar and above it
WRITTEN = 34  # a cell of a heat map so wide has its number written into it
TOLD = 12  # points of a line that are read out one by one


@dataclass(frozen=True)
class Bar:
    """A value with its interval; ``series`` decides colour and mark, ``paper`` is another's value to compare with."""

    name: str
    value: float
    low: float
    high: float
    series: int = 0
    paper: float | None = None


@dataclass(frozen=True)
class Line:
    """Points (x, y) in the order of x; ``spans`` are their intervals, ``bare`` a line that stays in the background."""

    name: str
    points: tuple[tuple[float, float], ...]
    series: int = 0
    spans: tuple[tuple[float, float], ...] = ()
    bare: bool = False


def dots(row: Row) -> str:
    """One line a method: its value as a dot, its confidence interval as a bar; the best is filled."""
    shown = [c for c in row.cells if c.result is not None and math.isfinite(c.result.value)]
    low, high, step = _axis([e for c in shown if c.result for e in (c.result.low, c.result.high, c.result.value)])
    left, right = LABELS, WIDTH - VALUES
    height = LINE * len(shown) + 30

    def x(value: float) -> float:
        return left + (right - left) * (value - low) / (high - low)

    parts = [_grid_x(x(tick), height - 22, _tick(tick, step)) for tick in _ticks(low, high, step)]
    for i, cell in enumerate(shown):
        if (result := cell.result) is None:
            continue
        y = LINE * i + LINE / 2 + 2
        start, end = (v if math.isfinite(v) else result.value for v in (result.low, result.high))
        kind = "dot best" if cell.best else "dot"
        parts.append(f'<text class="name" x="{left - 10}" y="{y + 4:.1f}" text-anchor="end">{safe(cell.method)}</text>')
        caps = "".join(f"M{x(v):.1f} {y - 4:.1f}v8" for v in (start, end) if x(end) - x(start) > 10)
        parts.append(f'<path class="bar" d="M{x(start):.1f} {y:.1f}H{x(end):.1f}{caps}"/>')
        parts.append(f'<circle class="{kind}" cx="{x(result.value):.1f}" cy="{y:.1f}" r="3.6"/>')
        parts.append(f'<text class="num" x="{WIDTH - 2}" y="{y + 4:.1f}" text-anchor="end">{result.value:z.3f}</text>')
    said = "; ".join(
        f"{c.method} {c.result.value:z.3f}, {c.result.low:z.3f} to {c.result.high:z.3f}" for c in shown if c.result
    )
    return _svg(height, f"{row.title} by method: {said}", parts)


def bars(title: str, groups: Sequence[tuple[str, Sequence[Bar]]]) -> str:
    """Lying bars with intervals, several for each name; a hollow diamond is the paper's value."""
    kept = [(name, [b for b in group if math.isfinite(b.value)]) for name, group in groups]
    shown = [b for _, group in kept for b in group]
    ends = [e for b in shown for e in (b.value, b.low, b.high, *([] if b.paper is None else [b.paper]))]
    low, high, step = _axis(ends)
    left, right = LABELS, WIDTH - VALUES
    single = all(len(group) <= 1 for _, group in kept)
    thick, gap = (15, 12) if single else (11, 10)
    # Long names, such as those of swept models, differ at their ends: they get a line of their own and are not cut.
    above = 15 if any(len(name) > SHORT for name, _ in kept) else 0
    height = 30 + sum(max(1, len(group)) * thick + gap + above for _, group in kept)

    def x(value: float) -> float:
        return left + (right - left) * (value - low) / (high - low)

    parts = [_grid_x(x(tick), height - 22, _tick(tick, step)) for tick in _ticks(low, high, step)]
    y = 2 + gap / 2
    for name, group in kept:
        middle = y + max(1, len(group)) * thick / 2
        if above:
            parts.append(_label(name, LONG, 2, y + 10, "start"))
            y += above
        else:
            parts.append(_label(name, SHORT, left - 10, middle + 4, "end"))
        for bar in group:
            start, end = sorted((x(0.0), x(bar.value)))
            centre = y + thick / 2
            bounds = [v if math.isfinite(v) else bar.value for v in (bar.low, bar.high)]
            told = f"{bar.name}: {bar.value:z.3f}, {bounds[0]:z.3f} to {bounds[1]:z.3f}"
            parts.append(
                f'<g class="s{bar.series % SERIES}"><rect x="{start:.1f}" y="{y + 1:.1f}" '
                f'width="{max(end - start, 0.5):.1f}" height="{thick - 2}"><title>{safe(told)}</title></rect></g>'
            )
            parts.append(f'<path class="bar" d="M{x(bounds[0]):.1f} {centre:.1f}H{x(bounds[1]):.1f}"/>')
            mark = _mark(bar.series, x(bar.value), centre, told)
            parts.append(f'<g class="s{bar.series % SERIES}">{mark}</g>')
            if bar.paper is not None:
                diamond = _shape("diamond", x(bar.paper), centre, f"{bar.name}, the paper: {bar.paper:g}")
                parts.append(f'<g class="paper">{diamond}</g>')
            kind = "num" if single else "num small"
            parts.append(
                f'<text class="{kind}" x="{WIDTH - 2}" y="{centre + 4:.1f}" text-anchor="end">{bar.value:z.3f}</text>'
            )
            y += thick
        y += gap if group else gap + thick
    said = "; ".join(
        f"{b.name} {b.value:z.3f}, {b.low:z.3f} to {b.high:z.3f}"
        + (f", paper {b.paper:g}" if b.paper is not None else "")
        for b in shown
    )
    return _svg(height, f"{title}: {said}", parts)


def lines(
    title: str, shown: Sequence[Line], *, places: Sequence[str] = (), under: str = "", steps: bool = False
) -> str:
    """Lines with marks and, where they are known, intervals.

    Args:
        title: what is shown, for those who hear the plot.
        shown: the lines.
        places: names of evenly spaced places that the x of a point counts; without them x is a number.
        under: what the x axis counts.
        steps: whether each point stands for all between the two places beside it, as in a histogram.
    """
    kept = [
        (line, [i for i, (x, y) in enumerate(line.points) if math.isfinite(x) and math.isfinite(y)]) for line in shown
    ]
    heights = [y for line in shown for _, y in line.points] + [e for line in shown for span in line.spans for e in span]
    low, high, step = _axis(heights)
    widths = [line.points[i][0] for line, numbers in kept for i in numbers]
    first, last, across = (0.0, max(1.0, len(places) - 1.0), 1.0) if places else _axis(widths)
    left, right, top, bottom = 44, WIDTH - 14, 12, 218

    def place(x: float, y: float) -> tuple[float, float]:
        at = left + 8 + (right - left - 16) * (x - first) / (last - first)
        return at, bottom - (bottom - top) * (y - low) / (high - low)

    parts = []
    for tick in _ticks(low, high, step):
        y = place(first, tick)[1]
        parts.append(f'<line class="grid" x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="tick" x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{_tick(tick, step)}</text>')
    marks = list(enumerate(places)) if places else [(t, _tick(t, across)) for t in _ticks(first, last, across)]
    for at, label in marks:
        x = place(at, low)[0]
        parts.append(f'<text class="tick" x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{safe(label)}</text>')
    for line, numbers in kept:
        points = [place(*line.points[i]) for i in numbers]
        along = [place(*corner) for corner in _outline([line.points[i] for i in numbers])] if steps else points
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in along)
        kind = f"s{line.series % SERIES}{' bare' if line.bare else ''}"
        parts.append(f'<g class="{kind}"><polyline points="{path}"/>')
        for i, (x, y) in zip(numbers, points, strict=True):
            if line.spans and all(map(math.isfinite, line.spans[i])):
                ends = [place(first, e)[1] for e in line.spans[i]]
                parts.append(f'<path class="span" d="M{x:.1f} {ends[0]:.1f}V{ends[1]:.1f}"/>')
            if not line.bare:
                at, value = line.points[i]
                parts.append(_mark(line.series, x, y, f"{line.name}, {_place(at, places)}: {value:z.3f}"))
        parts.append("</g>")
    if under:
        middle = (left + right) / 2
        parts.append(f'<text class="tick" x="{middle}" y="{bottom + 36}" text-anchor="middle">{safe(under)}</text>')
    said = "; ".join(_told(line, numbers, places) for line, numbers in kept if not line.bare)
    return _svg(bottom + 42, f"{title}: {said}", parts)


def heat(
    title: str, rows: Sequence[str], columns: Sequence[str], values: Sequence[Sequence[float]], *, middle: float = 0.0
) -> str:
    """A table of coloured cells: the further above ``middle`` the bluer, the further below the more orange."""
    widest = max(map(len, rows), default=0)
    left = min(LABELS, 12 + 7 * widest)
    width, top = (WIDTH - left) / max(len(columns), 1), 20
    known = [v for line in values for v in line if math.isfinite(v)]
    reach = max((abs(v - middle) for v in known), default=0.0) or 1.0
    letters = max(1, int(width / 6.5))
    parts = [
        f'<text class="tick" x="{left + width * (i + 0.5):.1f}" y="13" text-anchor="middle">'
        f"<title>{safe(name)}</title>{safe(name if len(name) <= letters else name[: letters - 1] + '…')}</text>"
        for i, name in enumerate(columns)
        if len(columns) <= SERIES or i % 2 == 0
    ]
    for i, (name, line) in enumerate(zip(rows, values, strict=True)):
        y = top + LINE * i
        parts.append(_label(name, SHORT, left - 8, y + LINE / 2 + 4, "end"))
        for j, value in enumerate(line):
            if not math.isfinite(value):
                continue
            x, way = left + width * j, "up" if value >= middle else "down"
            share = abs(value - middle) / reach
            parts.append(
                f'<path class="cell {way}" fill-opacity="{0.75 * share:.3f}" '
                f'd="M{x:.1f} {y}h{width - 1.5:.1f}v{LINE - 1.5}h{1.5 - width:.1f}z">'
                f"<title>{safe(f'{name}, {columns[j]}: {value:z.3f}')}</title></path>"
            )
            if width >= WRITTEN:
                parts.append(
                    f'<text class="num small" x="{x + width / 2:.1f}" y="{y + LINE / 2 + 4:.1f}" '
                    f'text-anchor="middle">{value:z.2f}</text>'
                )
    said = "; ".join(
        f"{name}: " + ", ".join(f"{column} {value:z.3f}" for column, value in zip(columns, line, strict=True))
        for name, line in zip(rows, values, strict=True)
    )
    return _svg(top + LINE * len(rows) + 4, f"{title}: {said}", parts)


def _told(line: Line, numbers: Sequence[int], places: Sequence[str]) -> str:
    """A line in words; of a long one where it begins and where it ends."""
    if len(numbers) > TOLD:
        numbers = [numbers[0], numbers[-1]]
    return f"{line.name} " + ", ".join(f"{_place(line.points[i][0], places)} {line.points[i][1]:z.3f}" for i in numbers)


def _place(x: float, places: Sequence[str]) -> str:
    if not places:
        return f"{x:g}"
    return places[int(x)] if x == int(x) else f"{places[int(x)]} to {places[int(x) + 1]}"


def _outline(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Steps around points, as wide as two places are apart; they begin and end at zero."""
    tops = [(end, y) for x, y in points for end in (x - 0.5, x + 0.5)]
    return [(tops[0][0], 0.0), *tops, (tops[-1][0], 0.0)] if tops else []


def series_swatch(number: int) -> str:
    """The line and mark of a method, for the legend of the curves."""
    mark = _mark(number, 14, 7, "")
    return (
        f'<svg class="plot swatch" viewBox="0 0 28 14" width="28" height="14" aria-hidden="true">'
        f'<g class="s{number % SERIES}"><polyline points="0,7 28,7"/>{mark}</g></svg>'
    )


def _axis(values: Sequence[float]) -> tuple[float, float, float]:
    """Bounds with zero inside, and a round step between them."""
    numbers = [v for v in values if math.isfinite(v)]
    low, high = min([0.0, *numbers]), max([0.0, *numbers])
    if high - low < 1e-12:
        low = high = 0.0  # nothing to see, and too small to take a logarithm of
    span = (high - low) or 1.0
    rough = 10 ** math.floor(math.log10(span / 4))
    step = next(rough * k for k in (1, 2, 5, 10) if span / (rough * k) <= 5)
    return step * math.floor(low / step + 1e-9), step * max(math.ceil(high / step - 1e-9), 1 if low == 0 else 0), step


def _ticks(low: float, high: float, step: float) -> list[float]:
    return [low + step * i for i in range(round((high - low) / step) + 1)]


def _tick(value: float, step: float) -> str:
    digits = max(0, -math.floor(math.log10(step)))
    return f"{0.0 if abs(value) < step / 2 else value:.{digits}f}".replace("-", "−")


def _grid_x(x: float, bottom: float, label: str) -> str:
    return (
        f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="2" y2="{bottom:.1f}"/>'
        f'<text class="tick" x="{x:.1f}" y="{bottom + 16:.1f}" text-anchor="middle">{label}</text>'
    )


def _label(name: str, most: int, x: float, y: float, anchor: str) -> str:
    """A name; one with too many letters is cut and can be read by pointing at it."""
    cut = name if len(name) <= most else f"{name[: most - 1].rstrip()}…"
    whole = f"<title>{safe(name)}</title>" if cut != name else ""
    return f'<text class="name" x="{x:g}" y="{y:.1f}" text-anchor="{anchor}">{whole}{safe(cut)}</text>'


def _mark(number: int, x: float, y: float, title: str) -> str:
    return _shape(SHAPES[number % len(SHAPES)], x, y, title)


def _shape(shape: str, x: float, y: float, title: str) -> str:
    told = f"<title>{safe(title)}</title>" if title else ""
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4">{told}</circle>'
    offsets = {
        "square": ((-3.7, -3.7), (3.7, -3.7), (3.7, 3.7), (-3.7, 3.7)),
        "triangle": ((0, -5), (4.8, 3.8), (-4.8, 3.8)),
        "diamond": ((0, -5.2), (5.2, 0), (0, 5.2), (-5.2, 0)),
    }[shape]
    points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in offsets)
    return f'<polygon points="{points}">{told}</polygon>'


def _svg(height: float, label: str, parts: Sequence[str]) -> str:
    return (
        f'<svg class="plot" viewBox="0 0 {WIDTH} {height:g}" width="{WIDTH}" height="{height:g}" role="img" '
        f'aria-label="{safe(label)}">{"".join(parts)}</svg>'
    )
