"""Subjects of reports: a version of a checkpoint with the facts and problems that judge it.

Every report is made here, so that all of them name the checkpoint, the version, its clocks, the
unreadable files, and the part of the checkpoint if it is not about the whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypedDict

from inspector import model
from inspector.analyses.shared.options import Options
from inspector.checkpoint.layout import StoreLayout
from inspector.checkpoint.roots import Selection
from inspector.checkpoint.state_schema import StateSchema
from inspector.discovery.checkpoint import Checkpoint
from inspector.discovery.checksums import count_unsummed_files
from inspector.discovery.placement import partition_count, was_left
from inspector.discovery.restart import Restart, restart_of
from inspector.exceptions import CheckpointError
from inspector.findings.finding import Finding, Kind
from inspector.findings.rule import parse_thresholds
from inspector.findings.thresholds import Thresholds
from inspector.findings.verdict import Verdict
from inspector.light_dataclasses import dataclass, field
from inspector.operators.rule import Clock, StoreRule
from inspector.quantities import long_duration_text
from inspector.render.report import Report
from inspector.render.report_data import Part
from inspector.render.tabular import Table
from inspector.sums import sum_by_key

if TYPE_CHECKING:
    from inspector.facts.versions import VersionFacts
    from inspector.merge.collect import Facts
    from inspector.render.page import LineChart


@dataclass(frozen=True)
class Subject:
    """A version of a checkpoint as the subject of a report, without facts."""

    checkpoint: Checkpoint  # opened checkpoint
    version: int  # judged state version
    # problems of reading; rows that are read while a report is written may add to them
    problems: list[model.Problem] = field(default_factory=list)
    options: Options = field(default_factory=Options)  # options of the run
    subset: model.Subset | None = None  # the part of the state files that was read; None for all

    @property
    def redact(self) -> model.Redact:
        """Redaction of keys and values; none by default."""
        return self.options.redact or model.Redact.NONE

    @property
    def head(self) -> dict[str, Any]:
        """First fields of every summary: checkpoint, query, version, batch and its clocks.

        Fields on a doubtful watermark, uncommitted versions and small files without a checksum are
        present only if there are any.
        """
        checkpoint, version = self.checkpoint, self.version
        clock = checkpoint.clock(version)
        logs = checkpoint.logs
        is_logged = not version or logs.last_committed is not None or logs.has_commits_dir
        is_committed = bool(version) and version <= checkpoint.newest_version
        head: dict[str, Any] = {
            "checkpoint": checkpoint.root,
            "query_id": logs.query_id,
            "version": version,
            "batch_id": version - 1 if version else None,
            "committed": is_committed if is_logged else None,
            "watermark_ms": clock.watermark_ms if clock and clock.watermark_ms else None,
            "batch_timestamp_ms": clock.timestamp_ms if clock else None,
        }
        if clock and clock.watermark_ms is None and clock.timestamp_ms is not None:
            head["watermark_in_doubt"] = True
        if checkpoint.versions_without_commit:
            head["uncommitted_versions"] = list(checkpoint.versions_without_commit)
        if checkpoint.unsummed_small_files:
            head["small_files_without_checksum"] = checkpoint.unsummed_small_files
        return head

    @property
    def part(self) -> Part | None:
        """Number of stores, partitions and bytes of the selected part, and of the whole query.

        None if nothing less than the whole is selected.
        """
        selection = self.checkpoint.selection
        if selection == Selection() and self.subset is None:
            return None
        read = self.checkpoint.layout.stores
        stores = [store for operator in self.checkpoint.query for store in operator.layout.stores]
        relative, subset = self.checkpoint.storage.relative, self.subset
        files_read = _files(read)
        if subset is not None:
            files_read = [file for file in files_read if subset.has(relative(file.path))]
        return Part(
            *(selection.operator_id, selection.store_name, selection.partition_id),
            version=self.version if selection.version is not None else None,
            stores=len({store.store.name for store in read}),
            of_stores=len({store.store.name for store in stores}),
            partitions=_partitions(read),
            of_partitions=_partitions(stores),
            file_bytes=sum(file.size for file in files_read),
            of_file_bytes=sum(file.size for file in _files(stores)),
            subset=None if subset is None else str(subset),
        )

    @cached_property
    def next_start(self) -> Restart | None:
        """Judgement of the restart from the judged part; None if an older version is judged."""
        newest = self.version == self.checkpoint.newest_version
        return restart_of(self.checkpoint, self.problems) if newest else None

    @property
    def restart(self) -> Restart | None:
        """Judgement of the query's restart; None if a part, or an older version, is judged."""
        return None if self.part is not None else self.next_start

    def report(  # noqa: PLR0913 - the parts of a report
        self,
        command: str,
        tables: Sequence[Table],
        summary: Mapping[str, Any] = MappingProxyType({}),
        *,
        notes: Sequence[str] = (),
        footnotes: Sequence[str] = (),
        findings: Sequence[Finding] | None = None,
        verdict: Verdict | None = None,
        metrics: Mapping[str, float | int | None] = MappingProxyType({}),
        rules: Sequence[Kind] = (),
        charts: Sequence[LineChart] = (),
    ) -> Report:
        """Return the report of a command.

        ``command`` is its name. The summary is the head and then ``summary``. ``findings`` is None
        for a command that judges nothing.
        """
        return Report(
            command,
            self.checkpoint.root,
            {**self.head, **summary},
            tables,
            findings=findings or (),
            problems=self.problems,
            notes=notes,
            footnotes=footnotes,
            judged=findings is not None,
            verdict=verdict,
            metrics=metrics,
            part=self.part,
            rules=rules,
            charts=charts,
            # Reports of audits are kept as JSON, and show a few keys as examples.
            schemas={} if command == "audit" else store_schemas(self.checkpoint),
        )


