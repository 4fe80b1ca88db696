"""Reports of audits, kept in a cache for later audits of the same checkpoint.

A report follows from the listed files, the options and the release of this package. If a new
listing shows no change of any file, the kept report is returned with a note, and no file is read.
Otherwise all files are read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import inspector
from inspector.analyses.shared.options import Options, cache_inside
from inspector.checkpoint.cache_files import CacheFiles, cache_files
from inspector.checkpoint.logfile import MOVED_SLUG
from inspector.checkpoint.logs import COMMITS, OFFSETS
from inspector.checkpoint.roots import STATE, is_root_with, resolve_root
from inspector.checkpoint.storage import Storage
from inspector.checkpoint.trees import Tree
from inspector.checkpoint.urls import lies_in
from inspector.clock import epoch_ms
from inspector.discovery.restart import Load, Obstacle, Restart
from inspector.discovery.restart_reasons import Condition, Doubt, ForeignEntry
from inspector.engines.engine import HADOOP
from inspector.exceptions import EngineError, InspectorError
from inspector.findings.finding import Finding, Kind, Severity
from inspector.findings.rule import all_kinds
from inspector.findings.verdict import Cause, Level, StateGrowth, StateSize, Verdict
from inspector.kernel.loader import kernel_name
from inspector.light_dataclasses import fields, is_dataclass, replace
from inspector.model import LIMITS, Certainty, Problem, Redact, StoreId
from inspector.providers.chain import FileNames
from inspector.providers.registry import classify
from inspector.render.page import LineChart, Series
from inspector.render.report import Report
from inspector.render.report_data import Part
from inspector.render.tabular import Column, Estimate, Rank, Table, Title, Unit
from inspector.time_text import time_ms_text

FORMAT = 1  # number of the form of kept reports; raised when the form changes
# a file that changed this short before its listing may change again without a trace
RACY_MS = 2_000

# options that are left out of the name of a cached report, because no report depends on them
_NOT_OF_REPORT = ("storage_options", "cache", "workers", "memory_limit", "engine")


_WITH_KEYS = frozenset({"SS303", "SS307"})
"""Ids of findings whose sentences name a key. Their reports are not kept if keys are shown."""


@cache
def _kinds() -> Mapping[str, Kind]:
    """Return the kinds of findings by their ids."""
    return {kind.id: kind for kind in all_kinds()}


class ReportCache:
    """Cache entry for the audit of one path with given options."""

    def __init__(self, path: str, options: Options, *, is_root: bool = False) -> None:
        """Prepare the entry; nothing is read. ``options`` must name the folder of the cache.

        ``is_root`` is True if the path is known to be a checkpoint's root. Raises EngineError for
        ``--io hadoop``.
        """
        assert options.cache is not None
        if options.engine.io == HADOOP:
            raise EngineError("--cache compares listings made by fsspec, got --io hadoop")
        self.is_root = is_root  # True if the path is known to be a checkpoint's root
        self._path, self._options, self._folder = path, options, options.cache
        self._name = _name_of(path, _choices(options))  # name of the entry in the cache
        self._tree: Tree | None = None  # listing of :meth:`recall`, until :meth:`look` returns it
        # hash of the last listing; None if there is none, or a file may change without a trace
        self._listing: str | None = None
        self._looks = 0  # number of calls of :meth:`look`

    def recall(self) -> Report | None:
        """Return the kept report, with a note, if no file of the checkpoint has changed, else None.

        Lists the checkpoint once if there is an entry of this release, and sets ``is_root`` if the
        files have changed. If that listing fails, it returns None. Raises OSError or InspectorError
        if the root of the checkpoint cannot be found.
        """
        entry = self._entry()
        if entry is None:
            return None
        root = self._path
        if not entry["is_root"]:
            root, _ = resolve_root(root, self._options.storage_options, classify)
        storage = Storage.open(root, self._options.storage_options)
        self._tree = self._list(storage)
        if self._tree is None:
            return None
        if self._listing != entry["listing"]:
            inside = self._tree.folders.get("", ())
            self.is_root = bool(entry["is_root"]) and is_root_with(storage, inside)
            return None
        note = (
            f"No file has changed since {time_ms_text(entry['made_ms'])}, when all of them were "
            "read: this report is that of then, from the cache."
        )
        report = report_from_json(entry["report"])
        return replace(report, notes=(*report.notes, note))

    def look(self, storage: Storage) -> Tree | None:
        """Return the listing for a run's first opening: that of ``recall``, or a new one.

        None at each further call, and if the listing fails; the run then lists by itself. Raises
        CheckpointError if the cache is in the checkpoint of ``storage``.
        """
        check_outside(storage.url, self._folder)
        self._looks += 1
        if self._looks == 1 and self._tree is None:
            self._tree = self._list(storage)
        tree, self._tree = self._tree, None
        return tree

    def keep(self, report: Report) -> None:
        """Write the report into the cache, if a later run may use it; else do nothing.

        It must be complete, of one listing, without shown keys and without a batch that runs again.
        The user is notified if the cache cannot be written.
        """
        moved = any(problem.slug == MOVED_SLUG for problem in report.problems)
        if self._listing is None or self._looks != 1 or moved or not report.complete:
            return
        restart = None if report.verdict is None else report.verdict.restart
        if restart is not None and restart.again:  # how long the batch has been planned changes
            return
        examples = [table.rows for table in report.tables if table.name == "leftovers"]
        named = {finding.kind.id for finding in report.findings} & _WITH_KEYS
        if self._options.redact is Redact.NONE and (any(examples) or named):
            return
        entry = {
            "tool": _tool(),
            "is_root": self.is_root,
            "listing": self._listing,
            "made_ms": epoch_ms(),
            "report": report_json(report),
        }
        self._attempt(lambda files: files.write(self._name, json.dumps(entry).encode()))

    def forget(self) -> None:
        """Remove the kept report, so that searches no longer take the path for a checkpoint."""
        self._attempt(lambda files: files.remove(self._name))

    def _entry(self) -> dict[str, Any] | None:
        """Return the kept entry as its JSON fields; None if there is none of this release."""
        content = self._attempt(lambda files: files.read(self._name))
        entry: dict[str, Any] | None = None if content is None else json.loads(content)
        return entry if entry is not None and entry["tool"] == _tool() else None

    def _attempt(self, use: Callable[[CacheFiles], Any]) -> Any:
        """Call ``use`` with the cache's files and return its result; None if the cache fails.

        It fails if ``use`` raises OSError, InspectorError or TypeError. The user is then notified.
        """
        try:
            return use(_files_of(self._options))
        except (OSError, InspectorError, TypeError) as error:
            self._options.engine.notify(f"cache: not used: {error}")
            return None

    def _list(self, storage: Storage) -> Tree | None:
        """List the files of the checkpoint and return the listing; None if it fails.

        If the storage cannot list everything at once, only the root and all that is below
        OFFSETS, COMMITS and STATE is listed. Sets ``_listing`` to a hash of the listing, or to
        None if a file may change without a trace. A listing that fails leaves ``_listing``
        unchanged.
        """
        began_ms = epoch_ms()
        try:
            flat = storage.tree()
            tree = storage.walk((OFFSETS, COMMITS, STATE)) if flat is None else flat
        except OSError:
            return None
        self._listing = listing_hash(tree, began_ms)
        return tree


def kept_reports(options: Options) -> Callable[[str], bool]:
    """Return a function that returns True if a path has a kept report of any release.

    Only reports that were kept with the same values of ``options``, limits and kernel count.
    The cache is listed once, now. The function returns False for every path if that fails.
    """
    try:
        present = _files_of(options).present()
    except (OSError, InspectorError, TypeError):
        return lambda _: False  # an audit says so
    choices = _choices(options)
    return lambda path: present(_name_of(path, choices))


def _name_of(path: str, choices: tuple[Any, ...]) -> str:
    """Return the name of the cache entry for a path and the values of options (``choices``)."""
    return repr((FORMAT, path, choices))


def _files_of(options: Options) -> CacheFiles:
    """Return the files of the cache in the folder that the options name, on any storage."""
    assert options.cache is not None
    return cache_files(options.cache, tuple(sorted(options.storage_options.items())))


def check_outside(checkpoint: str, folder: str) -> None:
    """Raise CheckpointError if the cache ``folder`` is inside the checkpoint; both are paths."""
    if lies_in(folder, checkpoint):
        raise cache_inside(folder)


def listing_hash(tree: Tree, now_ms: int) -> str | None:
    """Return a hash of all files in a listing; None if a file may change without a trace.

    Such a file has no etag, and its modification time is unknown, or newer than RACY_MS before
    ``now_ms``. That is the time when the listing began, epoch ms.
    """
    result = blake2b(digest_size=32)
    for folder in sorted(tree.folders):
        for entry in tree.folders[folder]:
            racy = entry.modified_ms is None or entry.modified_ms > now_ms - RACY_MS
            if entry.is_file and racy and not isinstance(entry.etag, str):
                return None
            words = entry.path, entry.is_dir, entry.is_special, entry.size, entry.modified_ms
            result.update(repr((words, entry.etag if entry.is_file else None)).encode())
    return result.hexdigest()


def _choices(options: Options) -> tuple[Any, ...]:
    """Return the values that a report depends on, except the checkpoint's files and the release.

    They are those of the options that matter, the limits of the environment, and the kernel's name.
    """
    values = (getattr(options, f.name) for f in fields(options) if f.name not in _NOT_OF_REPORT)
    plain = [sorted(value.items()) if hasattr(value, "items") else value for value in values]
    return (*plain, LIMITS, kernel_name())


@cache
def _tool() -> str:
    """Return a hash of the package's version and its own files, which identifies the release."""
    root = Path(inspector.__file__).parent
    result = blake2b(inspector.__version__.encode(), digest_size=32)
    for path in sorted(root.rglob("*")):
        if path.suffix in (".py", ".so", ".pyd"):
            result.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes())
    return result.hexdigest()


