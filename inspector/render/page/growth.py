"""Lines as plain SVG: no script draws them, so that a notebook, paper and a phone show them too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from inspector.render.page.cells import number_text
from inspector.render.page.model import LineChart

WIDTH, HEIGHT = 300, 60
MOST_POINTS = 120
"""Points of a line; of more batches the newest of each few is drawn."""


@dataclass(frozen=True)
class Growth:
    """A chart in small: its first line alone."""

    title: str
    text: str
    svg: str


def growth_of(charts: Sequence[LineChart]) -> Iterator[Growth]:
    """The charts that have a line through two batches at least."""
    for chart in charts:
        values = chart.series[0].values
        points = [(b, v) for b, v in zip(chart.batches, values, strict=True) if v is not None]
        if len(points) > 1:
            (first, begin), (last, end) = points[0], points[-1]
            start, now = (number_text(chart.scale, value) for value in (begin, end))
            text = f"{start} after batch {first}, {now} after batch {last}"
            yield Growth(chart.title, text, _svg(chart.batches, values))


def _svg(batches: Sequence[int], values: Sequence[int | None]) -> str:
    step = -(-len(values) // MOST_POINTS)
    sampled = list(zip(batches, values, strict=True))[::-step][::-1]
    first, last = sampled[0][0], sampled[-1][0]
    across = WIDTH / max(last - first, 1)
    up = (HEIGHT - 4) / (max(value for _, value in sampled if value is not None) or 1)
    lines = []
    for known, points in groupby(sampled, lambda point: point[1] is not None):
        if known:
            line = [
                f"{(batch - first) * across:.0f},{HEIGHT - 2 - (value or 0) * up:.1f}"
                for batch, value in points
            ]
            lines.append(
                f'<polyline vector-effect="non-scaling-stroke" points="{" ".join(line)}"/>'
            )
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" fill="none" '
        'stroke="currentColor" stroke-width="2" preserveAspectRatio="none" aria-hidden="true" '
        f'focusable="false"><path d="M0 {HEIGHT - 1}H{WIDTH}" stroke-width="1" opacity=".35"/>'
        f"{''.join(lines)}</svg>"
    )
