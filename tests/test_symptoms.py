"""Symptoms in the words of Spark's logs, of cluster managers and of people, and their entries."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from importlib.resources import files
from itertools import chain
from pathlib import Path
from zipfile import ZipFile

import pytest

from inspector import docs
from tests.cli.support import checkpoint_of, run
from tests.spark_errors import WITH_STATE_ERRORS, error_messages, spark_home
from tests.troubles import troubled

LINES = [
    line.split("\t", 2)
    for line in Path(__file__).with_name("symptoms.tsv").read_text("utf-8").splitlines()
]
MESSAGES = {message.replace("\\n", "\n").replace("\\t", "\t"): entry for entry, _, message in LINES}
"""What is seen -> the first name of its entry, or the name by which it was asked.

The origin of a message is a run of a Spark that had the trouble, the class of a release that has
its words, what people say, or the memory of who wrote it down.
"""

TEXT = "\n".join(map(docs.read_page, docs.SYMPTOM_PAGES))
WORDS = files(docs.__name__).joinpath("words.txt").read_text("utf-8")
PHRASES = files(docs.__name__).joinpath("messages.txt").read_text("utf-8")
HEADINGS = re.findall("^### (.*)$", TEXT.replace("`", ""), re.M)
NAMES_OF_ENTRIES = [heading.split(", ") for heading in HEADINGS]
FIRST_NAMES = re.findall("^### (.*?)(?:, |$)", TEXT.replace("`", ""), re.M)


def first(text: str) -> str:
    match = re.search(r"^### `?([^`\n]+?)`?(?:, .*)?$", docs.lookup(text) or "", re.M)
    return match[1] if match else ""


@pytest.mark.parametrize("message", MESSAGES, ids=lambda text: text[-40:])
def test_symptom_finds_entry(message: str) -> None:
    assert first(message) == MESSAGES[message]


CLASSES = {
    "MALFORMED_LOG_FILE": "log file malformed",
    "INVALID_LOG_VERSION.MAX_SUPPORTED_VERSION": "checkpoint of a newer Spark",
    "_LEGACY_ERROR_TEMP_1299": "recovery not supported",
    "_LEGACY_ERROR_TEMP_2203": "timeout before watermark",
    "_LEGACY_ERROR_TEMP_2204": "watermark must be specified",
    "_LEGACY_ERROR_TEMP_2205": "timeout before watermark",
    "_LEGACY_ERROR_TEMP_2263": "checkpoint moved",
    "_LEGACY_ERROR_TEMP_3199": "value too large",
    "INVALID_TIMEOUT_TIMESTAMP": "timeout before watermark",
    "FAILED_RENAME_TEMP_FILE": "rename failed",
    "CANNOT_LOAD_STATE_STORE.UNRELEASED_THREAD_ERROR": "RocksDB is locked",
    "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION": "output mode not supported",
    "UNSUPPORTED_STREAMING_OPERATOR_WITHOUT_WATERMARK": "output mode not supported",
}
"""Class -> the entry of its words, as Spark's own file of templates has them, without the class."""


@WITH_STATE_ERRORS
@pytest.mark.parametrize("name", CLASSES)
def test_spark_error_words_find_symptom(name: str) -> None:
    words = re.sub(r"<\w+>", "x", error_messages()[name])
    assert first(words) == CLASSES[name]


OF_STATE = re.compile(
    r"STATE_STORE|STATEFUL|STDS_|DELTA_FILE|SNAPSHOT_FILE|WATERMARK|STREAM_STREAM_JOIN|CHECKPOINT_FILE"
    r"|STREAMING_(CHECKPOINT|STATEFUL|ASYNC|UNFINISHED|QUERY_EVOLUTION|OUTPUT_MODE|REAL_TIME)"
    r"|STATE_REPARTITION|STATE_REWRITER|TRANSFORM_WITH_STATE|CONCURRENT_STREAM|_LOG_VERSION"
)


STATE_CLASSES = [name for name in error_messages() if OF_STATE.search(name)]


def test_installed_spark_has_state_error_classes() -> None:
    assert len(STATE_CLASSES) > 20


