"""A checkpoint as it is found: identity, operators, stores, logs; from listings and small files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property

from inspector.checkpoint.confs import SHUFFLE_PARTITIONS
from inspector.checkpoint.copy_record import RECORD, CopyRecord, read_record
from inspector.checkpoint.layout import Layout, OperatorLayout, StoreLayout, discover
from inspector.checkpoint.logs import OFFSETS, Logs, Near, read_logs
from inspector.checkpoint.metadata import OperatorMetadata
from inspector.checkpoint.names import number
from inspector.checkpoint.roots import Selection, resolve_root
from inspector.checkpoint.state_schema import StateSchema
from inspector.checkpoint.storage import Storage
from inspector.checkpoint.verified_files import VerifiedFiles
from inspector.discovery.lost_files import SINCE_4_0, lost_files
from inspector.discovery.partition_shape import PartitionShape, partition_shape
from inspector.discovery.store_schemas import read_schemas, unknown_operators
from inspector.discovery.user_schemas import GIVEN, UserSchemas, with_user_schemas
from inspector.exceptions import CheckpointError, InspectorError
from inspector.light_dataclasses import dataclass, field, replace
from inspector.model import (
    KINDS_OF_STATE,
    LIMITS,
    BatchClock,
    BatchId,
    FileKind,
    Problem,
    StoreFile,
    StoreId,
    StoreName,
)
from inspector.operators.physical import PhysicalOperator, physical_operator
from inspector.operators.registry import identify, rule_for
from inspector.operators.rule import OperatorShape, StoreRule
from inspector.operators.transform_with_state import NAMES as TRANSFORM
from inspector.operators.transform_with_state import (
    Family,
    GroupingKey,
    Properties,
    family_of,
    grouping_key_of,
)
from inspector.operators.user_rules import UserRules
from inspector.providers.chain import StoreFiles, restorable_versions
from inspector.providers.provider import Provider
from inspector.providers.registry import classify, provider_for
from inspector.sparktypes import StructType

CONF = "streaming."  # prefix of the confs of streaming in the offset log, after ``spark.sql.``


@dataclass(frozen=True)
class Operator:
    """One stateful operator of the query, with its schemas, rules and partitions."""

    layout: OperatorLayout  # its folder, partitions and stores
    name: str  # as Spark's metadata has it, or recognised by its schemas
    name_from: str  # ``metadata`` or ``schemas``
    metadata: OperatorMetadata | None  # Spark's own, None up to 3.5
    schemas: Mapping[str, StateSchema]  # by store name, where there is a file
    rules: Mapping[str, StoreRule]  # expiry rule of each store, by store name
    upstream: tuple[PhysicalOperator, ...] = ()  # may feed it, those nearest to sources first
    shape: PartitionShape = PartitionShape()  # its partitions, where no schema shows them

    @property
    def operator_id(self) -> int:
        """Number of the operator; 0 is the one nearest to the sink."""
        return self.layout.operator_id

    @property
    def single_partition(self) -> bool:
        """True if Spark runs the operator only in partition 0: a limit or a keyless aggregation."""
        no_key = any(not schema.key.fields for schema in self.schemas.values())
        return no_key or self.physical.single_partition or self.shape.is_single

    @cached_property
    def physical(self) -> PhysicalOperator:
        """How the operator passes the watermark on in the plan, and asks for batches."""
        return physical_operator(self.name, self.metadata.properties if self.metadata else None)

    @cached_property
    def processor(self) -> Properties | None:
        """Properties of the StatefulProcessor; None unless the operator is transformWithState."""
        if self.name not in TRANSFORM:
            return None
        return Properties.of(self.metadata.properties if self.metadata else {})

    def family(self, store: str) -> Family | None:
        """Return the content of a transformWithState store; None for any other operator."""
        return None if self.processor is None else self._family(self.processor, store)[0]

    def variable(self, store: str) -> str | None:
        """Return the state variable that a store belongs to.

        None for timers and for operators other than transformWithState.
        """
        result = "" if self.processor is None else self._family(self.processor, store)[1]
        return result or None

    def grouping_key(self, store: str) -> GroupingKey | None:
        """Return where a store of transformWithState has the grouping key in its keys, if known."""
        family, schema = self.family(store), self.schemas.get(store)
        if family is None or schema is None:
            return None
        variable = self.variable(store)
        variable_family = None
        if variable is not None and variable in self.schemas:
            variable_family = self.family(variable)
        return grouping_key_of(family, variable_family, schema.key)

    def key_of_entries(self, store: str) -> StructType:
        """Return the part of a store's key under which several entries are kept.

        For a map it is the struct in the first key field, the grouping key; for a list or a session
        store it is all key fields but the last.
        """
        schema = self.schemas[store].key
        nested = self.family(store) is Family.MAP and schema.fields[0].data_type
        return nested if isinstance(nested, StructType) else StructType(schema.fields[:-1])

    def _family(self, processor: Properties, store: str) -> tuple[Family, str]:
        """Return the content of a transformWithState store, and its state variable.

        The variable is "" for timers.
        """
        schema = self.schemas.get(store)
        key = None if schema is None else schema.key
        return family_of(store, processor, self.layout.store_names, key)


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint, or the selected part of one, as listings and small files show it."""

    storage: Storage  # opened at its root
    selection: Selection  # the part
    layout: Layout  # operators, partitions and files of the selected part
    logs: Logs  # content of the offset and commit logs
    operators: tuple[Operator, ...]  # by id, those selected
    provider: Provider  # state store provider that wrote the files
    problems: tuple[Problem, ...] = field(default=())  # small files that could not be read
    query: tuple[Operator, ...] = ()  # all operators, with the rules that files show
    small_files: int = 0  # logs, metadata and schemas that were read
    unsummed_small_files: int = 0  # those of them that no checksum vouches for
    copy_record: CopyRecord | None = None  # how a copy was made; None if it is no copy

    @property
    def root(self) -> str:
        """Root of the checkpoint as the user spelled it."""
        return self.storage.root

    @cached_property
    def store_files(self) -> dict[str, StoreFiles]:
        """Deltas and snapshots of every selected store, by its folder."""
        files_of = self.provider.files_of
        return {folder.directory: files_of(folder.files) for folder in self.layout.folders}

    @cached_property
    def newest_version(self) -> int:
        """State version that the last committed batch made; 0 if nothing was committed.

        Without a commit log it is the newest version that every store can restore.
        """
        # Without a commit log (Spark 2.1 had none) it is the newest that every store can restore.
        if self.logs.last_committed is not None:
            return self.logs.last_committed + 1
        return 0 if self.logs.has_commits_dir else max(self.restorable_versions, default=0)

    @cached_property
    def restorable_versions(self) -> frozenset[int]:
        """The versions that every store can restore, committed or not; none without stores."""
        versions = map(restorable_versions, self.store_files.values())
        return frozenset(next(versions, ())).intersection(*versions)

    @cached_property
    def newest_snapshot_format(self) -> int:
        """Format number in the newest snapshot that is not newer than the newest version.

        1 without checkpoint format 2, without snapshots, and if the snapshot cannot be read.
        """
        # Spark 4.0 writes v2 there, which no other release reads.
        stores = self.store_files.values() if self.logs.unique_ids else ()
        files = [file for store_files in stores for file in store_files.snapshots.values()]
        snapshots = [file for file in files if (file.version or 0) <= self.newest_version]
        if not snapshots:
            return 1
        newest = max(snapshots, key=lambda file: file.version or 0)
        try:
            return self.provider.content.snapshot_format(self.storage, newest)
        except (InspectorError, OSError):
            return 1  # what decodes it says why it cannot be read

    @cached_property
    def newest_listed_batch(self) -> int:
        """Newest batch in the offset log, listed again now; 0 without entries.

        The query may have planned batches since the checkpoint was opened.
        """
        entries = self.storage.list(OFFSETS, missing_ok=True)
        return max((number(entry.name) or 0 for entry in entries), default=0)

    @cached_property
    def last_versions(self) -> dict[int, int]:
        """Operator id -> last state version, for operators that a restart took out of the query.

        Judged by file versions alone: all partitions end together before the newest version. Empty
        if Spark 4.0 or later ran the query, as it refuses such restarts.
        """
        # Spark compares operators with its metadata of them, which 4.0 was the first to write
        # (OperatorStateMetadataValidator). Before, a query goes on without those of the highest
        # ids, the ones nearest to the sources, whose folders stay as they are. So all partitions of
        # such an operator end together before the newest version, and others do not; of one that
        # failed in its last batch some have a version more. One file may be lost by itself.
        result: dict[int, int] = {}
        has_metadata = any(operator.metadata for operator in self.query)
        for operator in sorted(self.query, key=lambda each: -each.operator_id):
            newest = [
                max((file.version or 0 for file in store.of_kind(*KINDS_OF_STATE)), default=0)
                for store in operator.layout.folders
            ]
            last, highest = min(newest, default=0), max(newest, default=0)
            missing = [self.newest_version - version for version in newest]
            follows = self.logs.confs.get(BatchId(last))
            checked = has_metadata if follows is None else SINCE_4_0 in follows
            if not last or highest > last + 1 or min(missing) < 1 or sum(missing) < 2 or checked:
                return result
            result[operator.operator_id] = last
        return {}  # a query that has state has an operator

    @cached_property
    def versions_without_commit(self) -> dict[int, int]:
        """Versions with files that are newer than the last committed one -> number of stores."""
        stores = ({*files.deltas, *files.snapshots} for files in self.store_files.values())
        versions = Counter(
            v for store_files in stores for v in store_files if v > self.newest_version
        )
        return dict(sorted(versions.items()))

    def first_partition(self, operator_id: int) -> int:
        """Return the number of an operator's first partition.

        0, except for joins of Spark 2.4.0 to 2.4.4 behind a union.
        """
        shapes = (o.shape for o in self.query if o.operator_id == operator_id)
        return next((shape.first for shape in shapes), 0)

    def check_selection(self) -> None:
        """Raise CheckpointError if the selection leaves no store; the message lists what there is.

        A checkpoint opened without a selection always passes.
        """
        if self.selection == Selection() or any(o.layout.stores for o in self.operators):
            return
        entry = []
        for operator in (item.layout for item in self.query):
            numbers = sorted(partition.partition_id for partition in operator.partitions)
            span = f"{numbers[0]} to {numbers[-1]}" if numbers[1:] else "".join(map(str, numbers))
            stores = ", ".join(operator.store_names) or "none"
            entry.append(f"operator {operator.operator_id} (partitions {span}; stores {stores})")
        raise CheckpointError(
            f"it has no such operator, store or partition, it has {'; '.join(entry) or 'none'}",
            self.root,
        )

    def clock(self, version: int) -> BatchClock | None:
        """Return the clocks of the batch that made a version; None if the log lacks the batch."""
        return self.logs.clocks.get(BatchId(version - 1))

    def conf(self, version: int, key: str) -> str | None:
        """Return a conf as it held for the batch that made a version; None if it has no value.

        ``key`` is the name without ``spark.sql.streaming.``. The default counts if none is
        recorded.
        """
        return self.logs.conf_for(version - 1, CONF + key).value

    def version_of(self, batch: int | None = None, state_version: int | None = None) -> int:
        """Return the state version to judge.

        It is the version that ``batch`` made, else ``state_version``, else the version in the
        opened path, else the newest committed one. Raises CheckpointError if it is newer than the
        newest committed version and has no files.
        """
        # Of a batch, else a version itself, else what the path names, else the newest committed.
        if batch is not None:
            state_version = batch + 1
        if state_version is None:
            state_version = self.selection.version
        if state_version is None:
            return self.newest_version
        if (
            state_version > self.newest_version
            and state_version not in self.versions_without_commit
        ):
            raise CheckpointError(
                f"state version {state_version} (batch {state_version - 1}) does not exist, the "
                f"newest committed one is {self.newest_version} (batch {self.newest_version - 1})",
                self.root,
            )
        return state_version


