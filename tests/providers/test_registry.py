"""Providers are found by their folders, asked what is theirs, and read behind one seam."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from inspector import api, providers
from inspector.checkpoint.names import MAX_BATCH
from inspector.checkpoint.storage import Storage
from inspector.cli.main import inspector
from inspector.discovery.checkpoint import open_checkpoint
from inspector.discovery.plan import plan
from inspector.exceptions import UnsupportedProviderError
from inspector.facts.versions import VersionFacts
from inspector.model import FileKind, StoreFile
from inspector.passes.store_reader import StoreReader
from inspector.providers.chain import replay_steps
from inspector.providers.registry import classify, list_providers, provider_by_name, provider_for
from inspector.state.replay import StateMap
from tests.attributes import attributes
from tests.cases import facts_of_type, observed_in
from tests.cli.support import run
from tests.fixture_folder import FIXTURES

UUID = "e21dbfc8-9f6e-4d55-a8f6-4ab2f5fbbd35"


@pytest.mark.parametrize(
    ("name", "kind", "version"),
    [
        ("7.delta", FileKind.DELTA, 7),
        ("7.snapshot", FileKind.SNAPSHOT, 7),
        ("7.DELTA", FileKind.DELTA, 7),
        ("7.Snapshot", FileKind.SNAPSHOT, 7),
        ("0.delta", FileKind.DELTA, 0),
        ("4611686018427387903.delta", FileKind.DELTA, MAX_BATCH),
        ("4611686018427387904.delta", FileKind.OTHER, None),
        ("9223372036854775807.delta", FileKind.OTHER, None),
        (f"{'9' * 5000}.delta", FileKind.OTHER, None),
        ("07.delta", FileKind.OTHER, None),
        ("-7.delta", FileKind.OTHER, None),
        ("\u0667.delta", FileKind.OTHER, None),
        ("7.delta\n", FileKind.OTHER, None),
        ("7.changes", FileKind.OTHER, None),
        ("7.delta.gz", FileKind.OTHER, None),
        ("delta", FileKind.OTHER, None),
        (".DS_Store", FileKind.OTHER, None),
        (f".1.delta.{UUID}.TID439.tmp", FileKind.TEMPORARY, 1),
        (f".12.snapshot.{UUID}.tmp", FileKind.TEMPORARY, 12),
        ("temp-3145523245234534", FileKind.TEMPORARY, None),
        ("temp--3145523245234534", FileKind.TEMPORARY, None),
        (".temp-3145523245234534", FileKind.TEMPORARY, None),
        (f".{UUID}.tmp", FileKind.TEMPORARY, None),
        ("temporary", FileKind.OTHER, None),
        (".7.delta.crc", FileKind.HADOOP_CHECKSUM, 7),
        (".7.delta.crc.crc", FileKind.HADOOP_CHECKSUM, 7),
        (f"..1.delta.{UUID}.TID439.tmp.crc", FileKind.HADOOP_CHECKSUM, 1),
        ("7.delta.crc", FileKind.SPARK_CHECKSUM, 7),
        ("7.snapshot.crc", FileKind.SPARK_CHECKSUM, 7),
        (f"2_{UUID}.changelog.crc", FileKind.SPARK_CHECKSUM, 2),
        ("7.zip", FileKind.SNAPSHOT, 7),
        ("7.changelog", FileKind.DELTA, 7),
        (f"7_{UUID}.zip", FileKind.SNAPSHOT, 7),
        (f"7_{UUID}.changelog", FileKind.DELTA, 7),
    ],
)
def test_file_name_gives_kind_and_version(name: str, kind: FileKind, version: int | None) -> None:
    assert classify(name) == (kind, version)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("SSTs", FileKind.TABLE),
        ("logs", FileKind.TABLE_LOG),
        ("7.delta", FileKind.OTHER),
        ("left-keyToNumValues", FileKind.OTHER),
    ],
)
def test_only_rocksdb_folder_names_have_a_kind(name: str, kind: FileKind) -> None:
    assert classify(name, is_dir=True) == (kind, None)


@given(st.text())
def test_any_file_name_has_kind(name: str) -> None:
    kind, version = classify(name)
    assert kind in FileKind
    assert version is None or 0 <= version <= MAX_BATCH


@given(st.integers(0, MAX_BATCH))
def test_version_in_file_name_round_trips(version: int) -> None:
    assert classify(f"{version}.delta") == (FileKind.DELTA, version)


Listing = tuple[str | None, list[StoreFile]]


def listing(*names: str, provider_class: str | None = None) -> Listing:
    files = [
        StoreFile(
            f"/c/state/0/0/{name.strip('/')}", *classify(name.strip("/"), is_dir="/" in name), 5
        )
        for name in names
    ]
    return provider_class, files


@pytest.mark.parametrize(
    "result",
    [
        listing("1.zip"),
        listing("1.changelog", "1.delta"),
        listing(provider_class="org.apache.spark.x.RocksDBStateStoreProvider"),
        listing("1.delta", provider_class="org.apache.spark.x.RocksDBStateStoreProvider"),
    ],
)
def test_rocksdb_is_recognised_by_class_or_files(result: Listing) -> None:
    assert provider_for(*result, "/c").name == "rocksdb"


OTHER_CLASSES = (
    "com.example.OurProvider",
    "com.example.HDFSBackedStateStoreProvider",
    "ru.chermenin.spark.sql.execution.streaming.state.RocksDbStateStoreProvider",
    "org.apache.spark.sql.execution.streaming.state.MyRocksDBStateStoreProvider",
)


@pytest.mark.parametrize("names", [("1.lsm",), ("1.lsm", ".1.lsm.crc"), ("1.delta",), ("1.zip",)])
@pytest.mark.parametrize("provider_class", OTHER_CLASSES)
def test_unknown_provider_class_is_refused_for_any_file_names(
    names: tuple[str, ...], provider_class: str
) -> None:
    result = listing(*names, provider_class=provider_class)
    with pytest.raises(UnsupportedProviderError, match=re.escape(f"of {provider_class},")) as e:
        provider_for(*result, "/c")
    assert e.value.path == "/c"
    assert "--provider-format rocksdb or --provider-format hdfs" in str(e.value)
    assert provider_for(*result, "/c", "hdfs").name == "hdfs"
    assert provider_for(*result, "/c", "rocksdb").name == "rocksdb"


@pytest.mark.parametrize("package", ["", "org.apache.spark.sql.x.", "com.databricks.sql.x."])
@pytest.mark.parametrize(
    ("spark_class", "name"),
    [("HDFSBackedStateStoreProvider", "hdfs"), ("RocksDBStateStoreProvider", "rocksdb")],
)
def test_classes_of_spark_and_databricks_are_known(
    package: str, spark_class: str, name: str
) -> None:
    result = listing("1.delta", "1.zip", provider_class=f"{package}{spark_class}")
    assert provider_for(*result, "/c").name == name


@pytest.mark.parametrize(
    "result",
    [
        listing(),
        listing("1.delta", "logs", "1.zip.crc"),
        listing("1.delta", provider_class="org.apache.spark.x.HDFSBackedStateStoreProvider"),
        listing(provider_class="com.example.OurProvider"),
        listing("1.zip", provider_class="org.apache.spark.x.HDFSBackedStateStoreProvider"),
    ],
)
def test_unclaimed_provider_is_spark_default(result: Listing) -> None:
    assert provider_for(*result, "/c").name == "hdfs"


def test_task_of_absent_provider_is_error() -> None:
    with pytest.raises(UnsupportedProviderError, match="'lsm', which is not here"):
        provider_by_name("lsm")
    assert provider_by_name("rocksdb").name == "rocksdb"


TOY = """
import re
import numpy as np
from inspector.decode.records import RecordBlock
from inspector.model import FileKind, Version
from inspector.providers.chain import FileNames
from inspector.providers.file_reader import FileReader
from inspector.providers.provider import Provider

