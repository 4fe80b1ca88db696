"""Judgement on the sources of a changed query: the old offset and log that each one would get.

Offset log v1 has a line for each use of a source, by its position in the plan. A source of files
also has a log below ``sources``, by the order in which the plan first uses the sources. So a
restart gives each line of the new plan the offset of the old line at its position, and the log of
the old source with its number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from inspector.discovery.query_sources import FILES, KAFKA, NO_OFFSET, QuerySource
from inspector.findings.restart_line import Line, LineMaker
from inspector.findings.restart_side import OFFSET_FORMAT, Side
from inspector.light_dataclasses import replace

_PLACED = {FILES: "files-folder", KAFKA: "topics"}
"""Kind of a source whose folder or topics are recorded -> the restart rule if they change."""
_NOT_READ = {FILES: "source-log-other", KAFKA: "topics"}
"""Kind of a source -> the restart rule if the new query does not read an old source."""
# sentence of a line if the rows of the rehearsals do not identify the sources
_ALIKE = "The rehearsals gave two sources the same rows: give each source rows of its own."

_SAME = ("sources-same", "sources-rehearsed")  # restart rules about all sources together

Pair = tuple[QuerySource, QuerySource]  # old source, and the new source that would get its offset


class Sources:
    """Comparison of the sources of the checkpoint in production and of the changed query's."""

    def __init__(
        self,
        old: Side,  # checkpoint in production
        new: Side,  # checkpoint that the changed query made
        rehearsal: Side | None,  # checkpoint that the old query made of the same rows, if any
        line: LineMaker,  # maker of the lines of the release that restarts
    ) -> None:
        """Take the checkpoints whose sources are compared, and the maker of lines."""
        self._old, self._new, self._rehearsal, self._line = old, new, rehearsal, line

    def lines(self) -> Iterator[Line]:
        """Yield a line for each difference between the sources, or one line that there is none.

        If their numbers differ in offset log v1, only one line on the numbers is yielded. Nothing
        may be yielded if a source has no offset yet.
        """
        before, after = self._old.sources, _as_format(self._old, self._new)
        if self._old.confs[OFFSET_FORMAT] != "1":
            yield from self._compare_by_name(before, after)
            return
        if len(before) != len(after):
            texts = [f"{len(side)}: {_list(side)}" for side in (before, after)]
            yield self._line("sources", "source-count", *texts)
            return
        yield from self._compare(list(zip(before, after, strict=True)))

    def _compare_by_name(
        self, before: Sequence[QuerySource], after: Sequence[QuerySource]
    ) -> Iterator[Line]:
        """Yield the lines on sources of offset log v2, which are compared by their names.

        ``before`` and ``after`` are the old and the new sources. Each added or removed name has a
        line.
        """
        olds, news = ({source.name: source for source in side} for side in (before, after))
        for name in sorted(olds.keys() ^ news.keys()):
            about = "source-removed" if name in olds else "source-added"
            sides = [str(side[name]) if name in side else None for side in (olds, news)]
            yield self._line(f"source {name}", about, *sides)
        lines = self._compare([(olds[name], news[name]) for name in olds if name in news])
        is_whole = olds.keys() == news.keys()
        yield from (line for line in lines if is_whole or line.rule.about not in _SAME)

    def _compare(self, pairs: Sequence[Pair]) -> Iterator[Line]:
        """Yield the lines on pairs of an old source and the new source that would get its offset.

        If a new source is a stand-in of a rehearsal, the sources are compared by the rows that they
        read.
        """
        if any(new.stands_in for _, new in pairs):
            yield from self._compare_rehearsals(pairs)
            return
        olds = [old for old, _ in pairs]
        owners = [_owner(old, new, olds) for old, new in pairs]
        strange = [pair for pair, owner in zip(pairs, owners, strict=True) if owner is None]
        lines = list(self._takeovers(pairs, owners))
        yield from lines
        for pair in strange:
            yield from self._other(*pair)
        texts = _list(olds), _list([new for _, new in pairs])
        if not lines and _is_ambiguous(pairs):
            yield self._line("order of sources", "sources-alike", *texts)
        elif not lines and all(old.kind == new.kind for old, new in pairs):
            yield self._line("sources", "sources-same", *texts)

    def _other(self, old: QuerySource, new: QuerySource) -> Iterator[Line]:
        """Yield at most one line about a new source that reads nothing that an old source has read.

        The caller has checked that. ``old`` is the old source whose offset ``new`` would get. The
        line says that their kinds differ, or that their folders or topics do. Yields nothing if
        their kinds are equal and the folder or topics of one are unknown, or if one has no offset.
        """
        about = ""
        if NO_OFFSET not in (old.kind, new.kind) and old.kind != new.kind:
            about = "source-kind"
        elif old.place and new.place:
            about = _PLACED.get(old.kind, "")
        if about:
            yield self._line(f"source {old.name}", about, str(old), str(new))

    def _takeovers(
        self, pairs: Sequence[Pair], owners: Sequence[QuerySource | None]
    ) -> Iterator[Line]:
        """Yield a line for each new source that continues from the offset or log of another one.

        ``pairs`` are (old, new) sources, of which the new one would get the old one's offset.
        ``owners`` are the old sources whose rows the new sources read, in the order of the pairs;
        None if unknown.
        """
        olds = [old for old, _ in pairs]
        has_all = set(map(_identity, olds)) <= {_identity(owner) for owner in owners if owner}
        for (old, new), owner in zip(pairs, owners, strict=True):
            if owner is None:
                continue
            about, detail = self._takeover(old, new, owner)
            if not about and _identity(owner) != _identity(old):
                if not has_all:
                    about = _NOT_READ.get(old.kind, "sources-alike")
                    detail = f"Source {old.name} reads what source {owner.name} read."
                elif old.kind != FILES:
                    about = "sources-swapped"
            if about:
                item = f"source {old.name}"
                yield self._line(item, about, str(old), str(owner), detail=detail)

    def _takeover(self, old: QuerySource, new: QuerySource, owner: QuerySource) -> tuple[str, str]:
        """Return (rule name, detail) for a new source that would get an old source's offset.

        ``old`` is the source whose line has the offset. ``owner`` is the old source whose rows
        ``new`` reads; it may be ``old``. The rule name is that of a restart rule. Both texts are
        empty if no rule applies.
        """
        if NO_OFFSET not in (old.kind, owner.kind) and old.kind != owner.kind:
            return "source-kind", ""
        if old.kind != FILES:
            return "", ""
        # A restart reads files of the last batch again (FileStreamSource.getBatch).
        has_files = old.moved is not False
        swapped = "files-swapped" if has_files else "sources-swapped", ""
        if new.log is None or owner.log is None:
            if owner == old:
                return "", ""
            return swapped if owner.place != old.place else ("sources-alike", "")
        holder = next((o for o in self._old.sources if o.log == new.log), None)
        detail = f"The log would be sources/{new.log}, at the offset {old.offset}."
        if holder is None:
            return "source-log-absent" if has_files else "source-log-other", detail
        if holder.place != owner.place:
            return swapped
        is_own = owner.log == new.log and holder.offset == old.offset
        return ("", "") if is_own else ("source-log-other", detail)

    def _compare_rehearsals(self, pairs: Sequence[Pair]) -> Iterator[Line]:
        """Yield the lines on sources of rehearsals, where stand-ins with few rows replace them.

        ``pairs`` are (old, new) sources, of which the new one would get the old one's offset. A
        source is identified by the stand-in in the old query's rehearsal that has the same rows or
        name.
        """
        olds, news = [old for old, _ in pairs], [new for _, new in pairs]
        item, texts = "number of sources", (_list(olds), _list(news))
        if self._rehearsal is None:
            about = "sources-alike" if len(pairs) > 1 else "sources-rehearsed"
            yield self._line(item, about, *texts)
            return
        by_name = {source.name: source for source in _as_format(self._old, self._rehearsal)}
        rehearsed = [by_name[old.name] for old in olds if old.name in by_name]
        doubt = unlike_sources(olds, rehearsed) or _ambiguous_rows(rehearsed, news)
        if doubt:
            yield self._line(item, "sources-alike", *texts, detail=doubt)
            return
        keys, new_keys = _row_keys(rehearsed, news)
        by_key = dict(zip(keys[::-1], olds[::-1], strict=True))
        # Two readers of one folder have the same rows: each new reader is the one at its position.
        owners = [
            old if key == new_key else by_key.get(new_key)
            for old, key, new_key in zip(olds, keys, new_keys, strict=True)
        ]
        lines = list(self._takeovers(pairs, owners))
        yield from lines
        if not lines:
            yield self._line(item, "sources-rehearsed", *texts)