def open_checkpoint(
    url: str,
    options: Mapping[str, str] | None = None,
    selection: Selection | None = None,
    user_schemas: UserSchemas | None = None,
    near: Near | None = None,
    provider_format: str | None = None,
) -> Checkpoint:
    """Open a checkpoint by its root or by any path below it.

    A path below the root narrows the selection. Raises CheckpointError if a given schema is of no
    selected store, NotACheckpointError, UnsupportedProviderError, EngineError without a storage
    driver, and OSError.
    """
    root, meant = resolve_root(url, options, classify)
    storage = Storage(root, options)
    return checkpoint_at(
        storage, meant, selection, user_schemas, near=near, provider_format=provider_format
    )


def checkpoint_at(  # noqa: PLR0913 - what opening a checkpoint rests on
    storage: Storage,  # opened at the root
    meant: Selection,  # the part that the user's path names
    selection: Selection | None = None,  # narrows it
    user_schemas: UserSchemas | None = None,  # take the place of those in the checkpoint
    small_files: VerifiedFiles | None = None,  # reads logs, metadata and schemas
    near: Near | None = None,  # the entries of the logs that are read; None for all
    provider_format: str | None = None,  # the provider whose format the files have, by its name
) -> Checkpoint:
    """Open a checkpoint whose root is known: read its listings, logs, metadata and schemas.

    Files that cannot be read become ``problems``. Raises CheckpointError if a given schema is of no
    selected store.
    """
    narrower = vars(selection or Selection()).items()
    chosen = replace(meant, **{name: value for name, value in narrower if value is not None})
    verified = small_files or VerifiedFiles(storage)
    # The logs first: then all that is committed by them is among the files.
    logs = read_logs(verified, near=near)
    layout = discover(verified, classify)
    record = read_record(storage) if RECORD in layout.root_names else None
    logs = logs if record is None else with_changed_versions(logs, record)
    files = tuple(file for store in layout.stores for file in store.files)
    provider = provider_for(logs.provider_class, files, storage.root, provider_format)
    layout = resolve_attempts(verified, layout, provider, logs)
    layout, schemas, schema_problems = read_schemas(verified, layout)
    selected = layout.select(chosen)
    locations = {(item.store.operator_id, item.store.partition_id) for item in selected.stores}
    problems = [
        problem
        for problem in layout.problems
        if (store := problem.store) is None or (store.operator_id, store.partition_id) in locations
    ]
    problems += logs.problems
    for name, pair in (user_schemas or UserSchemas()).of_stores(selected).items():
        schemas[name] = with_user_schemas(schemas.get(name), pair, name)
        schema_problems.pop(name, None)
    shapes = _shapes(storage, provider, layout, logs, schemas)
    query = _operators(layout, schemas, shapes)
    for name in sorted(schema_problems, key=lambda item: -item.operator_id):
        problems += schema_problems[name]
    schemas_by_operator = {operator.operator_id: tuple(operator.schemas) for operator in query}
    reported = {problem.path for problem in problems}
    problems += lost_files(verified, logs, layout.operators, schemas_by_operator, reported)
    problems += unknown_operators(verified, layout.operators)
    layouts = {operator.operator_id: operator for operator in selected.operators}
    chosen_operators = [o for o in query if o.operator_id in layouts]
    operators = tuple(replace(o, layout=layouts[o.operator_id]) for o in chosen_operators)
    return Checkpoint(
        *(storage, chosen, selected, logs, operators, provider, tuple(problems), query),
        small_files=len(verified.vouched),
        unsummed_small_files=list(verified.vouched.values()).count(False),
        copy_record=record,
    )