@dataclass(frozen=True, kw_only=True)
class Judged(Subject):
    """A version of a checkpoint as the subject of a report, with the facts of its state files."""

    facts: Facts = field(repr=False)  # facts of all versions

    @cached_property
    def next_start(self) -> Restart | None:
        """Judgement of the restart from the judged part; None if an older version is judged.

        It includes the effect of rows with null join keys, if there are operators.
        """
        restart = super().next_start
        if restart is None or not self.checkpoint.operators:
            return restart
        from inspector.findings.join_restarts import with_null_rows  # noqa: PLC0415 - reads state

        return with_null_rows(restart, self.checkpoint, self.version, self.facts)

    @property
    def thresholds(self) -> Thresholds:
        """Numbers from which something is a finding, by the user's options or defaults.

        Raises CheckpointError for an unknown name or a wrong value.
        """
        return thresholds_of(self.options)

    @property
    def total(self) -> VersionFacts:
        """Facts of the judged version, summed over all stores and partitions that could be read."""
        return self.facts.total(self.version)

    @property
    def coverage(self) -> dict[str, Any]:
        """Fields ``partition_stores_read`` and ``partition_stores`` of the summary.

        They count each store of each partition: those with facts of the judged version, and those
        that should have it. Empty if all were read, and for version 0.
        """
        version = self.version
        stores = sum(
            len(partition.stores)
            for operator in self.checkpoint.operators
            for partition in operator.layout.partitions
            if not was_left(self.checkpoint, partition, version)
        )
        read = sum(facts_version == version for _, facts_version in self.facts.versions)
        if read == stores or not version:
            return {}
        return {"partition_stores_read": read, "partition_stores": stores}


def thresholds_of(options: Options) -> Thresholds:
    """Return the thresholds of the options.

    Raises CheckpointError for an unknown name or a wrong value.
    """
    try:
        return parse_thresholds(options.thresholds)
    except ValueError as error:
        raise CheckpointError(str(error)) from None


def _partitions(stores: Iterable[StoreLayout]) -> int:
    """Return the number of partitions that stores belong to, counted for each operator."""
    return len({(store.store.operator_id, store.store.partition_id) for store in stores})


def _files(stores: Iterable[StoreLayout]) -> list[model.StoreFile]:
    """Return the state files of stores; a folder that stores share counts once."""
    folders = {store.directory: store for store in stores}
    return [file for store in folders.values() for file in store.of_kind(*model.KINDS_OF_STATE)]


def vouching_notes(subject: Subject, facts: Facts | None = None) -> list[str]:
    """Return a list with one sentence: there is no state, or files are without a checksum.

    The second sentence has the number of state files that no checksum covers, and the number of
    these that snapshots confirm. Numbers are those of ``facts``, which must be of a full read; None
    for those of the listing. The list is empty if every file is covered.
    """
    if not subject.checkpoint.operators:
        return [
            "There is no state in this checkpoint: its query keeps none, or state/ is lost. "
            "Nothing in the checkpoint shows which."
        ]
    files, unsummed = count_unsummed_files(subject.checkpoint, subject.version)
    confirmed = None
    if facts is not None:
        unsummed, confirmed = facts.checks.unsummed_files, facts.checks.confirmed_files
    if not unsummed:
        return []
    confirmed_clause = f"; snapshots confirm {confirmed:,} of them" if confirmed else ""
    return [
        f"No checksum covers {unsummed:,} of {max(unsummed, files):,} state files: a change "
        f"of their bytes may go unnoticed{confirmed_clause}."
    ]