@pytest.mark.parametrize("name", STATE_CLASSES)
def test_state_error_class_is_explained_by_name_and_message(name: str) -> None:
    assert docs.lookup(name) is not None
    assert docs.lookup(f"org.apache.spark.SparkException: [{name}] It failed.") is not None


PHRASE_PARTS = " ... ".join(re.findall(r"^    (.*)$", PHRASES, re.M)).split(" ... ")
"""Phrases of logs by which symptoms are found."""


@cache
def jars_by_class() -> dict[str, Path]:
    """Return the jar of each class of the installed Spark that writes logs."""
    jars = spark_home() / "jars"
    sql = (*jars.glob("spark-sql_*.jar"), *jars.glob("spark-catalyst_*.jar"))
    core = (*jars.glob("spark-core_*.jar"), *jars.glob("spark-unsafe_*.jar"))
    result: dict[str, Path] = {}
    for jar in (*jars.glob("snappy-*.jar"), *core, *sql):
        with ZipFile(jar) as archive:
            result |= dict.fromkeys(archive.namelist(), jar)
    return result


RELEASE = str(import_module("pyspark.version").__version__)[:3]
CLASS_FILE = re.compile(rf"{re.escape(RELEASE)}\S* (\w+/\S+)")
"""The origin of a message that is in a class of the installed Spark."""


@pytest.mark.parametrize(
    ("origin", "message"),
    [(origin, message) for _, origin, message in LINES if CLASS_FILE.fullmatch(origin)],
)
def test_log_phrase_exists_in_spark_class(origin: str, message: str) -> None:
    name = CLASS_FILE.sub(r"\1.class", origin)
    with ZipFile(jars_by_class()[name]) as archive:
        body = archive.read(name)
    assert [part for part in PHRASE_PARTS if part in message and part.encode() in body] != []


def test_every_symptom_has_message_example() -> None:
    tried = {*MESSAGES.values(), *CLASSES.values()}
    assert len(NAMES_OF_ENTRIES) >= 60
    assert [names for names in NAMES_OF_ENTRIES if tried.isdisjoint(names)] == []


def test_every_symptom_names_command() -> None:
    commands = "inspector |withWatermark|foreachBatch|Upgrade|Use another|Set the"
    entries = re.split(r"^### ", TEXT, flags=re.M)[1:]
    assert [entry[:30] for entry in entries if not re.search(commands, entry)] == []


def test_stack_trace_explains_last_cause_first() -> None:
    trace = (
        "org.apache.spark.sql.streaming.StreamingQueryException: terminated with exception\n"
        "Job aborted due to stage failure: Task 1 in stage 4.0 failed 4 times, most recent\n"
        "Caused by: java.lang.OutOfMemoryError: Java heap space\n"
        "Caused by: java.io.IOException: No space left on device\n"
    )
    text = docs.lookup(trace) or ""
    headings = re.findall(r"^### ([^,\n]+?)(?:,|$)", text, re.M)
    assert headings == ["disk full", "out of memory"]


def test_long_log_explains_three_and_names_others() -> None:
    log = "\n".join(sorted(MESSAGES, key=len)[-100:])
    text = docs.lookup(log) or ""
    assert len(re.findall(r"^### ", text, re.M)) == 3
    assert "Also in this text: " in text


def test_log_ignores_colloquial_words() -> None:
    assert docs.lookup("at Dataset.dropDuplicates(Dataset.scala) skew TTL " + "line " * 20) is None


def test_explain_reads_log_file(tmp_path: Path) -> None:
    log = tmp_path / "driver.log"
    log.write_text("INFO x\n" * 10 + "Caused by: java.io.IOException: Stream is corrupted\n")
    outcome = run("explain", str(log))
    assert outcome.code == 0
    assert outcome.out.startswith("### stream is corrupted")


def test_pasted_stack_trace_longer_than_file_name() -> None:
    trace = "StreamingQueryException: [STREAM_FAILED] Query [id = 1] terminated with exception: "
    trace += "assertion failed: There are [1] sources in the checkpoint offsets and now there are "
    trace += "[2] sources requested by the query. Cannot continue.\n" + "\tat Frame.call\n" * 300
    outcome = run("explain", trace)
    assert outcome.code == 0
    assert "1 in the checkpoint, 2 in the query.\n\n### sources changed" in outcome.out


