"""Operators, partitions, stores and files of a checkpoint, from its listings."""

from pathlib import Path

import pytest

from inspector.checkpoint import local_files
from inspector.checkpoint.layout import Layout, discover
from inspector.checkpoint.logs import read_logs
from inspector.checkpoint.metadata import read_operator_metadata
from inspector.checkpoint.roots import Selection
from inspector.checkpoint.state_schema import read_state_schema
from inspector.checkpoint.storage import Storage
from inspector.checkpoint.trees import Entry
from inspector.exceptions import NotACheckpointError
from inspector.model import FileKind, StoreFile, StoreId, Version
from inspector.providers.registry import classify
from tests.attributes import attributes
from tests.cli.support import tree

JOIN = ("left-keyToNumValues", "left-keyWithIndexToValue", "right-keyToNumValues")
JOIN_FILES = (
    "state/1/0/left-keyToNumValues/1.delta",
    "state/1/0/left-keyWithIndexToValue/1.delta",
    "state/1/0/right-keyToNumValues/1.delta",
    "state/1/1/left-keyToNumValues/1.delta",
    "state/1/1/left-keyWithIndexToValue/1.delta",
    "state/1/1/right-keyToNumValues/1.delta",
)
TEMPORARY = ".1.delta.e21dbfc8-9f6e-4d55-a8f6-4ab2f5fbbd35.TID439.tmp"


def write_files(root: Path, *files: str) -> Path:
    """Write files of five bytes. A path that ends with a slash is an empty folder."""
    for file in (*files, "metadata", "offsets/0", "commits/0"):
        folder, _, name = file.rpartition("/")
        (root / folder).mkdir(parents=True, exist_ok=True)
        if name:
            (root / file).write_bytes(b"12345")
    return root


def layout_of(root: Path, *files: str) -> Layout:
    return discover(Storage.open(str(write_files(root, *files))), classify)


def test_layout_of_an_operator(tmp_path: Path) -> None:
    layout = layout_of(
        tmp_path,
        *("state/0/0/9.delta", "state/0/0/10.delta", "state/0/10/9.delta", "state/0/10/10.delta"),
        *("state/0/9/9.delta", "state/0/9/10.delta"),
        *("state/0/0/10.snapshot", "state/0/0/.9.delta.crc", f"state/0/0/{TEMPORARY}"),
        *("state/0/0/odd", "state/0/0/_metadata/schema", "state/0/_metadata/metadata"),
    )
    (operator,) = layout.operators
    assert (operator.operator_id, operator.directory) == (0, "state/0")
    assert operator.expected_stores == ("default",)
    assert not operator.has_state_schema
    assert operator.store_names == ("default",)
    assert attributes(operator.partitions, "partition_id") == [0, 9, 10]
    (store,) = operator.partitions[0].stores
    assert (store.store, store.directory) == (StoreId(0, "default", 0), "state/0/0")
    assert attributes(map(Path, attributes(store.files, "path")), "name") == [
        *(TEMPORARY, ".9.delta.crc", "9.delta", "10.delta", "10.snapshot", "odd")
    ]
    assert attributes(store.files, "version") == [1, 9, 9, 10, 10, None]


def test_store_file_path_kind_version_and_size(tmp_path: Path) -> None:
    storage = Storage.open(str(write_files(tmp_path, "state/0/0/7.delta")))
    (store,) = discover(storage, classify).stores
    (file,) = store.of_kind(FileKind.DELTA, FileKind.SNAPSHOT)
    expected = StoreFile(f"{tmp_path}/state/0/0/7.delta", FileKind.DELTA, Version(7), 5)
    assert (file.path, file.kind, file.version, file.size) == (
        *(expected.path, expected.kind, expected.version, expected.size),
    )
    assert file.modified_ms is not None
    assert storage.read(storage.relative(file.path)) == b"12345"


def test_join_stores_are_folders(tmp_path: Path) -> None:
    layout = layout_of(tmp_path, *JOIN_FILES, "state/1/2/", "state/0/0/1.delta")
    assert attributes(layout.operators, "operator_id") == [0, 1]
    join = layout.operators[1]
    assert join.store_names == JOIN
    assert list(map(len, attributes(join.partitions, "stores"))) == [3, 3, 0]
    assert join.stores[4].store == StoreId(1, JOIN[1], 1)
    assert join.stores[4].directory == f"state/1/1/{JOIN[1]}"


def test_an_empty_partition_folder_is_a_store_without_files(tmp_path: Path) -> None:
    # The provider makes the folder before its first commit.
    (store,) = layout_of(tmp_path, "state/0/0/").stores
    assert (store.store, store.files) == (StoreId(0, "default", 0), ())