# classes that a kept report may hold, by name
_CLASSES: Mapping[str, Callable[..., Any]] = {
    cls.__name__: cls
    for cls in (
        *(Report, Table, Column, Part, Problem, StoreId, Estimate, Rank, Title),
        *(LineChart, Series),
        *(Finding, Verdict, StateSize, StateGrowth, Cause, Restart, Load, Obstacle, FileNames),
        *(Condition, Doubt, ForeignEntry),
    )
}
# enums that a kept report may hold, by name
_ENUMS = {cls.__name__: cls for cls in (Unit, Certainty, Severity, Level)}
_PLAIN = (str, int, float, bool, type(None))  # types that JSON has


def report_json(report: Report) -> str:
    """Return a report as a JSON text, from which :func:`report_from_json` makes it again.

    Raises TypeError if the report holds a value of a type that kept reports do not have.
    """
    return json.dumps(_encode(report), separators=(",", ":"))


def report_from_json(text: str) -> Report:
    """Return the report from a text that :func:`report_json` of the same release returned."""
    report: Report = json.loads(text, object_hook=_decode)
    return report


def _encode(value: Any) -> Any:
    """Return ``value`` in types that JSON has.

    A value of another type becomes an object whose only key is the name of the type. Raises
    TypeError for a type that kept reports do not have.
    """
    cls = type(value)
    if cls in _PLAIN:
        return value
    if cls is list:
        return [_encode(item) for item in value]
    if cls is tuple:
        return {"tuple": [_encode(item) for item in value]}
    if isinstance(value, Mapping):
        return {"mapping": [[_encode(k), _encode(v)] for k, v in value.items()]}
    if cls is Kind:
        return {"kind": value.id}
    if cls.__name__ in _ENUMS:
        return {cls.__name__: value.name}
    if cls.__name__ not in _CLASSES:
        raise TypeError(f"a report that is kept cannot hold a {cls.__name__}")
    if is_dataclass(cls):
        return {cls.__name__: [_encode(getattr(value, f.name)) for f in fields(cls)]}
    return {cls.__name__: [str(value) if isinstance(value, str) else int(value)]}


def _decode(entry: dict[str, Any]) -> Any:
    """Return the value from the JSON object that :func:`_encode` made of it."""
    ((name, value),) = entry.items()
    if name == "tuple":
        return tuple(value)
    if name == "mapping":
        return dict(value)
    if name == "kind":
        return _kinds()[value]
    return _ENUMS[name][value] if name in _ENUMS else _CLASSES[name](*value)
