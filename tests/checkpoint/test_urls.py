"""URLs of Spark, addresses of fsspec, and missing drivers."""

import pytest

from inspector.checkpoint import urls
from inspector.checkpoint.urls import Address, absolute, parse_options, translate


@pytest.mark.parametrize(
    ("spelled", "expected"),
    [
        ("/data/ck/", Address("file", "/data/ck")),
        ("file:/data/ck", Address("file", "/data/ck")),
        ("file:///data/ck", Address("file", "/data/ck")),
        ("FILE://localhost/data/ck", Address("file", "/data/ck")),
        ("/data/a:b", Address("file", "/data/a:b")),
        ("/data/a b%20c", Address("file", "/data/a b%20c")),
        ("s3://bucket/ck", Address("s3", "s3://bucket/ck")),
        ("s3a://bucket/ck", Address("s3", "s3://bucket/ck")),
        ("s3n://bucket/ck", Address("s3", "s3://bucket/ck")),
        ("gs://bucket/ck", Address("gs", "gs://bucket/ck")),
        ("memory://ck", Address("memory", "memory://ck")),
        ("hdfs://nn:8020/ck", Address("hdfs", "hdfs://nn:8020/ck")),
        ("hdfs:/ck", Address("hdfs", "hdfs:///ck")),
        (
            "abfss://box@acc.dfs.core.windows.net/ck",
            Address("abfs", "abfs://box/ck", {"account_name": "acc"}),
        ),
        (
            "wasbs://box@acc.blob.core.windows.net/ck",
            Address("abfs", "abfs://box/ck", {"account_name": "acc"}),
        ),
        (
            "abfss://box@acc.dfs.core.chinacloudapi.cn/ck",
            Address(
                "abfs",
                "abfs://box/ck",
                {"account_name": "acc", "account_host": "acc.blob.core.chinacloudapi.cn"},
            ),
        ),
        ("abfs://box/ck", Address("abfs", "abfs://box/ck")),
    ],
)
def test_spark_urls_become_fsspec_addresses(spelled: str, expected: Address) -> None:
    assert translate(spelled) == expected


def test_relative_path_with_a_colon_is_local(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getcwd", lambda: "/here")
    assert translate("ck") == Address("file", "/here/ck")
    assert translate("odd:name") == Address("file", "/here/odd:name")
    assert translate("odd:/name") == Address("file", "/here/odd:/name")
    assert absolute("ck") == "/here/ck"
    assert absolute("s3a://bucket/ck") == "s3a://bucket/ck"


@pytest.mark.parametrize(
    ("spelled", "mounts", "expected"),
    [
        ("dbfs:/ck", {"/dbfs"}, Address("file", "/dbfs/ck")),
        ("dbfs:///ck", {"/dbfs"}, Address("file", "/dbfs/ck")),
        ("dbfs:/Volumes/a/ck", {"/dbfs", "/Volumes"}, Address("file", "/Volumes/a/ck")),
        ("dbfs:/ck", set(), Address("dbfs", "dbfs:/ck")),
    ],
)
def test_dbfs_url_becomes_its_mount(
    monkeypatch: pytest.MonkeyPatch, spelled: str, mounts: set[str], expected: Address
) -> None:
    monkeypatch.setattr("os.path.isdir", lambda path: path in mounts)
    assert translate(spelled) == expected


def test_storage_options_are_typed() -> None:
    arguments = {"anon": "True", "use_ssl": "false", "key": "123", "client_kwargs": '{"a": [1]}'}
    expected = {"anon": True, "use_ssl": False, "key": "123", "client_kwargs": {"a": [1]}}
    assert parse_options(arguments) == expected
    assert parse_options({"odd": "{not json"}) == {"odd": "{not json"}


@pytest.mark.parametrize(
    ("protocol", "hint"),
    [
        ("s3", "pip install 'spark-state-inspector[s3]'"),
        ("gs", "pip install 'spark-state-inspector[gcs]'"),
        ("abfs", "pip install 'spark-state-inspector[azure]'"),
        ("hdfs", "webhdfs://"),
        ("oss", "no driver for oss:// is installed; fsspec says: install ossfs"),
        ("dbfs", "pip install requests"),
    ],
)
def test_missing_driver_message(protocol: str, hint: str) -> None:
    assert hint in urls.missing_driver(protocol, ImportError("install ossfs"))


def test_missing_driver_message_names_the_package() -> None:
    error = ImportError("Install the gopher package to use the GopherFileSystem")
    error.__cause__ = ModuleNotFoundError("No module named 'gopher'", name="gopher")
    result = urls.missing_driver("gopher", error)
    assert result == "gopher:// needs the package gopher, install it with: pip install gopher"