def notes_on_appended(checkpoint: Checkpoint) -> Iterator[str]:
    """Yield a sentence for each committed batch that a tool appended or changed, oldest first."""
    logs = checkpoint.logs
    for batch, clock in logs.clocks.items():
        if clock.appended and clock.committed:
            if batch in logs.repartitions:
                batches = logs.repartitions[batch], batch
                old, new = (partition_count(checkpoint, n + 1) for n in batches)
                text = f"repartitioned the state from {old} to {new} partitions"
            else:
                text = "was appended by a tool"
            yield f"Batch {batch} {text}; no query ran it, and it shows nothing of the query."
        elif clock.edited and clock.committed:
            yield (
                f"State version {batch + 1} was changed when this copy was made; its rows are not "
                f"those that batch {batch} left, and they show nothing of the query."
            )


def expiry_text(rule: StoreRule) -> str:
    """Return a store's expiry rule in one line, such as ``window.end <= watermark - 1 hour``.

    Without such a rule the line begins with ``never:`` or ``unknown:``, and has the reason.
    """
    if rule.expiry is not None:
        sign = "<=" if rule.expiry.inclusive else "<"
        delay = f" - {long_duration_text(rule.expiry.delay_ms)}" if rule.expiry.delay_ms else ""
        return f"{rule.expiry.name} {sign} {_CLOCKS[rule.expiry.clock]}{delay}"
    return f"never: {rule.never}" if rule.never else f"unknown: {rule.unknown}"


# name of each clock in the text of a rule
_CLOCKS = {
    Clock.WATERMARK: "watermark",
    Clock.PROCESSING_TIME: "processing time",
    Clock.TIMEOUT: "watermark or processing time",
}


def batch_columns(checkpoint: Checkpoint, version: int) -> dict[str, Any]:
    """Return the columns of a version and its batch: ids, clocks, lag and ``new_data``.

    The lag is the processing time minus the watermark, in ms. A value is None if it is not known.
    """
    clock = checkpoint.clock(version) or model.BatchClock(model.BatchId(version - 1))
    now, watermark = clock.timestamp_ms, clock.watermark_ms or None
    return {
        "batch_id": clock.batch_id,
        "version": version,
        "batch_timestamp_ms": now,
        "watermark_ms": watermark,
        "lag_ms": None if watermark is None or now is None else now - watermark,
        "new_data": clock.has_new_data,
    }


class StoreIds(TypedDict):
    """Columns that name a store."""

    operator_id: int  # id of the operator whose store it is
    operator_name: str | None  # None if ``Checkpoint.operators`` lacks it
    store_name: str  # ``default`` if the operator has one store only


def store_ids(checkpoint: Checkpoint, store: tuple[int, str]) -> StoreIds:
    """Return the columns that name a store, given as operator id and store name."""
    name = operator_names(checkpoint).get(store[0])
    return {"operator_id": store[0], "operator_name": name, "store_name": store[1]}


def values_of_fields(facts: object, names: Iterable[str], *, is_known: bool) -> dict[str, Any]:
    """Return the fields ``names`` of facts as columns; all are None unless ``is_known``."""
    return {name: getattr(facts, name) if is_known else None for name in names}


def store_schemas(checkpoint: Checkpoint) -> dict[model.StoreName, StateSchema]:
    """Return the schemas of key and value by store; stores without schemas are absent."""
    pairs = ((o.operator_id, o.schemas.items()) for o in checkpoint.operators)
    return {model.StoreName(op, store): schema for op, stores in pairs for store, schema in stores}


def operator_names(checkpoint: Checkpoint) -> dict[int, str]:
    """Return the names of operators, such as ``stateStoreSave``, by operator id."""
    return {operator.operator_id: operator.name for operator in checkpoint.operators}


def file_bytes(checkpoint: Checkpoint) -> dict[model.FileKind, int]:
    """Return the bytes of all files in the stores' folders, by kind of file, old files included."""
    folders = checkpoint.layout.folders
    return sum_by_key((file.kind, file.size) for folder in folders for file in folder.files)
