"""Pictures of a page: treemap, heat strip, histogram over time, line with marks.

Each is drawn on the server as SVG, with a text and a table of the same numbers for those who do
not see it. Positions across are in percent, so that a picture fits every width; heights are in
pixels. The number of rectangles of a picture is bounded: the smallest are drawn as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from inspector.light_dataclasses import dataclass, replace
from inspector.quantities import capitalise, count_text, share_text
from inspector.render.cells import cell_text
from inspector.render.page import Picture
from inspector.render.tabular import Column, Table, Unit
from inspector.sums import sum_by_key
from inspector.time_text import time_ms_text

MOST_GROUPS = 8  # groups of a treemap; the smallest are one group
MOST_PARTS = 8  # parts of a group; the smallest are one part
MOST_CELLS = 200  # cells of a heat strip; of more partitions, neighbours share a cell
MOST_BARS = 72  # bars of a histogram; later times are in the last bar
MOST_MARKS = 12  # marks of a line
MOST_POINTS = 240  # points of a line; of more, equally distant ones are drawn

_ACROSS, _DOWN = 1000.0, 320.0  # width, in thousandths of the picture, and height in pixels
_LEAST = 1e-9  # least side of a rectangle, so that nothing is divided by 0
_SHADES = 5  # shades of a heat strip above 0
_WORDS_FROM = 90.0, 18.0  # least width and height of a rectangle with its name in it
_BROAD = 260.0  # least width of a rectangle that shows its name on a phone, too
_HEIGHT = 140.0  # height of a histogram and of a line, in pixels

View = SimpleNamespace  # values for a template, by name


@dataclass(frozen=True)
class Tile:
    """A rectangle of a treemap; its area is its amount."""

    label: str  # name; may come from a key, and is not escaped
    amount: int  # number that the area shows; the sum of its parts, if it has some
    parts: Sequence[Tile] = ()  # rectangles in it
    link: str = ""  # URL that it leads to; "" for none


@dataclass(frozen=True)
class Treemap(Picture):
    """Groups and their parts as rectangles with areas in proportion to their amounts."""

    title: str  # heading
    scale: Unit  # unit of the amounts
    group: str  # what a group is; heading of that column
    part: str  # what a part is; heading of that column
    tiles: Sequence[Tile]  # groups, in any order
    about: str = ""  # sentences below the heading
    exact: bool = True  # False for estimates
    leaf: str = ""  # what a part of a part is; heading of that column; "" if parts have none


@dataclass(frozen=True)
class HeatCell:
    """A cell of a heat strip, such as a partition."""

    label: str  # name of the cell
    amounts: Sequence[int | None]  # a number for each row of the strip; None if unknown
    link: str = ""  # URL that it leads to; "" for none


@dataclass(frozen=True)
class HeatStrip(Picture):
    """Cells in a row for each measure, the darker the larger their number is."""

    title: str  # heading
    label: str  # what a cell is, such as ``partition``
    measures: Sequence[tuple[str, Unit]]  # name and unit of each row
    cells: Sequence[HeatCell]  # cells, from left to right
    about: str = ""  # sentences below the heading


@dataclass(frozen=True)
class TimeHistogram(Picture):
    """Amounts by when they are due, with the clock that they wait for."""

    title: str  # heading
    scale: Unit  # unit of the amounts
    noun: str  # what the amounts count, such as ``rows``
    width_ms: int  # width of a bar in ms
    bars: Sequence[tuple[int, int]]  # begin (epoch ms) and amount of each bar, in any order
    clock: str  # name of the clock, such as ``watermark``
    now_ms: int | None  # the clock, epoch ms; None if unknown
    # amounts without a bar, by name: due already, never due
    remainder: Sequence[tuple[str, int]] = ()
    about: str = ""  # sentences below the heading


@dataclass(frozen=True)
class Mark:
    """An event on a line."""

    batch: int  # batch in which it is marked
    label: str  # name and meaning of the event
    severity: str  # ``error``, ``warning`` or ``info``


@dataclass(frozen=True)
class MarkedLine(Picture):
    """A number over the time of batches and over batches, with events on the line."""

    title: str  # heading
    scale: Unit  # unit of the number
    noun: str  # what it counts, such as ``row bytes``
    batches: Sequence[int]  # batch ids, oldest first
    times_ms: Sequence[int | None]  # clock of each batch, epoch ms; None if unknown
    values: Sequence[int | None]  # number of each batch; None if unknown
    marks: Sequence[Mark] = ()  # events, in any order
    about: str = ""  # sentences below the heading


# --- rectangles ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rect:
    """A rectangle: thousandths of the width across, pixels down."""

    x: float  # left edge
    y: float  # upper edge
    width: float  # width, above 0
    height: float  # height, above 0

    @property
    def area(self) -> float:
        """Width times height."""
        return self.width * self.height


def largest_tiles(tiles: Iterable[Tile], limit: int) -> list[Tile]:
    """Return at most ``limit`` tiles, the largest first; the smallest are one without parts.

    Tiles of 0 are left out. The sum of the amounts stays.
    """
    ordered = sorted((t for t in tiles if t.amount > 0), key=lambda t: (-t.amount, t.label))
    if len(ordered) <= limit:
        return ordered
    remainder = ordered[limit - 1 :]
    label = f"{len(remainder):,} others"
    return [*ordered[: limit - 1], Tile(label, sum(tile.amount for tile in remainder))]


def squarify(amounts: Sequence[int], room: Rect) -> list[Rect]:
    """Return a rectangle in ``room`` for each amount, none much longer than it is wide.

    The amounts are above 0, the largest first; areas are in proportion to them (squarified
    treemaps, Bruls, Huizing and van Wijk 2000).
    """
    rects: list[Rect] = []
    rest = sum(amounts)
    position = 0
    while position < len(amounts):
        # One amount may be so much larger than the others that no room is left for them.
        shorter = max(min(room.width, room.height), _LEAST)
        per_amount = max(room.area / rest, _LEAST)
        end, ratio = position + 1, _worst(amounts[position : position + 1], per_amount, shorter)
        while end < len(amounts):
            longer = _worst(amounts[position : end + 1], per_amount, shorter)
            if longer > ratio:
                break
            end, ratio = end + 1, longer
        line = amounts[position:end]
        share = sum(line) / rest
        line_rects, room = _line(line, room, share)
        rects += line_rects
        rest -= sum(line)
        position = end
    return rects


def _worst(line: Sequence[int], per_amount: float, shorter: float) -> float:
    """Return the greatest ratio of sides in a line of rectangles along the shorter side."""
    total = sum(line) * per_amount
    thickness = max(total / shorter, _LEAST)
    sides = [(amount * per_amount / thickness, thickness) for amount in (line[0], line[-1])]
    return max(max(side) / max(min(side), _LEAST) for side in sides)


def _line(line: Sequence[int], room: Rect, share: float) -> tuple[list[Rect], Rect]:
    """Return the rectangles of one line, and the room that is left; the line takes ``share``."""
    total = sum(line)
    rects: list[Rect] = []
    along = 0.0
    is_column = room.width >= room.height
    for amount in line:
        part = amount / total
        if is_column:
            height = room.height * part
            rects.append(Rect(room.x, room.y + along, room.width * share, height))
            along += height
        else:
            width = room.width * part
            rects.append(Rect(room.x + along, room.y, width, room.height * share))
            along += width
    if is_column:
        taken = room.width * share
        return rects, replace(room, x=room.x + taken, width=room.width - taken)
    taken = room.height * share
    return rects, replace(room, y=room.y + taken, height=room.height - taken)


# --- views for the template ----------------------------------------------------------------------


def picture_view(picture: Picture) -> View:
    """Return a picture for the template ``pictures.html.j2``.

    It has ``kind``, the part of the template that draws it, ``description``, a text on the picture,
    and ``numbers``, a table of all that is drawn. ``links`` is True if parts lead to other pages.
    """
    view: View = _VIEWS[type(picture)](picture)
    return view


def _treemap_view(picture: Treemap) -> View:
    """Return a treemap: rectangles of each group, and a table with a row for each rectangle."""
    groups = [
        replace(group, parts=largest_tiles(group.parts, MOST_PARTS))
        for group in largest_tiles(picture.tiles, MOST_GROUPS)
    ]
    total = sum(group.amount for group in groups)
    sign = "" if picture.exact else "~"
    rects: list[View] = []
    rows: list[dict[str, Any]] = []
    rooms = squarify([group.amount for group in groups], Rect(0, 0, _ACROSS, _DOWN))
    for number, (group, slot) in enumerate(zip(groups, rooms, strict=True)):
        parts = group.parts or (Tile("", group.amount, link=group.link),)
        for part, leaf, is_first, rect in _leaves(parts, slot, total):
            amount = (leaf or part).amount
            size, share = sign + _text(picture.scale, amount), share_text(amount / total)
            labels = group.label, part.label, leaf.label if leaf else ""
            # The first rectangle of a part has the name of the part, too.
            words = [label for label in labels[1:] if label] if is_first else labels[2:]
            rects.append(
                View(
                    **_spot(rect),
                    shade=number % 6,
                    name=": ".join(words) or group.label,
                    size=size,
                    tip=f"{', '.join(filter(None, labels))}: {size}, {share} of all",
                    words=rect.width >= _WORDS_FROM[0] and rect.height >= _WORDS_FROM[1],
                    two=rect.height >= 2 * _WORDS_FROM[1],
                    broad=rect.width >= _BROAD,
                    link=part.link or group.link,
                )
            )
            numbers = {"amount": amount, "share": amount / total}
            rows.append(dict(zip(("group", "part", "leaf"), labels, strict=True)) | numbers)
    columns = [
        Column("group", title=picture.group),
        Column("part", title=picture.part),
        *([Column("leaf", title=picture.leaf)] if picture.leaf else []),
        Column("amount", picture.scale, exact=picture.exact, title=picture.scale.value),
        Column("share", Unit.SHARE),
    ]
    description = "There is nothing to draw."
    if rows:
        largest = max(rects, key=lambda rect: rect.width * rect.height)
        all_text = sign + _text(picture.scale, total)
        description = f"{all_text} in {count_text(len(rows), 'rectangle')}. Largest: {largest.tip}."
    legend = [(number % 6, group.label) for number, group in enumerate(groups)]
    return View(
        kind="treemap",
        title=picture.title,
        about=picture.about,
        rects=rects,
        height=round(_DOWN),
        legend=legend if len(groups) > 1 else [],
        description=description,
        links=any(rect.link for rect in rects),
        numbers=Table("numbers", picture.title, columns, rows, "there are no rows"),
    )


def _leaves(
    parts: Sequence[Tile], room: Rect, total: int
) -> Iterator[tuple[Tile, Tile | None, bool, Rect]]:
    """Yield the rectangles in ``room``: of each part, or of each of its own parts.

    The second item is the part of the part; None if the part is one rectangle, because it has no
    parts or is less than a fiftieth of ``total``. The third is True for the first rectangle of a
    part, which is its largest.
    """
    for part, rect in zip(parts, squarify([p.amount for p in parts], room), strict=True):
        leaves = largest_tiles(part.parts, MOST_PARTS) if part.amount * 50 >= total else []
        rects = squarify([leaf.amount for leaf in leaves], rect)
        for number, (leaf, leaf_rect) in enumerate(zip(leaves, rects, strict=True)):
            yield part, leaf, number == 0, leaf_rect
        if not leaves:
            yield part, None, True, rect


def _spot(rect: Rect) -> dict[str, Any]:
    """Return position and size of a rectangle as SVG has them: percent across, pixels down."""
    across = {"x": rect.x / _ACROSS * 100, "width": rect.width / _ACROSS * 100}
    down = {"y": rect.y, "height": rect.height}
    return {name: round(number, 3) for name, number in (across | down).items()}


def _strip_view(picture: HeatStrip) -> View:
    """Return a heat strip: a row of cells for each measure."""
    cells, group_size = _join_cells(picture.cells, picture.label)
    lines = []
    for row, (name, unit) in enumerate(picture.measures):
        highest = max((cell.amounts[row] or 0 for cell in cells), default=0)
        width = 100 / max(len(cells), 1)
        drawn = []
        for number, cell in enumerate(cells):
            amount = cell.amounts[row]
            text = "not known" if amount is None else _text(unit, amount)
            drawn.append(
                View(
                    x=round(number * width, 3),
                    width=round(width, 3),
                    shade=_shade(amount, highest),
                    tip=f"{cell.label}: {text} {name}"
                    if unit is Unit.COUNT
                    else f"{cell.label}: {text}, {name}",
                    link=cell.link,
                )
            )
        lines.append(View(name=name, highest=_text(unit, highest), cells=drawn))
    columns = [Column("cell", title=picture.label)]
    columns += [Column(name, unit) for name, unit in picture.measures]
    names = [name for name, _ in picture.measures]
    rows = [{"cell": c.label} | dict(zip(names, c.amounts, strict=True)) for c in cells]
    return View(
        kind="strip",
        title=picture.title,
        about=picture.about,
        lines=lines,
        description=_describe_strip(picture, cells),
        links=any(cell.link for cell in cells),
        gap=len(cells) <= MOST_CELLS // 2,
        remark=f"Each cell is the sum of up to {group_size} {picture.label}s."
        if group_size > 1
        else "",
        numbers=Table("numbers", picture.title, columns, rows, f"there is no {picture.label}"),
    )


def _describe_strip(picture: HeatStrip, cells: Sequence[HeatCell]) -> str:
    """Return a sentence on the cell with the largest number of each measure."""
    sentences = []
    for row, (name, unit) in enumerate(picture.measures):
        pairs = [(cell.amounts[row] or 0, cell) for cell in cells if cell.amounts[row] is not None]
        if not pairs:
            sentences.append(f"{capitalise(name)}: not known.")
            continue
        amount, cell = max(pairs, key=lambda pair: pair[0])
        total = sum(number for number, _ in pairs)
        text = f"{_text(unit, total)} in all, most in {cell.label}: {_text(unit, amount)}"
        sentences.append(f"{capitalise(name)}: {text}.")
    return " ".join(sentences)


def _join_cells(cells: Sequence[HeatCell], label: str) -> tuple[Sequence[HeatCell], int]:
    """Return at most MOST_CELLS cells, and how many of the given cells are in each.

    A cell of several has their sum, and no link; an unknown number makes the sum unknown.
    """
    group_size = -(-len(cells) // MOST_CELLS)
    if group_size <= 1:
        return cells, 1
    groups = []
    for start in range(0, len(cells), group_size):
        group = cells[start : start + group_size]
        ends = group[0].label, group[-1].label.removeprefix(f"{label} ")
        columns = zip(*(cell.amounts for cell in group), strict=True)
        sums = [None if None in column else sum(filter(None, column)) for column in columns]
        groups.append(HeatCell(ends[0] if len(group) == 1 else f"{ends[0]} to {ends[1]}", sums))
    return groups, group_size


def _shade(amount: int | None, highest: int) -> int:
    """Return the shade of a number: 0 for 0, 1 to ``_SHADES`` above, -1 if it is not known."""
    if amount is None:
        return -1
    return -(-amount * _SHADES // highest) if amount > 0 and highest > 0 else 0


def _histogram_view(picture: TimeHistogram) -> View:
    """Return a histogram: a bar for each width of time, and where the clock is."""
    width = max(picture.width_ms, 1)
    amounts = sum_by_key((begin // width, amount) for begin, amount in picture.bars)
    now = None if picture.now_ms is None else picture.now_ms // width
    first, end = _window(amounts)
    # The clock is in the picture if it is near; else it is at the edge.
    if now is not None and 0 < first - now <= MOST_BARS // 2:
        first = now
    inside = [(n, n, amount, "") for n, amount in sorted(amounts.items()) if first <= n < end]
    before = sum(amount for number, amount in amounts.items() if number < first)
    after = sum(amount for number, amount in amounts.items() if number >= end)
    drawn = [(first - 1, first, before, "before ")] if before else []
    drawn += [*inside, *([(end, end, after, "from ")] if after else [])]
    left = first - 1 if before else first
    right = drawn[-1][0] + 1 if drawn else left + 1
    highest = max((amount for _, _, amount, _ in drawn), default=0)
    bars, rows = [], []
    for slot, number, amount, word in drawn:
        begin = f"{word}{_time(number * width)}"
        height = max(_HEIGHT * amount / highest, 1.0) if amount else 0.0
        across = {"x": 100 * (slot - left) / (right - left), "width": 100 / (right - left)}
        spot = across | {"y": _HEIGHT - height, "height": height}
        tip = f"{begin}: {_text(picture.scale, amount)} {picture.noun}"
        bars.append(View(**{name: round(at, 3) for name, at in spot.items()}, tip=tip))
        rows.append({"from": begin, "amount": amount})
    line = None
    if picture.now_ms is not None and bars:
        position = 100 * (picture.now_ms / width - left) / (right - left)
        line = round(min(max(position, 0.0), 100.0), 3)
    columns = [
        Column("from", title="expires"),
        Column("amount", picture.scale, title=picture.noun),
    ]
    remainder = [{"from": name, "amount": amount} for name, amount in picture.remainder if amount]
    return View(
        kind="histogram",
        title=picture.title,
        about=picture.about,
        bars=bars,
        clock=line,
        height=round(_HEIGHT),
        ends=(_time(left * width), _time(right * width)) if bars else ("", ""),
        highest=_text(picture.scale, highest),
        noun=picture.noun,
        description=_describe_histogram(picture, rows),
        links=False,
        numbers=Table("numbers", picture.title, columns, remainder + rows, "there are no rows"),
    )


def _window(amounts: Mapping[int, int]) -> tuple[int, int]:
    """Return begin and end of the MOST_BARS numbers in a row that have most of the amounts.

    The first and the last bar are left for those that are earlier and later.
    """
    numbers = sorted(amounts)
    best, best_sum, running, end = 0, -1, 0, 0
    for start, number in enumerate(numbers):
        while end < len(numbers) and numbers[end] < number + MOST_BARS - 2:
            running += amounts[numbers[end]]
            end += 1
        if running > best_sum:
            best, best_sum = start, running
        running -= amounts[number]
    begin = numbers[best] if numbers else 0
    return begin, min(begin + MOST_BARS - 2, numbers[-1] + 1 if numbers else 1)


def _describe_histogram(picture: TimeHistogram, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return sentences on the clock, the amounts without a bar, and the largest bar."""
    clock = "not known" if picture.now_ms is None else _time(picture.now_ms)
    sentences = [f"{capitalise(picture.clock)}: {clock}."]
    for name, amount in picture.remainder:
        if amount:
            sentences.append(f"{capitalise(name)}: {_text(picture.scale, amount)} {picture.noun}.")
    if not rows:
        return " ".join([*sentences, "Nothing expires later."])
    total = _text(picture.scale, sum(row["amount"] for row in rows))
    largest = max(rows, key=lambda row: row["amount"])
    highest = _text(picture.scale, largest["amount"])
    sentences.append(f"Later: {total} {picture.noun}; most at once: {highest}, {largest['from']}.")
    return " ".join(sentences)