def test_explain_with_path_is_about_checkpoint() -> None:
    path = str(checkpoint_of("trouble_kept_timeouts"))
    outcome = run("explain", "state grows", path, "--wide")
    assert outcome.code == 0
    assert "80 keys leaked: their timeout fired" in outcome.out
    assert "- It has SS203: " in outcome.out
    assert "- It does not have SS201, SS204" in outcome.out
    assert f"`inspector timeline {path}`" in outcome.out
    healthy = run("explain", "OOM", str(checkpoint_of("healthy_kept_timeouts"))).out
    assert "Healthy: no findings" in healthy
    assert "- It has " not in healthy


REFUSED = (
    "[STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE] Provided key schema does not match existing state key "
    "schema.\nPlease check number and type of fields.\nExisting key_schema=StructType(StructField("
    "user,StringType,true)) and new key_schema=StructType(StructField(n,LongType,true)).\nIf you "
    "want to force running the query without schema validation, please set"
)
"""What Spark 4.3 said; 3.5 has these words for it."""
REFUSED_3_5 = (
    "StateSchemaNotCompatible: Provided schema doesn't match to the schema for existing state! "
    "Please note that Spark allow difference of field name: check count of fields and data type "
    "of each field.\n- Provided key schema: StructType(StructField(n,LongType,true))\n"
    "- Provided value schema: StructType(StructField(count,LongType,true))\n"
    "- Existing key schema: StructType(StructField(user,StringType,true))\n"
    "- Existing value schema: StructType(StructField(count,LongType,true))\nIf you want to force "
)
IGNORED = (
    "WARN OffsetSeqMetadata: Updating the value of conf 'spark.sql.streaming.internal.stateStore."
    "partitions' in current session from '5' to '2'."
)


@pytest.mark.parametrize("refused", [REFUSED, REFUSED_3_5])
def test_explain_log_names_ignored_or_refused_change(refused: str, tmp_path: Path) -> None:
    log = tmp_path / "driver.log"
    log.write_text(f"{IGNORED}\n{refused}\n")
    checkpoint = troubled("trouble_agg_no_watermark")
    out = run("explain", str(log), str(checkpoint), "--wide").out
    assert (
        "- Spark ignored `spark.sql.shuffle.partitions=5`: the checkpoint keeps `2`. "
        "This one records it, and its state has 2 partitions.\n"
    ) in out
    assert (
        "- Spark refused another key schema: the state has `user string`, the query `n bigint`. "
        "In this checkpoint it is operator 0 (stateStoreSave).\n"
    ) in out
    assert "another value schema" not in out
    alone = run("explain", str(log), "--wide").out
    assert "the checkpoint keeps `2`.\n" in alone
    assert "the query `n bigint`.\n" in alone


def test_log_of_other_checkpoint_is_recognized(tmp_path: Path) -> None:
    log = tmp_path / "driver.log"
    log.write_text(f"{IGNORED}\n{REFUSED.replace('user,StringType', 'user,DateType')}\n")
    out = run("explain", str(log), str(checkpoint_of("trouble_skew")), "--wide").out
    assert "This one records 5: the text is of another.\n" in out
    assert "No operator of this checkpoint has it: the text is of another.\n" in out


FOREIGN = """Job aborted due to stage failure: Task 3 in stage 12.0 failed 4 times, most recent
failure: Lost task 3.3 in stage 12.0: java.lang.NullPointerException
\tat com.acme.billing.Invoice.total(Invoice.java:41)
\tat org.apache.spark.rdd.RDD.iterator(RDD.scala:338)
"""


