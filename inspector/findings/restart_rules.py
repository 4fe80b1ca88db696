"""What Spark does when a query restarts after a change: every rule, as data with its source.

``inspector preflight`` decides by these and by nothing else, ``inspector explain SS431`` prints
one, and the page ``reference/restart-rules`` is made of all. Where releases differ there is an
entry for each, with the same :attr:`RestartRule.about`. ``scripts/judge_restarts.py`` restarts real
queries and compares; :attr:`RestartRule.shown_by` names the change of that script that shows the
rule.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from functools import cached_property

from inspector.exceptions import CheckpointError
from inspector.findings.finding import Kind, Severity
from inspector.light_dataclasses import dataclass
from inspector.model import Certainty

RELEASES = ("3.5", "4.0", "4.1", "4.2", "4.3")
"""The releases that the rules know, oldest first."""


class Restarts(enum.Enum):
    """What becomes of a restart, from best to worst; the worst of all lines is the whole's.

    Members:
        OK: it goes on as it would have without the change.
        IGNORED: Spark keeps what the checkpoint records, whatever the query asks for.
        UNKNOWN: no file decides it.
        SILENT: it starts, and its results are wrong.
        REFUSED: Spark does not start the query.
    """

    OK = "ok"
    IGNORED = "ignored"
    UNKNOWN = "unknown"
    SILENT = "silent"
    REFUSED = "refused"

    @property
    def rank(self) -> int:
        """Its place from the best to the worst."""
        return list(Restarts).index(self)


_SEVERITY = {
    Restarts.OK: Severity.INFO,
    Restarts.IGNORED: Severity.INFO,
    Restarts.UNKNOWN: Severity.WARNING,
    Restarts.SILENT: Severity.ERROR,
    Restarts.REFUSED: Severity.ERROR,
}


@dataclass(frozen=True)
class RestartRule:
    """What Spark does about one kind of change.

    Attributes:
        id: ``SS4nn``; never changes its meaning.
        about: what is compared; rules of several releases share it.
        verdict: what becomes of a restart.
        title: a few words.
        does: what Spark does, and what becomes of old and new state: whole sentences.
        source: Spark's classes and methods.
        shown_by: the change of ``scripts/restarts/changes.py`` that shows it; None where it was
            read in Spark's source alone.
        since, until: the first and the last of :data:`RELEASES` that do so.
        to_do: what its user can do.
        error: Spark's error class, or the words of an error that has none; "" if there is none.
        informs: it is of every comparison of files, and so no finding against this one: an
            information, whatever its verdict.
    """

    id: str
    about: str
    verdict: Restarts
    title: str
    does: str
    source: str
    shown_by: str | None = None
    since: str = RELEASES[0]
    until: str = RELEASES[-1]
    to_do: str = "nothing"
    error: str = ""
    informs: bool = False

    @property
    def releases(self) -> str:
        """``3.5 to 4.3``, ``4.3``."""
        return self.since if self.since == self.until else f"{self.since} to {self.until}"

    @property
    def spark(self) -> str:
        """What Spark does; where it refuses, its error and the releases that do."""
        return f"{self.error} (Spark {self.releases}). {self.does}" if self.error else self.does

    @cached_property
    def kind(self) -> Kind:
        """The rule as the kind of the findings that it makes."""
        return Kind(
            self.id,
            Severity.INFO if self.informs else _SEVERITY[self.verdict],
            self.title,
            self.error or self.source.partition(" ")[0].rstrip(",;"),
            certainties=(
                Certainty.UNDECIDED if self.verdict is Restarts.UNKNOWN else Certainty.PROVEN,
            ),
            to_do=self.to_do,
            cause=self.does.partition(". ")[0].rstrip(".") + ".",
            command="info",
        )


_CONF = "OffsetSeqMetadata.setSessionConf, relevantSQLConfs"
_SCHEMAS = (
    "StateSchemaCompatibilityChecker.check (DataType.equalsIgnoreNameAndCompatibleNullability)"
)
_METADATA = "IncrementalExecution.checkOperatorValidWithMetadata"
_START = "MicroBatchExecution.populateStartOffsets"
_TRANSFORM = "TransformWithStateExec.validateNewMetadata"
_NEW = "begin with a new checkpoint"
_BACK = f"take the change back, or {_NEW}"
_OK, _IGNORED, _UNKNOWN = Restarts.OK, Restarts.IGNORED, Restarts.UNKNOWN
_SILENT, _REFUSED = Restarts.SILENT, Restarts.REFUSED


def _schema_rules(part: str, id_: str, old_id: str, shown_by: str) -> Iterator[RestartRule]:
    """The types of keys or values, which Spark 3.5 refuses without an error class."""
    errors = (
        (id_, "4.0", RELEASES[-1], f"STATE_STORE_{part.upper()}_SCHEMA_NOT_COMPATIBLE"),
        (old_id, "3.5", "3.5", "Provided schema doesn't match to the schema for existing state"),
    )
    for number, since, until, error in errors:
        yield RestartRule(
            *(number, f"{part}-schema", _REFUSED, f"number or types of {part} fields"),
            f"The fields of the {part} must have the types that they had, one by one, and may "
            "not become nullable.",
            *(_SCHEMAS, shown_by, since, until),
            to_do=_BACK,
            error=error,
        )


RULES: tuple[RestartRule, ...] = (
    # Confs
    RestartRule(
        *("SS401", "recorded-conf", _IGNORED, "conf that the checkpoint records"),
        "The offset log records the conf, and its value goes before the session's. A warning "
        "in the driver's log is all that says so.",
        *(_CONF, "min-max->codec-zstd"),
        to_do="expect the old value; the new one needs a new checkpoint",
    ),
    RestartRule(
        *("SS402", "partitions", _IGNORED, "number of shuffle partitions"),
        "State stays divided as it is: the recorded number goes before "
        "spark.sql.shuffle.partitions.",
        *(_CONF, "min-max->partitions-4"),
        to_do="expect the old number; to change it, repartition the state offline (Spark 4.2 and "
        "later, RocksDB) or begin with a new checkpoint",
    ),
    RestartRule(
        *("SS403", "provider", _IGNORED, "state store provider"),
        "The recorded provider goes on: the state is never converted.",
        *(_CONF, "min-max->other-provider"),
        to_do="expect the old provider; another one needs a new checkpoint",
    ),
    RestartRule(
        *("SS404", "assumed-conf", _IGNORED, "conf that an older release did not record"),
        "The entry was written by a release that did not record the conf; Spark then takes "
        "the value that keeps old state readable, and not the session's.",
        "OffsetSeqMetadata.relevantSQLConfDefaultValues",
        to_do="expect that value; another one needs a new checkpoint",
    ),
    RestartRule(
        *("SS405", "free-conf", _OK, "conf that a restart may change"),
        "The session's value is used: the checkpoint does not record it, and state of either "
        "value can be read.",
        *("StateStoreConf; " + _CONF, "min-max->few-batches"),
    ),
    RestartRule(
        *("SS406", "unknown-conf", _UNKNOWN, "conf that no rule knows"),
        "No rule says what a restart with another value does.",
        _CONF,
        to_do="restart a copy of the checkpoint with it, or leave it as it is",
    ),
    RestartRule(
        *("SS407", "same-confs", _OK, "recorded confs"),
        "The confs that the checkpoint records are those of the new query.",
        *(_CONF, "min-max->min-max"),
    ),
    RestartRule(
        *("SS408", "offset-log-format", _IGNORED, "format of the offset log"),
        "The offset log stays in the format of its newest entry.",
        *("MicroBatchExecution.initializeExecution", "min-max->offsets-v2", "4.2"),
        to_do="expect the old format; the other one needs a new checkpoint",
    ),
    RestartRule(
        *("SS409", "evolution-on", _REFUSED, "source evolution on a checkpoint without it"),
        "Named sources need an offset log of format 2 from the first batch on.",
        *("MicroBatchExecution, STREAMING_QUERY_EVOLUTION_ERROR", "one->evolution", "4.2"),
        to_do=f"leave spark.sql.streaming.queryEvolution.enableSourceEvolution off, or {_NEW}",
        error="STREAMING_QUERY_EVOLUTION_ERROR.CANNOT_ENABLE_ON_EXISTING_CHECKPOINT",
    ),
    # Sources
    RestartRule(
        *("SS411", "source-count", _REFUSED, "number of sources"),
        "The offset log has one offset for each source by its place in the plan, so that "
        "their number has to stay.",
        *("OffsetSeq.toStreamProgress", "one->one-two"),
        to_do=f"{_BACK}; from Spark 4.2 on, named sources may come and go",
        error="There are [N] sources in the checkpoint offsets and now there are [M] sources",
    ),
    RestartRule(
        *("SS412", "source-kind", _REFUSED, "kind of a source"),
        "Each source reads the old offset of its place as one of its own, and cannot.",
        *("SparkDataStream.deserializeOffset, FileStreamSourceOffset.apply", "one->rate"),
        to_do=_BACK,
        error="the error of the source's own parser",
    ),
    RestartRule(
        *("SS413", "sources-swapped", _SILENT, "order of sources"),
        "Offsets belong to places in the plan, and not to sources: each source goes on where "
        "another one stood. Rows are left out or read again, and old state is of the other source.",
        "OffsetSeq.toStreamProgress; MicroBatchExecution.logicalPlan (sources/N)",
        to_do="put the sources back in their old order",
    ),
    RestartRule(
        *("SS428", "files-swapped", _REFUSED, "order of file sources"),
        "The offsets and logs of files belong to places in the plan: each source reads the "
        "files of the last batch below the folder of another one, and cannot.",
        *("FileStreamSource.getBatch, PartitioningAwareFileIndex.basePaths", "one-two->two-one"),
        to_do="put the sources back in their old order",
        error="Wrong basePath ... for the root path",
    ),
    RestartRule(
        *("SS414", "sources-alike", _UNKNOWN, "several sources of one kind"),
        "Offsets belong to places in the plan, and not to sources; of sources of one kind the "
        "files do not show which is which.",
        *("OffsetSeq.toStreamProgress", "one-two->one-two"),
        to_do="check their order: it is that in which the plan names them",
    ),
    RestartRule(
        *("SS415", "sources-same", _OK, "sources"),
        "The sources have the number and the kinds that the offset log has.",
        *("OffsetSeq.toStreamProgress", "min-max->min-max"),
    ),
    RestartRule(
        *("SS416", "topics", _UNKNOWN, "topics of a Kafka source"),
        "Offsets of topics that are no longer subscribed are left, and new topics begin by "
        "startingOffsets; state is of the old ones.",
        "KafkaMicroBatchStream.planInputPartitions",
        to_do="check that the test's topics stand for those of production, place by place",
    ),
    RestartRule(
        *("SS410", "files-folder", _UNKNOWN, "folder of a file source"),
        "Where the folder of the query itself is another one, Spark refuses to read the files "
        "of the last batch below it (Wrong basePath).",
        *(
            "FileStreamSource.getBatch, PartitioningAwareFileIndex.basePaths",
            "no-state->no-state-other-table",
        ),
        to_do="check that only the test reads another folder",
    ),
    RestartRule(
        *("SS419", "sources-rehearsed", _OK, "number of sources"),
        "The number of sources is what it was. NEW read rows in place of the query's own "
        "source, so that their kinds were not compared.",
        "OffsetSeq.toStreamProgress",
        to_do="check that the source of the query is what it was",
    ),
    # Operators
    RestartRule(
        *("SS420", "operators-same", _OK, "stateful operators"),
        "Every operator id has the operator that it had.",
        *(_METADATA, "chain->chain"),
    ),
    RestartRule(
        *("SS421", "operators", _REFUSED, "stateful operator added, removed or replaced"),
        "Operators are numbered from the sink on, and each number must have the name that the "
        "metadata has.",
        *(f"{_METADATA} (SPARK-46906)", "min-max->once-k", "4.0"),
        to_do=_BACK,
        error="STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA",
    ),
    RestartRule(
        *(
            "SS422",
            "operators",
            _UNKNOWN,
            "stateful operators, which this release does not compare",
        ),
        "Operators are not compared: operator N of the new query loads whatever state lies in "
        "the folder N, and fails, or goes on with state of another operator.",
        *("IncrementalExecution.nextStatefulOperationStateInfo", "min-max->once-k"),
        to_do=_BACK,
        until="3.5",
    ),
    RestartRule(
        *("SS423", "operators-unnamed", _UNKNOWN, "stateful operators without metadata"),
        "Where no operator has metadata, as after Spark 3.5 and older, operators are not "
        "compared: operator N of the new query loads whatever state lies in the folder N, and "
        "fails, or goes on with state of another operator.",
        _METADATA,
        to_do=_BACK,
    ),
    RestartRule(
        *("SS424", "first-operator", _REFUSED, "first stateful operator of a query"),
        "The operator's first batch here is not batch 0, so that it looks for state that was "
        "never written.",
        *(
            f"{_METADATA}, StreamingErrors.statefulOperatorMissingStateDirectory",
            "no-state->min-max",
            "4.2",
        ),
        to_do=_NEW,
        error="STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY",
    ),
    RestartRule(
        *("SS425", "first-operator", _REFUSED, "first stateful operator of a query"),
        "The operator's first batch here is not batch 0, so that it looks for state that was "
        "never written.",
        *("HDFSBackedStateStoreProvider.loadMap, RocksDB.load", "no-state->min-max"),
        to_do=_NEW,
        error="an error that state files are missing (CANNOT_LOAD_STATE_STORE)",
        until="4.1",
    ),
    RestartRule(
        *("SS426", "stores", _UNKNOWN, "stores of an operator"),
        "The operator's stores have other names.",
        "StatefulOperator, StateStoreWriter",
        to_do=f"restart a copy of the checkpoint, or {_NEW}",
    ),
    RestartRule(
        *("SS427", "other-format", _UNKNOWN, "schemas that cannot be compared"),
        "NEW was made with another state format than Spark will use, which is the recorded "
        "one, so that the schemas of both cannot be compared.",
        *(_CONF, "join->join-v1"),
        to_do="make NEW once more with the recorded value of the conf",
    ),
    # Keys
    *_schema_rules("key", "SS430", "SS438", "min-max->min-max-by-i"),
    RestartRule(
        *("SS431", "key-renamed", _SILENT, "key field of another name"),
        "Names are not compared. If the field holds something else now, old keys never match "
        "again: their state is orphaned and stays, and every key begins anew. If only its name is "
        "new, all goes on as before.",
        *(_SCHEMAS, "min-max->min-max-by-g"),
        to_do="check that it is the same expression; if it is not, begin with a new checkpoint",
    ),
    RestartRule(
        *("SS432", "key-order", _SILENT, "order of key fields"),
        "Names are not compared and fields go by their place: old keys never match again, "
        "their state is orphaned and stays, and every key begins anew.",
        *(_SCHEMAS, "min-max-by-kg->min-max-by-gk"),
        to_do="put the grouping columns back in their old order",
    ),
    RestartRule(
        *("SS433", "key-expression", _UNKNOWN, "grouping by an expression"),
        "The state names the field _groupingexpression whatever the expression is. If it "
        "changed, old keys never match again: their state is orphaned, and every key begins anew.",
        *(
            "PhysicalAggregation (_groupingexpression); " + _SCHEMAS,
            "min-max-by-upper->min-max-by-lower",
        ),
        to_do="check that the expression is the same; an alias would name it in the state",
    ),
    RestartRule(
        *("SS436", "key-case", _UNKNOWN, "key field whose name differs in case"),
        "Names are not compared. It is the same column unless spark.sql.caseSensitive is on.",
        *(_SCHEMAS, "min-max->min-max-by-case"),
        to_do="check that both names mean one column",
    ),
    RestartRule(
        *("SS434", "key-alike", _UNKNOWN, "key fields of the same name and type"),
        "Fields of the key have the same name and type, so that nothing shows which is which.",
        _SCHEMAS,
        to_do="check their order",
    ),
    RestartRule(
        *("SS435", "key-same", _OK, "keys"),
        "The key has the fields that it had.",
        *(_SCHEMAS, "min-max->min-max"),
    ),
    # Values
    *_schema_rules("value", "SS440", "SS449", "min-max->min-max-count"),
    RestartRule(
        *("SS441", "value-order", _SILENT, "order of aggregates"),
        "Buffers go by their place and names are not compared: each aggregate goes on with "
        "the value of another one, in every key that there is.",
        *(_SCHEMAS, "min-max->max-min"),
        to_do="put the aggregates back in their old order",
    ),
    RestartRule(
        *("SS442", "value-replaced", _SILENT, "aggregate replaced by another"),
        "Names are not compared: the new aggregate goes on with the value of the old one, in "
        "every key that there is.",
        *(_SCHEMAS, "min-max->sum-max"),
        to_do=_BACK,
    ),
    RestartRule(
        *("SS439", "value-overwritten", _UNKNOWN, "first replaced by last"),
        "Names are not compared, and last goes on with what first kept. The next row of a key "
        "replaces it, so that results are right in update mode unless last ignores nulls; complete "
        "mode emits the old value until then.",
        *("Last.updateExpressions", "first->last"),
        to_do="check that the output mode is update and that last does not ignore nulls",
    ),
    RestartRule(
        *("SS443", "value-alike", _UNKNOWN, "aggregates of the same name and type"),
        "Buffers have the same name and type, so that nothing shows which is which.",
        *(_SCHEMAS, "sums->sums-swapped"),
        to_do="check their order",
    ),
    RestartRule(
        *("SS444", "value-buffer", _UNKNOWN, "aggregate with a serialized buffer"),
        "The aggregate keeps one binary field, buf, whatever the function is.",
        *("TypedImperativeAggregate.aggBufferAttributes", "list->set"),
        to_do="check that the function is the same",
    ),
    RestartRule(
        *("SS445", "value-renamed", _UNKNOWN, "value field of another name"),
        "Names are not compared and fields go by their place. If a field holds something else "
        "now, old rows are read as if they held it.",
        *(_SCHEMAS, "join->join-renamed"),
        to_do="check that only the name is new",
    ),
    RestartRule(
        *("SS446", "nullability", _UNKNOWN, "nullable fields"),
        "NEW was made with another value of statefulOperator.alwaysNullableOutput.enabled "
        "than Spark will use, so that it does not show which fields are nullable.",
        *("OffsetSeqMetadata.relevantSQLConfDefaultValues", None, "4.3"),
        to_do="make NEW once more with the recorded value of the conf",
    ),
    RestartRule(
        *("SS447", "value-same", _OK, "values"),
        "The value has the fields that it had.",
        *(_SCHEMAS, "min-max->min-max"),
    ),
    RestartRule(
        *("SS448", "schema-check", _UNKNOWN, "no check of schemas"),
        "Without stateStore.stateSchemaCheck a schema that does not fit is not refused: old "
        "rows are read by the new schema, and what is read of them is not defined.",
        *("StateStoreConf.stateSchemaCheckEnabled", "min-max->no-schema-check"),
        to_do="leave the check on",
    ),
    # Event time
    RestartRule(
        *("SS450", "watermark-delay", _OK, "delay of a watermark"),
        "The new delay holds from the first batch on; the watermark, which is in the "
        "checkpoint, does not fall.",
        *(f"WatermarkTracker.setWatermark; {_SCHEMAS}", "windows->windows-delay"),
    ),
    RestartRule(
        *("SS451", "watermark-off", _OK, "watermark removed"),
        "The query goes on with its state, of which nothing expires any more.",
        *(_SCHEMAS, "windows->windows-no-delay"),
        to_do="expect the state to grow without end",
    ),
    RestartRule(
        *("SS452", "watermark-on", _OK, "watermark added"),
        "The query goes on with its state, and what is behind the new watermark expires.",
        *(_SCHEMAS, "windows-no-delay->windows"),
    ),
    # transformWithState
    RestartRule(
        *("SS460", "time-mode", _REFUSED, "time mode of transformWithState"),
        "The time mode cannot change.",
        *(_TRANSFORM, "state->state-event-time", "4.0"),
        to_do=_BACK,
        error="STATE_STORE_INVALID_CONFIG_AFTER_RESTART",
    ),
    RestartRule(
        *("SS461", "output-mode", _REFUSED, "output mode of transformWithState"),
        "The output mode cannot change.",
        *(_TRANSFORM, "state->state-append", "4.0"),
        to_do=_BACK,
        error="STATE_STORE_INVALID_CONFIG_AFTER_RESTART",
    ),
    RestartRule(
        *("SS462", "mode-same", _OK, "modes of transformWithState"),
        "The mode is what it was.",
        *(_TRANSFORM, "state->state", "4.0"),
    ),
    RestartRule(
        *("SS463", "variable-kind", _REFUSED, "kind of a state variable"),
        "A variable cannot become one of another kind.",
        *(_TRANSFORM, "state->state-list", "4.0"),
        to_do="give the new variable another name",
        error="STATE_STORE_INVALID_VARIABLE_TYPE_CHANGE",
    ),
    RestartRule(
        *("SS464", "variable-added", _UNKNOWN, "state variable added"),
        "The new variable begins empty for every key.",
        *(
            "StatefulProcessorHandleImpl; StateSchemaCompatibilityChecker",
            "state->state-two",
            "4.0",
        ),
        to_do="check that the processor copes with keys that have the other variables only",
    ),
    RestartRule(
        *("SS465", "variable-renamed", _SILENT, "state variable renamed"),
        "Its rows stay, and nobody reads or removes them; under the new name the variable "
        "begins empty for every key.",
        *(
            "StatefulProcessorHandleImpl; StateSchemaCompatibilityChecker",
            "state->state-other-name",
            "4.0",
        ),
        to_do="keep the name; empty a variable before it is replaced",
    ),
    RestartRule(
        *("SS470", "variable-removed", _OK, "state variable removed"),
        "Its rows stay, and nobody reads or removes them; the other variables go on.",
        *(
            "StatefulProcessorHandleImpl; StateSchemaCompatibilityChecker",
            "state-two->state",
            "4.0",
        ),
        to_do="empty a variable before it is removed",
    ),
    RestartRule(
        *("SS466", "ttl", _REFUSED, "TTL of a state variable"),
        "With a TTL a value has one field more.",
        *(_SCHEMAS, "state-processing-time->state-ttl", "4.0"),
        to_do="give the new variable another name",
        error="STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE",
    ),
    RestartRule(
        *("SS467", "avro-schema", _REFUSED, "values that Avro cannot resolve"),
        "Avro promotes int to long, float and double, long to float and double, and float to "
        "double, and nothing else.",
        *(
            "StateSchemaCompatibilityChecker, AvroOptions; SchemaValidator",
            "avro-state->avro-state-int",
            "4.0",
        ),
        to_do="give the new variable another name",
        error="STATE_STORE_INVALID_VALUE_SCHEMA_EVOLUTION",
    ),
    RestartRule(
        *("SS468", "avro-evolved", _OK, "values that Avro resolves"),
        "Old values are read by the new schema: a new field is null, and one that is gone is "
        "left out.",
        *(
            "StateSchemaCompatibilityChecker, AvroStateEncoder",
            "avro-state->avro-state-more-fields",
            "4.0",
        ),
    ),
    RestartRule(
        *("SS469", "avro-renamed", _SILENT, "field of an Avro value of another name"),
        "Avro goes by names: of old values the new field is null, and what the old one held "
        "is lost with the next update.",
        *("AvroStateEncoder", "avro-state->avro-state-renamed-field", "4.0"),
        to_do="keep the name",
    ),
    # Logic
    RestartRule(
        *("SS495", "logic-unseen", _UNKNOWN, "logic that leaves no trace"),
        "Filters and projections before the state, the columns that an aggregate or a join "
        "reads, the lengths of windows and sessions, join types, limits, time ranges and the code "
        "of functions are in no file of a checkpoint. Spark starts after such a change, and goes "
        "on with state that the old query made.",
        *(
            "StateSchemaCompatibilityChecker, which compares all that Spark compares",
            "min-max->min-max-filter",
        ),
        to_do="rehearse the old query too, on the same rows, and give its checkpoint with --before",
        informs=True,
    ),
    RestartRule(
        *("SS496", "state-same", _OK, "same state of the same rows"),
        "Both queries made the same state of the rows of the rehearsal, so that the new one "
        "goes on from the old one's as if it had made it: as far as these rows show.",
        *(
            "StateStore: of what a restart takes over, state alone depends on a query's logic",
            "count->count-star",
        ),
    ),
    RestartRule(
        *("SS497", "state-other", _SILENT, "other state of the same rows"),
        "The new query makes other state of the same rows. Spark goes on with the state that there "
        "is, which was made by the old logic, and the results of its keys are those of neither "
        "query. State that depends on the clock or on random numbers differs without a change.",
        *(
            "StateStore: of what a restart takes over, state alone depends on a query's logic",
            "min-max->min-max-filter",
        ),
        to_do=f"{_BACK}; inspector diff lists the rows of both rehearsals that differ",
    ),
    RestartRule(
        *("SS498", "state-unclear", _UNKNOWN, "states that say nothing about the change"),
        "The states of both rehearsals cannot show whether the logic is the same.",
        "StateStore: of what a restart takes over, state alone depends on a query's logic",
        to_do="rehearse both queries on the same rows, and with the same delay of the watermark",
    ),
    # The checkpoint itself
    RestartRule(
        *("SS480", "restorable", _OK, "files that a restart reads"),
        "Every file that the first batch loads is there.",
        *(f"{_START}, HDFSBackedStateStoreProvider.loadMap, RocksDB.load", "min-max->min-max"),
        to_do="nothing; verify reads them",
    ),
    RestartRule(
        *("SS481", "not-restorable", _REFUSED, "file that a restart reads and that is gone"),
        "The first batch loads the newest state version, and a file of it is missing or "
        "cannot be read.",
        *(f"{_START}, HDFSBackedStateStoreProvider.loadMap, RocksDB.load", "newest_state_gone"),
        to_do="restore the file, or go back to an older batch in a copy; verify lists what is "
        "wrong",
        error="the error class that the line names",
    ),
    RestartRule(
        *("SS482", "restorable-unknown", _UNKNOWN, "file that a restart reads"),
        "A file that the first batch loads could not be judged here.",
        _START,
        to_do="run verify where the file can be read",
    ),
    RestartRule(
        *("SS483", "runs-again", _OK, "last batch without its commit"),
        "The batch runs again with the offsets, the watermark and the clock of its entry, and "
        "gives its rows to the sink once more, under the same batch id.",
        *(_START, "newest_commit_gone"),
        to_do="make sure that the sink takes a batch id twice",
    ),
    RestartRule(
        *("SS484", "metadata-lost", _REFUSED, "metadata of the query"),
        "A checkpoint with logs and without metadata is refused.",
        *("StreamingQueryCheckpointMetadata", "metadata_gone", "4.2"),
        to_do="restore the file metadata: it holds the query's id",
        error="STREAMING_CHECKPOINT_MISSING_METADATA_FILE",
    ),
    RestartRule(
        *("SS485", "metadata-lost", _OK, "metadata of the query"),
        "The query gets another id. Sinks that know their batches by the query's id, such as "
        "Delta tables, take batches that they have for new ones.",
        *("StreamExecution.streamMetadata", "metadata_gone"),
        to_do="restore the file metadata if the sink goes by the query's id",
        until="4.1",
    ),
    RestartRule(
        *("SS486", "operator-metadata-lost", _OK, "metadata of an operator"),
        "Operators are not compared at the next start, which writes the metadata anew.",
        *(_METADATA, "operator_metadata_gone"),
    ),
    RestartRule(
        *("SS487", "schema-lost", _UNKNOWN, "state schema"),
        "Without the file nothing is compared: the schema of the new query is written, and "
        "old rows are read by it.",
        *("StateSchemaCompatibilityChecker.validateAndMaybeEvolveStateSchema", "schema_gone"),
        to_do="restore the file, or make sure that keys and values are what they were",
    ),
    RestartRule(
        *("SS488", "source-log-lost", _REFUSED, "log of a file source"),
        "The source has no entry for the files of the last batch, which it reads once more.",
        *("FileStreamSource.getBatch, FileStreamSourceLog", "source_log_gone"),
        to_do="restore the folder sources",
        error="batch N doesn't exist",
    ),
    RestartRule(
        *("SS489", "schema-paths", _REFUSED, "paths of state schemas after a move"),
        "The metadata of transformWithState name the schemas by absolute paths, which are of "
        "the place where the query ran.",
        *("OperatorStateMetadataV2.stateSchemaFilePaths", "state-copied", "4.0"),
        to_do="move the checkpoint back, or write the new paths into state/N/_metadata/v2",
        error="FileNotFoundException",
    ),
    # Releases
    RestartRule(
        *("SS490", "checkpoint-format", _UNKNOWN, "state store checkpoint format"),
        "The checkpoint format is of the session, and the files have the names of the old one.",
        *("StateStoreConf.enableStateStoreCheckpointIds", "min-max->checkpoint-v2"),
        to_do="leave spark.sql.streaming.stateStore.checkpointFormatVersion as it is",
    ),
    RestartRule(
        *("SS499", "snapshot-format", _REFUSED, "RocksDB snapshots of Spark 4.0"),
        "With spark.sql.streaming.stateStore.checkpointFormatVersion=2, Spark 4.0 writes v2 "
        "as the version of a snapshot's metadata; later releases write and read v1 alone.",
        *("RocksDBCheckpointMetadata.VERSION, readFromFile", None, "4.1"),
        to_do="stay with Spark 4.0, or begin with a new checkpoint",
        error="CANNOT_LOAD_STATE_STORE.CANNOT_READ_CHECKPOINT",
    ),
    RestartRule(
        *("SS491", "evolution-off", _REFUSED, "source evolution switched off"),
        "The offset log stays in format 2, and the sources lose their names.",
        *("MicroBatchExecution.logicalPlan", "evolution->one", "4.3"),
        to_do="leave spark.sql.streaming.queryEvolution.enableSourceEvolution on",
        error="All sources should be named at this point",
    ),
    RestartRule(
        *("SS494", "evolution-off", _UNKNOWN, "source evolution switched off"),
        "The offset log stays in format 2, and the sources lose their names.",
        *("MicroBatchExecution.logicalPlan", None, "4.2", "4.2"),
        to_do="leave spark.sql.streaming.queryEvolution.enableSourceEvolution on",
    ),
    RestartRule(
        *("SS417", "source-added", _OK, "named source added"),
        "The new source begins at its beginning, or where its options say.",
        *("OffsetMap.toStreamProgress", "named->named-more", "4.2"),
    ),
    RestartRule(
        *("SS418", "source-removed", _UNKNOWN, "named source removed"),
        "The other sources go on; state keeps what the removed one brought.",
        *("OffsetMap.toStreamProgress", "named->named-fewer", "4.2"),
        to_do="check that what it brought may stay",
    ),
    RestartRule(
        *("SS492", "older-spark", _UNKNOWN, "an older Spark than wrote the checkpoint"),
        "The checkpoint records confs that the older release does not know, so that it "
        "ignores what they stand for.",
        "OffsetSeqMetadata.relevantSQLConfs",
        to_do="restart a copy of the checkpoint with that release first",
    ),
    RestartRule(
        *("SS493", "log-format", _REFUSED, "log of a later format than the release reads"),
        "The version line of the entry is above what the release supports.",
        "MetadataVersionUtil.validateVersion",
        to_do="stay with a release that reads it",
        error="maximum supported log version is vN, but encountered vM",
    ),
)
"""Every rule; ids never change their meaning."""


def rule_of(about: str, release: str) -> RestartRule:
    """The rule of one of :data:`RELEASES` about what is compared.

    Raises:
        LookupError: the release has no such rule.
    """
    place = RELEASES.index
    for rule in RULES:
        if rule.about == about and place(rule.since) <= place(release) <= place(rule.until):
            return rule
    raise LookupError(f"no rule about {about} for Spark {release}")


def release_of(text: str | None) -> str:
    """The release to judge by: ``4.3`` of ``4.3.0``; the newest that the rules know if None.

    Raises:
        CheckpointError: the rules do not know it.
    """
    if text is None:
        return RELEASES[-1]
    release = ".".join(text.split(".")[:2])
    if release not in RELEASES:
        raise CheckpointError(
            f"got Spark {text[:20]}, expected one that the rules know: {RELEASES[0]} to "
            f"{RELEASES[-1]}; nothing is guessed about another one"
        )
    return release