def _line_view(picture: MarkedLine) -> View:
    """Return a marked line: a panel over the time of batches, and one over their numbers."""
    pairs = [
        (batch, time, value)
        for batch, time, value in zip(
            picture.batches, picture.times_ms, picture.values, strict=True
        )
        if value is not None
    ]
    batches = [batch for batch, _, _ in pairs]
    chosen = _choose_marks(picture.marks, batches)
    panels = []
    over_time = [(time, value, batch) for batch, time, value in pairs if time is not None]
    if len({time for time, _, _ in over_time}) > 1:
        ends = _time(min(p[0] for p in over_time)), _time(max(p[0] for p in over_time))
        panels.append(_panel("over the time of batches", ends, over_time, chosen))
    if len(pairs) > 1:
        over_batches = [(batch, value, batch) for batch, _, value in pairs]
        ends = f"batch {batches[0]}", f"batch {batches[-1]}"
        panels.append(_panel("over batches", ends, over_batches, chosen))
    marks = [View(number=number, **vars(mark)) for number, mark in enumerate(chosen, 1)]
    columns = [
        Column("batch", Unit.ID),
        Column("time", Unit.TIME_MS),
        Column("value", picture.scale, title=picture.noun),
        Column("mark", title="marks"),
    ]
    rows = [
        {"batch": batch, "time": time, "value": value}
        | {"mark": ", ".join(str(m.number) for m in marks if m.batch == batch) or None}
        for batch, time, value in _thin(pairs)
    ]
    description = "No version can be restored."
    if pairs:
        (first, _, begin), (last, _, end) = pairs[0], pairs[-1]
        description = (
            f"{capitalise(picture.noun)}: {_text(picture.scale, begin)} after batch {first}, "
        )
        description += f"{_text(picture.scale, end)} after batch {last}. "
        description += f"Findings on the line: {len(marks):,}."
    return View(
        kind="line",
        title=picture.title,
        about=picture.about,
        panels=panels,
        height=round(_HEIGHT),
        marks=marks,
        highest=_text(picture.scale, max((value for _, _, value in pairs), default=0)),
        remark=count_text(len(picture.marks) - len(chosen), "finding")
        if len(picture.marks) > len(chosen)
        else "",
        description=description,
        links=False,
        numbers=Table("numbers", picture.title, columns, rows, "no version can be restored"),
    )