def test_error_in_user_code_is_no_symptom() -> None:
    assert docs.lookup(FOREIGN) is None
    assert docs.near(FOREIGN) == ["task failed 4 times"]
    assert first(FOREIGN.replace("com.acme", "org.apache.spark")) == "task failed 4 times"
    of_state = FOREIGN + "\tat org.apache.spark.sql.execution.streaming.state.StateStore.get(x)\n"
    assert first(of_state) == "task failed 4 times"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FORM users",
        "com.amazonaws.services.s3.model.AmazonS3Exception: Forbidden (Service: Amazon S3; "
        "Status Code: 403)\n\tat com.acme.Upload.put(Upload.java:12)",
        "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column with name `time` cannot be resolved.",
        "24/05/01 12:00:00 INFO SparkContext: Running Spark version 3.5.1",
        "MetadataFetchFailedException: Missing an output location for shuffle 4 partition 12",
        "how do I restart nginx",
        "what is the difference between left join and inner join in postgres",
    ],
)
def test_explain_refuses_text_not_about_state(text: str) -> None:
    outcome = run("explain", text)
    assert (outcome.code, outcome.out) == (2, "")
    assert "no symptom is known for this text" in outcome.err


def test_metric_name_finds_symptom() -> None:
    assert first("commitTimeMs is 40 seconds every batch, why so slow") == "falling behind"


@pytest.mark.parametrize(
    "text", ["bananas are yellow", "hello world", "spark version", "how to install java", "disk"]
)
def test_text_without_symptom_is_not_found(text: str) -> None:
    assert docs.lookup(text) is None


def test_unknown_text_lists_symptoms_by_group() -> None:
    outcome = run("explain", "one device has most of it, how to reset it")
    assert outcome.code == 2
    assert "no symptom is known for this text; inspector explain NAME explains" in outcome.err
    folded = " ".join(outcome.err.split())
    assert "When memory runs out: out of memory, container killed, " in folded
    assert folded.endswith(
        "When the result is not what was expected: duplicates, no output, missing rows, "
        "correctness issue due to global watermark, output mode not supported, join finds no "
        "match, outer join refused, multiple aggregations not supported, timeout before "
        "watermark, watermark must be specified, session window never closes"
    )


def test_symptom_groups_have_every_entry() -> None:
    groups = docs.symptom_groups()
    assert [*chain(*groups.values())] == FIRST_NAMES


def test_colloquial_words_are_index_only() -> None:
    names = set(re.findall("^(.*?): ", WORDS, re.M))
    assert names <= {*docs.PAGES, *FIRST_NAMES}
    assert "killed for memory" in WORDS
    assert "killed for memory" not in (docs.lookup("OOM killed pods") or "killed for memory")


TRACE = """ERROR MicroBatchExecution: [STREAM_FAILED] Query [id = 1] terminated with exception:
[CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] An error occurred during loading state.
Caused by: [CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS] An error occurred
Error reading delta file /checkpoints/orders/state/0/0/2.delta of HDFSStateStoreProvider
Caused by: java.io.FileNotFoundException: File /orders/state/0/0/99.delta does not exist
"""


def test_nested_error_class_precedes_outer_class() -> None:
    text = docs.lookup(TRACE) or ""
    assert text.startswith("### `CANNOT_READ_DELTA_FILE_NOT_EXISTS`\n")
    assert "### `CANNOT_LOAD_STATE_STORE.UNCATEGORIZED`" not in text


def test_explain_reports_state_files_of_log_in_checkpoint() -> None:
    out = run("explain", TRACE, str(checkpoint_of("agg_update")), "--wide").out
    assert "- `state/0/0/2.delta` is there in this checkpoint.\n" in out
    assert "- `state/0/0/99.delta` is not there in this checkpoint.\n" in out


@pytest.mark.parametrize(("count", "end"), [(2, "has 2."), (1, "has 2: the text is of another.")])
def test_explain_compares_source_count_of_log_with_checkpoint(count: int, end: str) -> None:
    text = f"There are [{count}] sources in the checkpoint offsets and now there are [3] sources "
    text += "requested by the query. Cannot continue."
    out = run("explain", text, str(troubled("trouble_union_idle_source")), "--wide").out
    assert f"{count} in the checkpoint, 3 in the query. This one {end}\n" in out
    assert "SS411." not in out.partition("# In this text")[0]
