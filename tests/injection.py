"""Damages many checkpoints, runs commands on each, and says which damages were seen.

Whatever a command reports of the damaged checkpoint is compared with what it reports of the sound
one. A damage is

* **harmless** if no number changed,
* **seen** if the report has a problem, or a finding about files, that the sound one's has not,
* **unvouched** if numbers changed and nothing was said, where no byte could tell: nothing holds a
  checksum of the changed files, and the report says so,
* **plausible** if numbers changed and nothing was said, where what lies there may be Spark's own:
  every checksum is true, as it was made so or whole files took the places of others; or old state
  files are gone, as after cleanup,
* **unseen** if numbers changed and nothing was said, where a byte could tell,
* **lost** if there is no report but an error in words, **fault** if it is none of the project's
  errors (exit code 70), **hang** if there is no end.
"""

from __future__ import annotations

import json
import random
import shutil
import signal
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from inspector.cli.main import inspector
from inspector.exceptions import InspectorError
from tests import byte_damage, damage
from tests.fixture_folder import FIXTURES

CASES = (
    *("4.3.0/agg_update", "4.3.0/agg_global", "4.3.0/session_window", "4.3.0/dedup_event_time"),
    *("4.3.0/dedup_within_watermark", "4.3.0/fmgws_event_ignore", "4.3.0/pandas_event_ignore"),
    *("4.3.0/join_left_outer", "4.3.0/join_time_key", "4.3.0/limit_after_dedup"),
    *("4.3.0/dedup_after_join", "4.3.0/agg_two_levels", "4.3.0/fmgws_processing_time"),
    *("4.3.0/agg_row_checksum", "4.3.0/fmgws_row_checksum", "4.1.4/agg_file_checksum"),
    *("4.3.0/codec_zstd", "4.3.0/codec_snappy", "4.3.0/codec_lzf", "4.2.1/codec_zstd"),
    *("3.3.4/codec_snappy", "3.3.4/codec_lzf", "3.5.9/join_window_key"),
    *("3.5.9/fmgws_snapshots_cleaned", "3.5.9/snapshots_cleaned", "3.3.4/join_inner_v1"),
    *("2.4.8/fmgws_event_ignore_v1", "2.4.8/join_left_outer", "4.3.0/mgws_tuple_key"),
)
"""Fixtures of every operator and every codec, of old and new releases."""

ROCKSDB = (
    *("4.3.0/rocksdb_agg_update_snapshots", "4.3.0/rocksdb_agg_update_zips_cleaned_one"),
    *("4.3.0/rocksdb_join_left_outer_v3", "4.3.0/rocksdb_join_left_outer_snapshots_v4"),
    *("4.3.0/rocksdb_session_window", "4.3.0/rocksdb_fmgws_event_ignore"),
    *("4.3.0/rocksdb_dedup_event_time", "4.3.0/rocksdb_tws_event", "4.3.0/rocksdb_tws_undeclared"),
    *("4.3.0/rocksdb_tws_processing_avro", "4.3.0/rocksdb_tws_pandas_processing_snapshots"),
    *("4.3.0/rocksdb_agg_update_zstd", "4.3.0/rocksdb_agg_update_snappy"),
    *("4.2.1/rocksdb_agg_update_snapshots_rowsum", "4.1.4/rocksdb_agg_update_snapshots_filesum"),
    *("4.1.4/rocksdb_agg_update_snapshots_format2", "4.1.4/rocksdb_task_failed_recovered_format2"),
    *("4.0.5/rocksdb_tws_processing", "4.0.5/rocksdb_join_inner_v1"),
    *("3.5.9/rocksdb_agg_update_snapshots", "3.5.9/rocksdb_dedup_within_watermark"),
)
"""The same on the other provider: column families, lists, changelogs of all versions, zips alone,
rows as Avro, checkpoint format 2."""

COMMANDS = ("audit", "verify", "leftovers", "rows", "info")
SECONDS, CPU_SECONDS = 600, 60
"""That one command may take on a machine that does much else, and of the processor; a sound
checkpoint takes a tenth of one."""

OUTCOMES = ("seen", "harmless", "unvouched", "plausible", "unseen", "lost", "fault", "hang")
"""From the best to the worst; but for a damage that is seen by one command and harmless to others.
"""
_WORST_FIRST = ("fault", "hang", "lost", "unseen", "unvouched", "plausible", "seen", "harmless")

FORGED = "true checksums: "
_WITHOUT_SUM = ("zstd", "snappy", "lzf")
_OF_FILES = frozenset(
    {
        *("files", "files_that_passed", "checksum_files", "checksum_files_that_passed"),
        *("row_checksums_that_passed", "state_file_bytes", "raw_bytes", "files.bytes"),
        *("delta_bytes", "snapshot_bytes", "file_bytes", "verdict", "notes", "problems"),
        *("oldest_batch_in_log", "origin", "from", "files_without_checksum"),
        *("files_confirmed_by_snapshot", "small_files", "small_files_without_checksum", "checks"),
    }
)
"""Fields that say which files there are and how long they are: that is true of a damaged
checkpoint too. Then words about the whole."""