def with_changed_versions(logs: Logs, record: CopyRecord) -> Logs:
    """Return a copy of the logs that marks the batches whose state a copy has changed.

    Clocks of the batches that made the record's ``changed_versions`` get ``edited`` set.
    """
    changed = {BatchId(version - 1) for version in record.changed_versions}
    clocks = {
        batch: replace(clock, edited=True) if batch in changed else clock
        for batch, clock in logs.clocks.items()
    }
    return replace(logs, clocks=clocks)


def state_file_bytes(checkpoint: Checkpoint) -> int:
    """Return the bytes on storage of the state files of the selected stores."""
    files = [folder.of_kind(*KINDS_OF_STATE) for folder in checkpoint.layout.folders]
    return sum(file.size for store_files in files for file in store_files)


def _shapes(
    storage: Storage,
    provider: Provider,
    whole: Layout,
    logs: Logs,
    store_schemas: Mapping[StoreName, StateSchema],
) -> dict[int, PartitionShape]:
    """Return the partitions of operators without metadata and schemas, by operator id.

    Operators that have metadata, or a schema that the user did not give, are left out.
    """
    described = {n.operator_id for n, schema in store_schemas.items() if schema.version != GIVEN}
    newest = logs.last_offset if logs.last_committed is None else logs.last_committed
    count = logs.conf_for(newest or 0, SHUFFLE_PARTITIONS).value or ""
    conf = logs.confs.get(BatchId(newest or 0), {})
    return {
        layout.operator_id: partition_shape(
            storage, provider, layout, number(count, LIMITS.partitions) or 0, conf
        )
        for layout in whole.operators
        if layout.metadata is None and layout.operator_id not in described
    }