def unlike_sources(old: Sequence[QuerySource], rehearsed: Sequence[QuerySource]) -> str:
    """Return a sentence on why the rehearsal's query is not that in production; "" if it may be.

    ``old`` are the sources in production, ``rehearsed`` those of the old query's rehearsal. The
    number of uses must agree. If all are files with a whole log, the distinct sources must agree,
    too.
    """
    if len(old) != len(rehearsed):
        return (
            f"The rehearsal of the old query has {len(rehearsed)} sources, and the query in "
            f"production has {len(old)}."
        )
    sides: list[list[str | None]] = [[source.log for source in side] for side in (old, rehearsed)]
    if None in sides[0]:
        return ""  # not all are files with a whole log
    if [sides[0].index(log) for log in sides[0]] != [sides[1].index(log) for log in sides[1]]:
        return (
            "The rehearsal of the old query has other distinct sources: "
            f"{_log_list(rehearsed)}, and in production {_log_list(old)}."
        )
    return ""


def _log_list(sources: Sequence[QuerySource]) -> str:
    """Return the sources with their logs as text: ``source 0 in sources/0, ...``."""
    return ", ".join(f"source {source.name} in sources/{source.log}" for source in sources)


def _ambiguous_rows(old: Sequence[QuerySource], new: Sequence[QuerySource]) -> str:
    """Return ``_ALIKE`` if neither rows nor parameter names identify the sources; else "".

    ``old`` and ``new`` are the stand-ins for sources in the rehearsals of the two queries.
    """
    folders = {source.short_location for source in old}
    has_digests = len({source.rows for source in old}) == len(folders)
    is_named = {source.short_location for source in new} <= folders
    return "" if has_digests or is_named else _ALIKE