@dataclass(frozen=True)
class Case:
    """One damage of one checkpoint.

    Attributes:
        fixture: which checkpoint. sums: ``as is``, ``all`` or ``none``: Hadoop's checksum files.
        kind: what was done. seed: from which it is made again.
        changed: the files that are no more what they were, below the root.
        outcomes: command -> one of ``OUTCOMES``.
    """

    fixture: str
    sums: str
    kind: str
    seed: int
    changed: tuple[str, ...]
    outcomes: Mapping[str, str]

    @property
    def worst(self) -> str:
        """The outcome of the whole: the worst of its commands, and seen before harmless."""
        values = set(self.outcomes.values())
        return next(outcome for outcome in _WORST_FIRST if outcome in values)


@dataclass(frozen=True)
class Told:
    """What a command printed: of no report only how it ended.

    Attributes:
        end: ``report``, ``fault``, ``hang`` or the words of an error.
        numbers: everything but what is said of files. said: problems and findings of files.
        unvouched: whether it says that nothing vouches for some state file, or for any state.
        unvouched_small: whether it counts logs, metadata or schemas that nothing vouches for.
    """

    end: str
    numbers: str = ""
    said: frozenset[str] = frozenset()
    unvouched: bool = False
    unvouched_small: bool = False


class Bench:
    """Damages copies of the fixtures in one folder.

    Args:
        folder: where copies lie, one after the other.
        cases: what is damaged.
        every: run all commands on each, not an audit and one other.
    """

    def __init__(self, folder: Path, cases: Sequence[str] = CASES, *, every: bool = False) -> None:
        self._root = folder / "checkpoint"
        self._cases, self._every = cases, every
        self._sound: dict[tuple[str, str, str], Told] = {}

    def run(self, seeds: Iterable[int]) -> Iterator[Case]:
        """One damage for each seed."""
        for seed in seeds:
            yield self.inject(seed)

    def inject(self, seed: int) -> Case:
        """Damage a copy of a fixture and run the commands on it."""
        chance = random.Random(seed)
        fixture = chance.choice(self._cases)
        sums = chance.choice(("as is", "all", "none"))
        kind, act = chance.choice(_KINDS)
        second = random.Random(-seed).choice(COMMANDS[1:])
        chosen = COMMANDS if self._every else (COMMANDS[0], second)
        sound = {command: self._of_the_sound(fixture, sums, command) for command in chosen}
        self._copy(fixture, sums)
        before = _contents(self._root)
        act(self._root, chance)
        after = _contents(self._root)
        changed = set(dict(before.items() ^ after.items()))
        if kind.startswith(FORGED):
            byte_damage.renew_sums(self._root / path for path in changed)
        blind = ""
        if kind.startswith(FORGED) or _as_others(self._root, before, after, changed):
            blind = "plausible"
        elif not (self._root / "state").exists() or _nothing_vouches(self._root, before, changed):
            blind = "unvouched"
        result = {command: tell(command, self._root) for command in chosen}
        if not any(map(_is_state, changed)):
            result = {
                command: replace(item, unvouched=item.unvouched or item.unvouched_small)
                for command, item in result.items()
            }
        outcomes = {
            command: outcome(sound[command], element, blind) for command, element in result.items()
        }
        return Case(fixture, sums, kind, seed, tuple(sorted(changed)), outcomes)

    def _of_the_sound(self, fixture: str, sums: str, command: str) -> Told:
        result = self._sound.get((fixture, sums, command))
        if result is None:
            self._copy(fixture, sums)
            result = self._sound[fixture, sums, command] = tell(command, self._root)
        return result

    def _copy(self, fixture: str, sums: str) -> None:
        shutil.rmtree(self._root, ignore_errors=True)
        shutil.copytree(FIXTURES / fixture / "checkpoint", self._root)  # makes the folder too
        if sums == "all":
            byte_damage.with_sums(self._root)
        elif sums == "none":
            byte_damage.without_sums(self._root)


def tell(command: str, root: Path) -> Told:
    """Run a command in this process, in its main thread."""
    arguments = [command, str(root), "-o", "json"]
    if command in ("audit", "verify", "leftovers"):
        arguments += ["--engine", "local", "--workers", "1"]
    try:
        with _ending():
            result = CliRunner().invoke(inspector, arguments)
    except TimeoutError:
        return Told("hang")
    error = result.exception
    if error is not None and not isinstance(error, (InspectorError, OSError, SystemExit)):
        return Told("fault")
    if not result.stdout.startswith("{"):
        return Told(f"{type(error).__name__}: {error}")
    return _told(json.loads(result.stdout))