def test_a_query_without_state_has_no_operators(tmp_path: Path) -> None:
    assert layout_of(tmp_path).operators == ()


def test_foreign_folders_are_ignored(tmp_path: Path) -> None:
    layout = layout_of(
        tmp_path,
        *("state/0/0/1.delta", "state/notes.txt", "state/old/0/1.delta", "state/00/0/1.delta"),
        *("state/0/x", "state/0/01/1.delta", "state/0/2147483648/1.delta"),
        "state/0/_stateSchema/default/0_x",
    )
    (operator,) = layout.operators
    assert operator.has_state_schema
    assert len(layout.stores) == 1


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (Selection(), 8),
        (Selection(1), 6),
        (Selection(1, 1), 3),
        (Selection(1, 1, JOIN[2]), 1),
        (Selection(0, 1), 1),
        (Selection(7), 0),
    ],
)
def test_layout_selection(tmp_path: Path, selection: Selection, expected: int) -> None:
    layout = layout_of(tmp_path, *JOIN_FILES, "state/0/0/1.delta", "state/0/1/1.delta")
    assert len(layout.select(selection).stores) == expected


def test_a_folder_that_cannot_be_listed_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = Storage.open(str(write_files(tmp_path, "state/0/0/1.delta", "state/0/1/1.delta")))
    listing = local_files.listing

    def locked(path: str, relative: str) -> tuple[Entry, ...]:
        if path.endswith("state/0/1"):
            raise PermissionError(13, "Permission denied", path)
        return listing(path, relative)

    monkeypatch.setattr(local_files, "listing", locked)
    result = discover(storage, classify)
    assert attributes(result.operators[0].partitions, "partition_id") == [0]
    (problem,) = result.problems
    assert (problem.slug, problem.message) == ("denied", "Permission denied")
    assert problem.path == f"{tmp_path}/state/0/1"


def test_layout_of_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotACheckpointError, match="got an empty folder"):
        discover(Storage.open(str(tmp_path)), classify)


def test_reading_changes_nothing(tmp_path: Path) -> None:
    files = ["state/0/0/1.delta", "state/0/_metadata/metadata", "state/0/0/_metadata/schema"]
    root = write_files(tmp_path, *files, "state/1/0/")

    before = tree(root)
    storage = Storage.open(str(root))
    read_logs(storage)
    assert attributes(discover(storage, classify).operators, "operator_id") == [0, 1]
    read_operator_metadata(storage, 0)
    read_operator_metadata(storage, 1)
    read_state_schema(storage, 0)
    read_state_schema(storage, 1)
    assert list(storage.stream("state/0/0/1.delta")) == [b"12345"]
    assert tree(root) == before


METADATA = (
    'v1\n{"operatorInfo":{"operatorId":0,"operatorName":"stateStoreSave"},"stateStoreInfo":'
    '[{"storeName":"default","numColsPrefixKey":0,"numPartitions":1}]}'
)


@pytest.mark.parametrize("with_metadata", [True, False])
@pytest.mark.parametrize("name", ["backup", "left-keyToNumValues", "copied"])
def test_folder_next_to_a_store_is_foreign(tmp_path: Path, name: str, with_metadata: bool) -> None:
    root = write_files(
        tmp_path, "state/0/0/1.delta", f"state/0/0/{name}/1.delta", "state/0/1/backup/"
    )
    if with_metadata:
        (root / "state/0/_metadata").mkdir()
        (root / "state/0/_metadata/metadata").write_text(METADATA)
    result = discover(Storage.open(str(root)), classify)
    assert attributes(result.stores, "store") == [
        *(StoreId(0, "default", 0), StoreId(0, "default", 1)),
    ]
    assert attributes(result.problems, "slug", "path") == [
        ("foreign-folder", f"{root}/state/0/0/{name}"),
        ("foreign-folder", f"{root}/state/0/1/backup"),
    ]


def test_state_files_next_to_join_stores_are_foreign(tmp_path: Path) -> None:
    layout = layout_of(tmp_path, *JOIN_FILES[:3], "state/1/0/1.delta")
    assert layout.operators[0].store_names == JOIN
    (problem,) = layout.problems
    assert (problem.slug, problem.path) == ("foreign-folder", f"{tmp_path}/state/1/0")


def test_metadata_names_unknown_stores(tmp_path: Path) -> None:
    root = write_files(tmp_path, "state/0/0/mine/1.delta", "state/0/0/other/1.delta")
    (root / "state/0/_metadata").mkdir()
    text = METADATA.replace('"default"', '"mine"')
    (root / "state/0/_metadata/metadata").write_text(text)
    result = discover(Storage.open(str(root)), classify)
    assert result.operators[0].store_names == ("mine",)
    assert attributes(result.problems, "path") == [f"{root}/state/0/0/other"]