def _operators(
    whole: Layout,
    store_schemas: Mapping[StoreName, StateSchema],
    shapes: Mapping[int, PartitionShape],
) -> tuple[Operator, ...]:
    """Build every operator of the query with its name, rules, upstream operators and partitions.

    ``shapes`` is by operator id. The result is in ascending order of the ids.
    """
    operators: list[Operator] = []
    for layout in reversed(whole.operators):
        metadata = layout.metadata
        stores = [StoreName(layout.operator_id, store) for store in layout.store_names]
        schemas = {name.store_name: store_schemas[name] for name in stores if name in store_schemas}
        pairs = {name: (schema.key, schema.value) for name, schema in schemas.items()}
        name = metadata.operator_name if metadata else identify(layout.store_names, pairs)
        upstream = tuple(operator.physical for operator in operators)
        properties = metadata.properties if metadata else {}
        shape = OperatorShape(name, pairs, properties)
        rules = {store: rule_for(shape, store) for store in layout.store_names}
        source = "metadata" if metadata else "schemas"
        partitions = shapes.get(layout.operator_id, PartitionShape())
        operators.append(
            Operator(layout, name, source, metadata, schemas, rules, upstream, partitions)
        )
    return tuple(reversed(operators))


def resolve_attempts(storage: Storage, layout: Layout, provider: Provider, logs: Logs) -> Layout:
    """Return the layout with each store's files classified by the provider and the commit log.

    The files of several attempts at a version are told apart by the unique ids of the commits.
    Snapshots of appended batches are marked, too.
    """

    def resolve(store: StoreLayout) -> Iterator[StoreLayout]:
        files = provider.resolve_attempts(store.files, _commit_ids(logs, store.store), storage)
        if has_appended:
            files = tuple(_with_origin(file, logs) for file in files)
        yield replace(store, files=files)

    has_appended = any(clock.appended for clock in logs.clocks.values())
    operators = tuple(operator.map_stores(resolve) for operator in layout.operators)
    return replace(layout, operators=operators)