def outcome(sound: Told, damaged: Told, blind: str) -> str:
    """One of ``OUTCOMES``.

    Args:
        sound: what was told of the checkpoint before.
        damaged: what is told of it now.
        blind: why no byte could tell, ``unvouched`` or ``plausible``; empty if one could.
    """
    if damaged.end in ("fault", "hang"):
        return damaged.end
    if damaged.end != sound.end:
        return "lost"
    if damaged.said - sound.said:
        return "seen"
    if damaged.numbers == sound.numbers:
        return "harmless"
    if blind == "plausible" or (blind and damaged.unvouched):
        return blind
    return "unseen"


def table(cases: Iterable[Case]) -> str:
    """Return a table of the number of cases by kind and by outcome."""
    counts: dict[str, Counter[str]] = {}
    for case in cases:
        counts.setdefault(case.kind, Counter())[case.worst] += 1
    rows = [(name, *_cells(count)) for name, count in sorted(counts.items())]
    rows.append(("all", *_cells(sum(counts.values(), Counter()))))
    line = f"{{:<{max(map(len, ('damage', *counts)))}}}{'{:>12}' * (1 + len(OUTCOMES))}"
    return "\n".join(line.format(*row) for row in (("damage", "tried", *OUTCOMES), *rows))


def _cells(count: Counter[str]) -> list[int]:
    return [count.total(), *(count[name] for name in OUTCOMES)]


def _told(report: dict[str, Any]) -> Told:
    of_files = [f for f in report["findings"] if f["id"].startswith("SS1")]
    result = {json.dumps(item, sort_keys=True) for item in (*report["problems"], *of_files)}
    report["findings"] = [f for f in report["findings"] if f not in of_files]
    uncommitted = report["summary"].pop("uncommitted_versions", [])
    result |= {f"version {version} is not committed" for version in uncommitted}
    if report["command"] in ("audit", "verify"):
        report["rows"] = []  # findings and problems once more
    unvouched = "vouches" in "\n".join(report["notes"])
    small = bool(report["summary"].get("small_files_without_checksum"))
    numbers = json.dumps(_numbers(report), sort_keys=True)
    return Told("report", numbers, frozenset(result), unvouched, small)


def _numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _numbers(element) for name, element in value.items() if name not in _OF_FILES}
    if isinstance(value, list):
        return sorted((_numbers(item) for item in value), key=lambda single: json.dumps(single))
    return value


@contextmanager
def _ending() -> Iterator[None]:
    """Raise a TimeoutError in whatever takes longer."""

    def end(*_: object) -> None:
        raise _HangError

    before = signal.signal(signal.SIGALRM, end), signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    try:
        yield
    except _HangError:
        raise TimeoutError from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGALRM, before[0])
        signal.signal(signal.SIGPROF, before[1])


class _HangError(BaseException):
    """Nothing that a command catches."""


def _contents(root: Path) -> dict[str, bytes]:
    """What every file holds, and what else lies there by its kind."""
    result = {}
    for path in root.rglob("*"):
        if path.name.startswith(".") and path.name.endswith(".crc"):
            continue
        name = str(path.relative_to(root))
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            result[name] = b"special"
        elif path.is_file():
            result[name] = path.read_bytes()
    return result


def _as_others(
    root: Path, before: Mapping[str, bytes], after: Mapping[str, bytes], changed: Iterable[str]
) -> bool:
    """Whether files took the places of others, or are gone as after cleanup, and nothing else.

    Each is true of itself then. Where cleanup leaves a gap, it is said.
    """
    contents = set(before.values())
    return all(
        name in before
        and (
            _may_be_cleaned(name)
            if name not in after
            else _is_regular(root / name) and after[name] in contents
        )
        for name in changed
    )


def _may_be_cleaned(name: str) -> bool:
    removed = (".delta", ".snapshot", ".changelog", ".zip")
    return name.endswith(removed) or name.startswith(("offsets/", "commits/"))


def _is_regular(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _is_state(name: str) -> bool:
    return name.endswith((".delta", ".snapshot", ".changelog", ".zip", ".sst"))


def _nothing_vouches(root: Path, before: Mapping[str, bytes], changed: Iterable[str]) -> bool:
    """Whether no checksum is of any file that has changed, as it was or as it is now."""
    for name in changed:
        path = root / name
        side = path.with_name(f".{path.name}.crc")
        if side.exists() or path.with_name(f"{path.name}.crc").exists():
            return False
        if _is_state(name) and byte_damage.codec_of(before.get(name, b"")) not in _WITHOUT_SUM:
            return False
    return True


def _named(act: Callable[[Path, random.Random], object]) -> str:
    return act.__name__.strip("_").replace("_", " ")


_KINDS: tuple[tuple[str, Callable[[Path, random.Random], object]], ...] = (
    *((_named(act), act) for act in byte_damage.KINDS),
    *((FORGED + _named(act), act) for act in damage.KINDS),
)