def _row_keys(
    old: Sequence[QuerySource], new: Sequence[QuerySource]
) -> tuple[list[str], list[str]]:
    """Return two lists with a text for each source of the old and the new query's rehearsal.

    Two texts are equal if the sources read the same rows. They are names of parameters if all those
    of the new query are known, and otherwise digests of the rows.
    """
    names = [[source.short_location for source in side] for side in (old, new)]
    if set(names[1]) <= set(names[0]):
        return names[0], names[1]
    # The function of the new query has other names for its parameters.
    return [source.rows for source in old], [source.rows for source in new]


def _as_format(side: Side, other: Side) -> Sequence[QuerySource]:
    """Return the sources of ``other`` as they would be in the offset log format of ``side``.

    Format 1 has a line for each use of a source. Format 2 has one line for each source, under
    the position of its last use. A conversion from format 2 to 1 needs a single source whose
    name is a number. Sources that need no conversion, or cannot be converted, are returned
    unchanged.
    """
    formats = [each.confs[OFFSET_FORMAT] for each in (side, other)]
    sources = other.sources
    if formats == ["2", "1"]:
        last_uses = {source.log or source.name: source for source in sources}
        return [source for source in sources if source in last_uses.values()]
    if formats == ["1", "2"] and len(sources) == 1 and sources[0].name.isdecimal():
        uses = min(int(sources[0].name) + 1, len(side.sources))
        return [replace(sources[0], name=str(position)) for position in range(uses)]
    return sources


def _owner(old: QuerySource, new: QuerySource, olds: Sequence[QuerySource]) -> QuerySource | None:
    """Return the old source that reads what a new one reads; None if that is not known.

    ``old`` is the old source whose offset ``new`` would get, and ``olds`` are all old sources.
    ``old`` is returned if both have one kind and place; a place may be unknown in both.
    """
    if old.kind == new.kind and old.place == new.place:
        return old
    same = (o for o in olds if new.place and (o.kind, o.place) == (new.kind, new.place))
    return next(same, None)


def _identity(source: QuerySource) -> str:
    """Return the place that a source reads, or its name in the log if the place is unknown."""
    return source.place or source.name


def _list(sources: Sequence[QuerySource]) -> str:
    """Return the sources as text, separated by commas; ``none`` if there is none."""
    return ", ".join(map(str, sources)) or "none"


def _is_ambiguous(pairs: Sequence[Pair]) -> bool:
    """Return True if several sources have one kind and the files do not show which is which.

    ``pairs`` are (old, new) sources at the same positions. False if all places are known, unequal
    for unequal offsets, and the same in both queries.
    """
    olds = [old for old, _ in pairs]
    kinds = Counter(source.kind for source in olds)
    locations = [(source.kind, source.place) for source in olds]
    # Two lines with one place and one offset, as of one source used twice, may be in any order.
    positions = {(source.kind, source.place, source.offset) for source in olds}
    is_shown = all(place for _, place in locations) and len(set(locations)) == len(positions)
    is_same = locations == [(new.kind, new.place) for _, new in pairs]
    return max(kinds.values(), default=0) > 1 and not (is_shown and is_same)