def _with_origin(file: StoreFile, logs: Logs) -> StoreFile:
    """Return a snapshot of an appended batch with ``continues`` set; any other file unchanged.

    ``continues`` is True unless the batch is a repartitioning.
    """
    batch = BatchId((file.version or 0) - 1)
    clock = logs.clocks.get(batch)
    if file.kind is not FileKind.SNAPSHOT or clock is None or not clock.appended:
        return file
    return replace(file, continues=batch not in logs.repartitions)


def _commit_ids(logs: Logs, store: StoreId) -> dict[int, frozenset[str]]:
    """Return the unique ids by which a partition's stores committed, by state version."""
    result: dict[int, frozenset[str]] = {}
    for batch, operators in logs.unique_ids.items():
        partitions = operators.get(store.operator_id, ())
        if store.partition_id < len(partitions):
            result[batch + 1] = partitions[store.partition_id]
    return result


def with_rules(checkpoint: Checkpoint, user_rules: UserRules) -> Checkpoint:
    """Return a copy of the checkpoint whose operators follow the user's rules.

    Raises CheckpointError if a rule names an operator or field that does not exist.
    """
    if user_rules == UserRules():
        return checkpoint
    have = {operator.operator_id for operator in checkpoint.operators}
    named = {
        *(op for op in user_rules.event_time_fields if op is not None),
        *(op for op, _ in user_rules.operator_rules),
        *(op for op, _ in user_rules.join_retention if op is not None),
    }
    if not named <= have:
        raise CheckpointError(
            f"got a rule for operator {min(named - have)}, there are "
            f"{', '.join(map(str, sorted(have))) or 'none'}",
            checkpoint.root,
        )
    operators = []
    for operator in checkpoint.operators:
        schemas = {name: (schema.key, schema.value) for name, schema in operator.schemas.items()}
        rules = user_rules.apply(operator.operator_id, operator.name, schemas, operator.rules)
        operators.append(replace(operator, rules=rules))
    return replace(checkpoint, operators=tuple(operators))
