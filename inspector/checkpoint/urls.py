"""Spark's spellings of a path or URL, translated to the protocol and path of fsspec.

``abfs[s]://C@A.dfs.core.../x`` and ``wasb[s]://C@A.blob.core.../x`` are ``abfs``, container C,
option ``account_name`` A. ``dbfs:/x`` is the mount ``/dbfs/x`` if that exists, else ``dbfs``. A URL
with an unknown scheme and ``://`` is passed to fsspec unchanged.

Hadoop does not percent-decode a path, so this module does not either. Staged files are copies of
files that only Spark can read, on the disk of this process. Their name is the same in every
process. The folder behind it is each process's own, filled before a task runs and removed after it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from inspector.credentials import redact
from inspector.exceptions import EngineError
from inspector.light_dataclasses import dataclass, field

# extra of this distribution that installs the driver, by fsspec protocol
EXTRAS = {"s3": "s3", "gs": "gcs", "gcs": "gcs", "abfs": "azure", "az": "azure"}

# what a protocol needs whose driver no extra installs
_NEEDS = {
    "hdfs": "hdfs:// needs Hadoop's libhdfs and Java (HADOOP_HOME, JAVA_HOME, CLASSPATH); "
    "webhdfs://host:port/path needs neither, and --io hadoop reads through Spark",
    "dbfs": "dbfs:/ is read through the REST API of Databricks, which needs the package requests "
    "(pip install requests) and --storage-option instance=HOST --storage-option token=...; "
    "on Databricks itself /dbfs/... needs neither, and --io hadoop reads through Spark",
}

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(/.*)", re.DOTALL)  # scheme and remainder of a URL
# container, account, suffix and path of Spark's spelling for Azure
_AZURE_HOST = re.compile(r"([^/@]+)@([^./]+)\.([^/]+)(.*)", re.DOTALL)
_AZURE_PUBLIC = "blob.core.windows.net"  # suffix of the hosts of the public cloud

STAGED = "staged"  # scheme of the URLs of staged files
_folders: dict[str, str] = {}  # folder of this process for each name of staged files


@dataclass(frozen=True)
class Address:
    """A path or URL in the form that fsspec takes."""

    protocol: str  # fsspec's name of the driver
    target: str  # argument for the driver's ``_strip_protocol``; for ``file`` an absolute path
    # options of the driver that the URL contains
    options: Mapping[str, str] = field(default_factory=dict)


def translate(url: str) -> Address:
    """Return the fsspec address of a path or URL in any of Spark's spellings."""
    match = _SCHEME.fullmatch(url)
    if match is None:
        return _local(url)
    scheme, remainder = match[1].lower(), match[2]
    if scheme in _TRANSLATORS:
        return _TRANSLATORS[scheme](remainder)
    # "name:/x" is a URL only for the schemes above; else it is a file with a colon in its name.
    return Address(scheme, f"{scheme}:{remainder}") if remainder.startswith("//") else _local(url)


def is_local(url: str) -> bool:
    """Return True if the URL names a file of this machine, staged files included."""
    return url.startswith(f"{STAGED}:/") or translate(url).protocol == "file"


def lies_in(url: str, root: str) -> bool:
    """Return True if a URL equals the root or is below it. Local links are resolved."""
    inner, outer = translate(url), translate(root)
    targets = [inner.target, outer.target]
    if is_local(url) and is_local(root):
        targets = [os.path.realpath(target) for target in targets]
    inside, outside = (f"{target.rstrip('/')}/" for target in targets)
    return inner.protocol == outer.protocol and inside.startswith(outside)


def absolute(url: str) -> str:
    """Return the URL in a form that does not depend on the working folder."""
    return url if _SCHEME.fullmatch(url) else os.path.abspath(url)


def join_path(root: str, relative: str) -> str:
    """Return the path or URL of a file below a root; the root if ``relative`` is empty."""
    if not relative:
        return root
    return f"{root}{relative}" if root.endswith("/") else f"{root}/{relative}"


def spell_root(url: str) -> str:
    """Return a path or URL as messages name it: without secrets, and without a slash at its end."""
    spelled = url if is_local(url) else redact(url)
    return spelled if spelled.endswith("://") else spelled.rstrip("/") or "/"


