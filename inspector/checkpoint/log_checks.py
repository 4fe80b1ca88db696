"""Checks of the two logs against each other: damaged or lost entries show where they disagree.

* Entry N of ``offsets`` begins with the watermark that entry N - 1 of ``commits`` ends with:
  ``MicroBatchExecution`` takes both from one ``WatermarkTracker``, also when it restarts. An
  appended batch repeats an older entry of each, with the watermark that it had.
* A watermark never falls: ``WatermarkTracker.setWatermark`` and ``updateWatermark`` raise it only.
* A commit has its offsets: entry N of ``offsets`` is written before batch N runs, entry N of
  ``commits`` after it, and ``purge`` removes the oldest offsets first.
* A batch that another follows has its commit: entry N + 1 of ``offsets`` is written after entry N
  of ``commits`` (Spark 2.2 and later; 2.1 had no commit log).
* Confs stay what they were: a restart takes over those that the newest entry records
  (``OffsetSeqMetadata.setSessionConf``). Only a repartitioning of 4.3 sets another number of
  partitions, in an appended batch. A later release adds some, and none is absent between two
  entries that have it.
* The number of sources stays what it was, where they have no names (``OffsetSeq.toStreamProgress``
  asserts it).
* A source writes its offsets in one way: where it writes JSON, each of them looks like JSON.
* There are no gaps: batches are numbered one by one and purged from the oldest on. Asynchronous
  progress tracking (3.4 on, for queries without state) writes both entries of a batch or none, and
  not those of every batch (``AsyncProgressTrackingMicroBatchExecution``).

None of these is broken in any of the checkpoints, written by eleven releases of Spark, that the
project is tested with. Which of two entries is wrong cannot be told, so both are named.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import pairwise

from inspector.checkpoint.confs import SHUFFLE_PARTITIONS
from inspector.light_dataclasses import replace
from inspector.model import BatchClock, BatchId, Problem

CONTRADICTION = "log-contradiction"  # slug: two entries of the logs contradict each other
# slug: sources or the form of their offsets have changed, so that a restart refuses the entry
CHANGED_SOURCES = "sources-changed"
LOST_ENTRY = "log-entry-lost"  # slug: an entry of a log is missing
_BY_TURNS = 2  # times that clock and watermark fall together from which on two runs are suspected
# missing entries that are named one by one; a renamed entry may be followed by 2**63
NAMED_OF_A_GAP = 100
_AROUND = "though older and newer ones are there"  # why an entry counts as lost: it is in a gap
# why an entry of each log counts as lost: its batch ran
_WHY = {
    "offsets": "though its batch is committed",
    "commits": "though a later batch was planned, which follows its commit",
}


def cross_checks(
    offsets: Collection[BatchId],
    commits: Collection[BatchId],
    clocks: Mapping[BatchId, BatchClock],
    *,
    committed: bool = True,
    is_sparse: bool = False,
) -> Iterator[Problem]:
    """Yield a problem for each contradiction between the offset log and the commit log.

    ``clocks`` has the clocks of the batches in order. ``committed``: the query has a commit log.
    ``is_sparse``: gaps that both logs share are no damage. Paths are relative to the checkpoint's
    root.
    """
    # Paths are relative to the checkpoint's root. committed: the query has a commit log at all.
    # is_sparse: the gaps that both logs share are not damage.
    if not is_sparse:
        needed = batches_before_newest(offsets) if committed else ()
        yield from _find_lost("offsets", offsets, commits)
        yield from _find_lost("commits", commits, needed)
    contradictions = list(_contradictions(clocks))
    # The clock of one query goes back if the machine's clock is set back, but clock and watermark
    # never go back together.
    is_shuffled = sum(_goes_back(older, newer) for older, newer, _ in contradictions) >= _BY_TURNS
    for _, newer, fault in contradictions:
        path = f"offsets/{newer.batch_id}"
        message = f"{fault}: one of the two entries was changed"
        if is_shuffled:
            message = (
                "most likely two runs of the query write here by turns, as clock and watermark go "
                f"back and forth: {fault}"
            )
        yield Problem(CONTRADICTION, message, path, version=newer.batch_id + 1)


def conf_checks(
    confs: Mapping[BatchId, Mapping[str, str]],
    sources: Mapping[BatchId, Collection[str]],
    clocks: Mapping[BatchId, BatchClock],
    control: Collection[BatchId] = (),
) -> Iterator[Problem]:
    """Yield a problem where neighbouring offset entries differ in a conf or number of sources.

    ``confs`` and ``sources`` have these by batch. A control batch (``control``) may differ, and an
    appended one in its number of partitions. Paths are relative to the checkpoint's root.
    """
    for batch, next_batch in pairwise(confs):
        if next_batch != batch + 1 or next_batch in control:
            continue
        for key in sorted(confs[batch].keys() & confs[next_batch].keys()):
            old, new = confs[batch][key], confs[next_batch][key]
            if old != new and not (clocks[next_batch].appended and key == SHUFFLE_PARTITIONS):
                moved = ", so keys are looked for in other partitions" * (key == SHUFFLE_PARTITIONS)
                yield _differs(
                    next_batch,
                    f"got {new[:80]!r} as {key}, offsets/{batch} says {old[:80]!r}, and a restart "
                    f"takes over what is recorded{moved}",
                )
        later = confs.get(BatchId(next_batch + 1), {})
        for key in sorted((confs[batch].keys() & later.keys()) - confs[next_batch].keys()):
            yield _differs(next_batch, f"got no {key}, the entries before and after it record one")
        older, newer = sources.get(batch, ()), sources.get(next_batch, ())
        if len(older) != len(newer) and all(map(str.isdecimal, (*older, *newer))):
            message = f"got {len(newer)} sources, offsets/{batch} has {len(older)} of them"
            yield _differs(next_batch, message, CHANGED_SOURCES)


def has_equal_gaps(offsets: Collection[BatchId], commits: Collection[BatchId]) -> bool:
    """Return True if both logs lack the same batches between their oldest and newest entry.

    The newest entry of ``offsets`` may have no commit yet; older entries of either log may be
    purged already.
    """
    shared = set(offsets) & set(commits)
    if not shared:
        return False
    oldest, newest = min(shared), max(shared)
    planned, ended = (
        {batch for batch in entries if oldest <= batch} for entries in (offsets, commits)
    )
    is_equal = ended == planned or ended == planned - {max(planned)}
    has_gap = len(planned) < max(planned) - oldest + 1
    return is_equal and has_gap and max(commits) == newest


def offset_checks(like_json: Mapping[BatchId, Mapping[str, bool]]) -> Iterator[Problem]:
    """Yield a problem for each source whose offsets change between JSON and other text.

    ``like_json`` says by batch and source whether the offset looks like JSON.
    """
    for (batch, name), neighbour in sorted(_find_offset_changes(like_json).items()):
        message = f"the offset of source {name[:80]!r} is not JSON, in offsets/{neighbour} it is"
        yield _differs(batch, message, CHANGED_SOURCES)


def _find_offset_changes(
    like_json: Mapping[BatchId, Mapping[str, bool]],
) -> dict[tuple[BatchId, str], BatchId]:
    """Return by (batch, source) of each offset that is no JSON a neighbouring batch where it is."""
    changed_offsets: dict[tuple[BatchId, str], BatchId] = {}
    for older, newer in pairwise(like_json):
        for batch, neighbour in ((older, newer), (newer, older)):
            for name in like_json[batch].keys() & like_json[neighbour].keys():
                if newer == older + 1 and not like_json[batch][name] and like_json[neighbour][name]:
                    changed_offsets.setdefault((batch, name), neighbour)
    return changed_offsets


def _differs(batch: BatchId, message: str, slug: str = CONTRADICTION) -> Problem:
    """Return a problem of the offset entry of a batch, one of whose entries was changed."""
    text = f"{message}: one of the entries was changed"
    return Problem(slug, text, f"offsets/{batch}", version=batch + 1)


def batches_before_newest(offsets: Collection[BatchId]) -> set[BatchId]:
    """Return all batches of the offset log except the newest; they must have been committed."""
    return set(offsets) - {max(offsets, default=BatchId(0))}


def without_doubtful(
    clocks: Mapping[BatchId, BatchClock], like_json: Mapping[BatchId, Mapping[str, bool]]
) -> dict[BatchId, BatchClock]:
    """Return the clocks with None in place of values that damage may have changed.

    These are watermarks that contradict each other, and ``has_new_data`` next to changed offsets.
    """
    # Which of two watermarks was changed cannot be told, so both count as not recorded. Whether a
    # batch had new data is said by its offsets and those before.
    result = dict(clocks)
    for older, newer, _ in _contradictions(clocks):
        first = replace(result[older.batch_id], next_watermark_ms=None)
        if older.next_watermark_ms in (None, newer.watermark_ms):
            first = replace(first, watermark_ms=None)  # a watermark that fell
        result[older.batch_id] = first
        result[newer.batch_id] = replace(result[newer.batch_id], watermark_ms=None)
    for changed, _ in _find_offset_changes(like_json):
        for batch in (changed, BatchId(changed + 1)):
            if batch in result and batch > 0:  # the first is compared with none
                result[batch] = replace(result[batch], has_new_data=None)
    return result


def _find_lost(
    log: str, entries: Collection[BatchId], needed: Collection[BatchId]
) -> Iterator[Problem]:
    """Yield a problem for each missing entry of a log.

    Missing are entries between ``entries``, and newer ones that ``needed`` has. All are reported as
    one problem if the log is empty.
    """
    if not entries:
        if needed:
            # It names the batches, so that no later listing with other ones seems to confirm it.
            why = "followed by others" if log == "commits" else "committed"
            first, last = min(needed), max(needed)
            batches = f"batch {first}" if first == last else f"batches {first} to {last}"
            message = f"got no entries, expected those of {batches} ({why})"
            yield Problem(LOST_ENTRY, message, log)
        return
    present = sorted(entries)
    for older, newer in pairwise(present):
        if newer - older - 1 > NAMED_OF_A_GAP:
            message = f"the entries {older + 1} to {newer - 1} are missing, {_AROUND}"
            yield Problem(LOST_ENTRY, message, f"{log}/{older + 1}", version=older + 2)
        else:
            yield from _lost_entries(log, range(older + 1, newer), needed)
    later = sorted(batch for batch in needed if batch > present[-1])
    yield from _lost_entries(log, later, needed)


def _lost_entries(
    log: str, batches: Iterable[int], needed: Collection[BatchId]
) -> Iterator[Problem]:
    """Yield a problem for each of these missing entries."""
    for batch in batches:
        why = _WHY[log] if batch in needed else _AROUND
        message = f"the entry is missing, {why}"
        yield Problem(LOST_ENTRY, message, f"{log}/{batch}", version=batch + 1)


def _goes_back(older: BatchClock, newer: BatchClock) -> bool:
    """Return True if both the batch clock and the watermark fall from one entry to the next."""
    if older.timestamp_ms is None or newer.timestamp_ms is None:
        return False
    mark = older.watermark_ms if older.next_watermark_ms is None else older.next_watermark_ms
    return older.timestamp_ms > newer.timestamp_ms and (mark or 0) > (newer.watermark_ms or 0)


def _contradictions(
    clocks: Mapping[BatchId, BatchClock],
) -> Iterator[tuple[BatchClock, BatchClock, str]]:
    """Yield (older, newer, fault) for each watermark that is not the previous batch's, or falls."""
    for older, newer in pairwise(clocks.values()):
        if newer.batch_id != older.batch_id + 1 or newer.watermark_ms is None or newer.appended:
            continue
        ended, began = older.next_watermark_ms, newer.watermark_ms
        if ended is not None and ended != began:
            fault = f"commits/{older.batch_id} says {ended} as nextBatchWatermarkMs"
        elif older.watermark_ms is not None and older.watermark_ms > began:
            text = f"{older.watermark_ms} of offsets/{older.batch_id}"
            fault = f"less than {text}, and a watermark never falls"
        else:
            continue
        yield older, newer, f"got batchWatermarkMs {began}, {fault}"