_SEVERITIES = ("error", "warning", "info")  # severities of marks, the most severe first


def _choose_marks(marks: Sequence[Mark], batches: Sequence[int]) -> list[Mark]:
    """Return the MOST_MARKS most severe marks, moved to drawn batches and ordered by batch.

    A mark moves to the first drawn batch that is not earlier, or to the last one if there is none.
    Returns no mark if no batch is drawn.
    """
    if not batches:
        return []
    ordered = sorted(marks, key=lambda mark: (_SEVERITIES.index(mark.severity), mark.batch))
    placed_marks = [
        replace(mark, batch=next((b for b in batches if b >= mark.batch), batches[-1]))
        for mark in ordered[:MOST_MARKS]
    ]
    return sorted(placed_marks, key=lambda mark: mark.batch)


def _thin(points: Sequence[Any]) -> Sequence[Any]:
    """Return at most MOST_POINTS points with equal distances; the last one is among them."""
    step = -(-len(points) // MOST_POINTS) or 1
    return points[::-step][::-1]


def _panel(
    name: str, ends: tuple[str, str], points: Sequence[tuple[int, int, int]], marks: Sequence[Mark]
) -> View:
    """Return a line through points (position, value, batch), with the marks of their batches."""
    positions = [position for position, _, _ in points]
    begin, span = min(positions), max(max(positions) - min(positions), 1)
    highest = max((value for _, value, _ in points), default=0) or 1

    def locate(position: int, value: int) -> tuple[float, float]:
        """Return percent across and pixels down of a value."""
        return (
            round(100 * (position - begin) / span, 3),
            round(_HEIGHT - 4 - (_HEIGHT - 24) * max(value, 0) / highest, 2),
        )

    line = [locate(position, value) for position, value, _ in _thin(points)]
    by_batch = {batch: locate(position, value) for position, value, batch in points}
    drawn, seen = [], dict[int, int]()
    for number, mark in enumerate(marks, 1):
        if mark.batch in by_batch:
            x, y = by_batch[mark.batch]
            # Marks of one batch are beside each other, towards the middle of the picture.
            beside = seen[mark.batch] = seen.get(mark.batch, -1) + 1
            shift = beside * (18 if x < 50 else -18)
            inward = 9 if x < 2 else -9 if x > 98 else 0
            drawn.append(
                View(
                    x=x,
                    y=y,
                    dx=shift + inward,
                    number=number,
                    severity=mark.severity,
                    tip=f"{number}: {mark.label}",
                )
            )
    text = " ".join(f"{x * 10:.1f},{y}" for x, y in line)
    return View(name=name, ends=ends, points=text, marks=drawn)


def _text(unit: Unit, amount: float) -> str:
    """Return a number with its unit."""
    return cell_text(Column("", unit), round(amount))


def _time(millis: int) -> str:
    """Return a time in UTC, as in tables."""
    return time_ms_text(millis).replace("T", " ").removesuffix("Z").removesuffix(".000")


_VIEWS: dict[type, Any] = {
    Treemap: _treemap_view,
    HeatStrip: _strip_view,
    TimeHistogram: _histogram_view,
    MarkedLine: _line_view,
}