class Reader(FileReader):
    def decode(self, file):
        data = b"".join(self.chunks(file))
        self.raw_bytes = len(data)
        lines = data.split()
        starts = np.cumsum([0] + [len(line) + 1 for line in lines[:-1]])
        one = np.ones(len(lines), np.int64)
        put = np.array([len(line) > 1 for line in lines])
        yield RecordBlock(data, 0, 0, starts, one, starts + 1, np.where(put, 8, -1))

class Toy(Provider):
    spark_class = "ToyProvider"
    names = FileNames("toy-{}", "toy-{}-all")
    def classify(self, name, *, is_dir=False):
        match = re.fullmatch("toy-([0-9]+)", name)
        if is_dir or not match:
            return FileKind.OTHER, None
        return FileKind.DELTA, Version(int(match[1]))
    def reader(self, storage, options, files, side_files, report):
        return Reader(storage, options, files, side_files, report)

PROVIDER = Toy()
"""


@pytest.fixture
def toy(tmp_path: Path) -> Iterator[Path]:
    """Return a checkpoint of a provider whose folder is importable during the test."""
    home = tmp_path / "home"
    (home / "toy").mkdir(parents=True)
    (home / "toy" / "__init__.py").write_text(TOY)
    root = tmp_path / "checkpoint"
    (root / "offsets").mkdir(parents=True)
    (root / "commits").mkdir()
    for batch in range(3):
        (root / "offsets" / str(batch)).write_text(
            'v1\n{"batchWatermarkMs":0,"batchTimestampMs":1}\n{}'
        )
        (root / "commits" / str(batch)).write_text("v1\n{}")
    (root / "metadata").write_text('{"id":"22963bf4-bb40-4fc3-855e-7fd5ef06d3d7"}')
    store = root / "state/0/0"
    store.mkdir(parents=True)
    (store / "toy-1").write_bytes(b"a11111111 b22222222 ")
    (store / "toy-2").write_bytes(b"a33333333 c44444444 ")
    (store / "toy-3").write_bytes(b"b ")
    providers.__path__.append(str(home))
    try:
        yield root
    finally:
        providers.__path__.remove(str(home))
        sys.modules.pop("inspector.providers.toy", None)


def test_provider_is_registered_by_one_folder(toy: Path) -> None:
    names = attributes(list_providers(), "name")
    assert names.index("rocksdb") < names.index("toy") < names.index("hdfs")
    assert names[-1] == "hdfs", "the default provider is the last"
    checkpoint = open_checkpoint(str(toy))
    assert (checkpoint.provider.name, checkpoint.newest_version) == ("toy", 3)
    (task,) = plan(checkpoint, checkpoint.newest_version)
    (store,) = task.stores
    reader = StoreReader(task, Storage(task.url), store)
    state = StateMap()
    for step in replay_steps(reader.provider.files_of(store.files), task.version):
        assert step.delta is not None
        state.begin(step.version)
        for block in reader.blocks(step.delta):
            state.apply(block)
        state.end()
    assert (state.rows, state.key_bytes, state.value_bytes) == (2, 2, 16)
    assert attributes(facts_of_type(observed_in(toy), VersionFacts), "rows") == [2, 3, 2]


@pytest.mark.parametrize(
    ("command", "table", "display"),
    [
        ("audit", "sizes", {"rows": 2, "value_bytes": 16}),
        ("verify", "checks", {"files_that_passed": 3, "files_without_checksum": 3}),
        ("info", "stores", {"partitions": 1}),
        ("files", "chains", {"oldest_restorable": 1, "newest_restorable": 3}),
        ("rows", "rows", {"key_bytes": 1, "value_bytes": 8}),
    ],
)
def test_commands_read_state_of_added_provider(
    toy: Path, command: str, table: str, display: dict[str, int]
) -> None:
    done = CliRunner().invoke(inspector, [command, str(toy), "-o", "json"])
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    rows = {**report["tables"], report["table"]: report.get("rows", [])}[table]
    assert display.items() <= rows[0].items()
    assert report["problems"] == []


def test_provider_without_folder_is_unknown() -> None:
    assert attributes(list_providers(), "name") == ["rocksdb", "hdfs"]


def unknown_class(tmp_path: Path, case: str) -> Path:
    """Return a checkpoint whose offset log records an unknown provider class."""
    root = tmp_path / "checkpoint"
    shutil.copytree(FIXTURES / case / "checkpoint", root)
    for path in (root / "offsets").glob("[0-9]*"):
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
        text = path.read_text()
        path.write_text(re.sub(r"org\.apache[\w.]*StateStoreProvider", "com.example.Ours", text))
    return root


COMMANDS = (
    *("audit", "verify", "info", "files", "sizes", "sharing", "memory", "leftovers", "timeline"),
    *("top", "rows", "diff", "preflight"),
)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_exit_with_5_for_unknown_provider_class(tmp_path: Path, command: str) -> None:
    root = unknown_class(tmp_path, "4.3.0/agg_update")
    outcome = run(command, root)
    assert outcome.code == 5
    assert "got state of com.example.Ours, expected one of" in outcome.err
    assert run(command, root, "--provider-format", "hdfs").code in (0, 1)


@pytest.mark.parametrize(
    ("case", "name"), [("4.3.0/agg_update", "hdfs"), ("4.3.0/rocksdb_agg_update", "rocksdb")]
)
def test_state_of_format_option_is_read_and_copied(
    tmp_path: Path, case: str, name: Literal["hdfs", "rocksdb"]
) -> None:
    root, options = unknown_class(tmp_path, case), api.Options(provider_format=name)
    report = api.sizes(str(FIXTURES / case / "checkpoint"))
    assert api.sizes(str(root), options).tables[0].rows == report.tables[0].rows
    copied = api.copy(str(root), str(tmp_path / "copy"), options)
    assert copied.summary["written"]
    with pytest.raises(UnsupportedProviderError):
        api.copy(str(root), str(tmp_path / "other"))
    assert not (tmp_path / "other").exists()
