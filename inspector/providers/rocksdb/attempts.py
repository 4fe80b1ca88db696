"""Which files of a version are those of the attempt that was committed (checkpoint format 2).

Each attempt at a batch names its files by an id of its own, so a version may have several. The
commit log says which was committed. It keeps fewer batches than the state has versions: of the
others the lineage in a changelog says it, which names what that changelog is based on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from inspector.model import FileKind, StoreFile
from inspector.providers.provider import Lineage
from inspector.providers.rocksdb.names import StateName, parse_name

_STATE = (FileKind.DELTA, FileKind.SNAPSHOT)


def without_abandoned(
    files: Sequence[StoreFile], committed: Mapping[int, frozenset[str]], lineage: Lineage
) -> tuple[StoreFile, ...]:
    """The files of a store, those of other attempts than the committed ones as abandoned.

    Args:
        files: of one store.
        committed: the ids that the commit log has, by version.
        lineage: reads what a changelog is based on.

    Of a version that neither says anything of, the attempt that wrote last is taken: it is newer
    than the last commit, or as old as the oldest snapshot.
    """
    attempts: dict[int, dict[str | None, list[StoreFile]]] = {}
    for file in files:
        name = _name(file)
        if name is not None:
            attempts.setdefault(name.version, {}).setdefault(name.unique_id, []).append(file)
    known = _known(attempts, committed, lineage)
    abandoned = {
        file.path
        for version, of_version in attempts.items()
        for unique_id, those in of_version.items()
        if unique_id != known[version]
        for file in those
    }
    return tuple(
        replace(file, kind=FileKind.ABANDONED) if file.path in abandoned else file for file in files
    )


def _name(file: StoreFile) -> StateName | None:
    return parse_name(file.path.rpartition("/")[2]) if file.kind in _STATE else None


def _known(
    attempts: Mapping[int, Mapping[str | None, list[StoreFile]]],
    committed: Mapping[int, frozenset[str]],
    lineage: Lineage,
) -> dict[int, str | None]:
    """The id of each version's attempt that counts."""
    found: dict[int, str | None] = {}
    by_lineage: dict[int, str] = {}
    for version in sorted(attempts, reverse=True):
        of_version = attempts[version]
        logged = committed.get(version)
        if logged is not None:
            # None of them: whatever is there was never committed.
            found[version] = next((each for each in of_version if each in logged), "")
        elif len(of_version) == 1:
            found[version] = next(iter(of_version))
        elif by_lineage.get(version) in of_version:
            found[version] = by_lineage[version]
        else:
            found[version] = max(of_version, key=lambda each: _written(of_version[each]))
        if _needed(attempts, version, committed, by_lineage):
            changelog = _changelog(of_version.get(found[version], ()))
            by_lineage |= {} if changelog is None else lineage(changelog)
    return found


def _needed(
    attempts: Mapping[int, Mapping[str | None, list[StoreFile]]],
    version: int,
    committed: Mapping[int, frozenset[str]],
    by_lineage: Mapping[int, str],
) -> bool:
    """Whether the version before has several attempts of which nothing is known yet."""
    before = [each for each in attempts if each < version]
    newest = max(before, default=None)
    return (
        newest is not None
        and newest not in committed
        and newest not in by_lineage
        and len(attempts[newest]) > 1
    )


def _changelog(files: Sequence[StoreFile]) -> StoreFile | None:
    return next((file for file in files if file.kind is FileKind.DELTA), None)


def _written(files: Sequence[StoreFile]) -> int:
    return max(file.modified_ms or 0 for file in files)
