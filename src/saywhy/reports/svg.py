"""Small plots as inline SVG: dots with intervals, and curves over bins. No script, no plotting library."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from saywhy.display import safe
from saywhy.reports.table import Row

__all__ = ["bin_label", "curves", "dots", "series_swatch"]

WIDTH = 400
LABELS, VALUES = 150, 52
LINE = 27
SHAPES = ("circle", "square", "triangle", "diamond")
SERIES = 8


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


def curves(row: Row, methods: Sequence[str]) -> str:
    """The value at each erasure size, one line a method; empty where no result has bins of sizes."""
    shown = [
        (methods.index(c.method), c.method, c.result.bins)
        for c in row.cells
        if c.result and len(c.result.bins) > 1 and not set(c.result.bins) <= set(methods)
    ]
    if not shown:
        return ""
    keys = _bins([bins for _, _, bins in shown])
    low, high, step = _axis([v for _, _, bins in shown for v in bins.values()])
    left, right, top, bottom = 44, WIDTH - 14, 12, 218

    def place(key: str, value: float) -> tuple[float, float]:
        at = keys.index(key) / max(1, len(keys) - 1)
        return left + 8 + (right - left - 16) * at, bottom - (bottom - top) * (value - low) / (high - low)

    parts = []
    for tick in _ticks(low, high, step):
        y = place(keys[0], tick)[1]
        parts.append(f'<line class="grid" x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="tick" x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{_tick(tick, step)}</text>')
    for key in keys:
        x, label = place(key, low)[0], safe(bin_label(key))
        parts.append(f'<text class="tick" x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{label}</text>')
    for number, method, bins in shown:
        points = [(key, *place(key, bins[key])) for key in keys if math.isfinite(bins.get(key, math.nan))]
        path = " ".join(f"{x:.1f},{y:.1f}" for _, x, y in points)
        parts.append(f'<g class="s{number % SERIES}"><polyline points="{path}"/>')
        for key, x, y in points:
            parts.append(_mark(number, x, y, f"{method}, {bin_label(key)}: {bins[key]:z.3f}"))
        parts.append("</g>")
    parts.append(
        f'<text class="tick" x="{(left + right) / 2}" y="{bottom + 36}" text-anchor="middle">share of words</text>'
    )
    said = "; ".join(f"{m} " + ", ".join(f"{bin_label(k)} {b[k]:z.3f}" for k in keys if k in b) for _, m, b in shown)
    return _svg(bottom + 42, f"{row.title} at each share of words: {said}", parts)


def series_swatch(number: int) -> str:
    """The line and mark of a method, for the legend of the curves."""
    mark = _mark(number, 14, 7, "")
    return (
        f'<svg class="plot swatch" viewBox="0 0 28 14" width="28" height="14" aria-hidden="true">'
        f'<g class="s{number % SERIES}"><polyline points="0,7 28,7"/>{mark}</g></svg>'
    )


def bin_label(key: str) -> str:
    """A share as a percentage; anything else as it is."""
    try:
        share = float(key)
    except ValueError:
        return key
    return f"{100 * share:g}%" if 0 <= share <= 1 else key


def _bins(all_bins: Sequence[Mapping[str, float]]) -> list[str]:
    keys = list(dict.fromkeys(key for bins in all_bins for key in bins))
    try:
        return sorted(keys, key=lambda key: float(key.rstrip("% ")))
    except ValueError:
        return keys


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


def _mark(number: int, x: float, y: float, title: str) -> str:
    told = f"<title>{safe(title)}</title>" if title else ""
    shape = SHAPES[number % len(SHAPES)]
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