def parse_options(options: Mapping[str, str]) -> dict[str, object]:
    """Return the options with ``true``, ``false`` and JSON objects or lists parsed."""
    return {name: _parse_value(value) for name, value in options.items()}


def missing_driver(protocol: str, error: Exception) -> str:
    """Return advice on a protocol's missing driver; ``error`` is that of the import."""
    if protocol in _NEEDS:
        return _NEEDS[protocol]
    if protocol in EXTRAS:
        extra = f"'spark-state-inspector[{EXTRAS[protocol]}]'"
        return f"no driver for {protocol}:// is installed, install it with: pip install {extra}"
    package = getattr(error.__cause__, "name", None)
    if package:
        return f"{protocol}:// needs the package {package}, install it with: pip install {package}"
    return f"no driver for {protocol}:// is installed; fsspec says: {error}"


def _parse_value(value: str) -> object:
    """Return a boolean, a parsed JSON object or list, or the text itself."""
    if value.lower() in {"true", "false"}:
        return value.lower() == "true"
    if value[:1] in {"{", "["}:
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _local(path: str) -> Address:
    """Return the address of a local path."""
    return Address("file", os.path.abspath(path))


def _file(tail: str) -> Address:
    """Return the address of a file URL; ``tail`` is what follows its scheme."""
    # file:/x, file:///x and file://localhost/x are one file.
    path = re.sub(r"^//(?:localhost)?(?=/)", "", tail)
    return _local(re.sub(r"^/+", "/", path))


def _azure(tail: str) -> Address:
    """Return the address of a URL for Azure, in Spark's or fsspec's spelling."""
    match = _AZURE_HOST.fullmatch(tail.lstrip("/"))
    if match is None:
        return Address("abfs", f"abfs:{tail}")
    container, account, suffix, path = match.groups()
    # The driver speaks the blob endpoint, of which every account with a "dfs" one has one.
    host = re.sub(r"^dfs\.", "blob.", suffix)
    options = {"account_name": account}
    if host != _AZURE_PUBLIC:
        options["account_host"] = f"{account}.{host}"
    return Address("abfs", f"abfs://{container}{path}", options)


def _dbfs(tail: str) -> Address:
    """Return the address of a DBFS path: its local mount if there is one."""
    path = "/" + tail.lstrip("/")
    # Volumes are mounted at their own name, all else below /dbfs.
    mount, prefix = ("/Volumes", "") if path.startswith("/Volumes/") else ("/dbfs", "/dbfs")
    return _local(prefix + path) if os.path.isdir(mount) else Address("dbfs", f"dbfs:{path}")


def url_of_copies(name: str) -> str:
    """Return the URL of staged files under a name."""
    return f"{STAGED}:/{name}"


def name_of_copies(url: str) -> str:
    """Return the name in a URL of staged files."""
    return url.removeprefix(f"{STAGED}:").strip("/")


def folder_of_copies(url: str) -> str:
    """Return the local folder of a URL of staged files.

    EngineError: another process has these copies.
    """
    name = name_of_copies(url)
    if name not in _folders:
        raise EngineError(
            f"got {url_of_copies(name)} for the files of a task, expected it only where Spark has "
            "laid them down: run the task on the engine that opened the checkpoint"
        )
    return _folders[name]


@contextmanager
def stage_folder(name: str, folder: str) -> Iterator[None]:
    """Let a name of staged files mean a local folder while the block runs."""
    previous = _folders.get(name)
    _folders[name] = folder
    try:
        yield
    finally:
        if previous is None:
            _folders.pop(name, None)
        else:
            _folders[name] = previous


# Functions that make an address from the part of a URL after its scheme, by scheme.
_TRANSLATORS: Mapping[str, Callable[[str], Address]] = {
    **dict.fromkeys(("file", "local"), _file),
    **dict.fromkeys(("s3", "s3a", "s3n"), lambda tail: Address("s3", f"s3:{tail}")),
    **dict.fromkeys(("abfs", "abfss", "wasb", "wasbs"), _azure),
    "dbfs": _dbfs,
    "hdfs": lambda tail: Address("hdfs", f"hdfs:{'' if tail[:2] == '//' else '//'}{tail}"),
    STAGED: lambda tail: _local(folder_of_copies(tail)),
}
