"""The rules of the house: who may import whom, and what lies at the top."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from functools import cache
from glob import glob
from graphlib import CycleError, TopologicalSorter
from importlib.util import find_spec
from pathlib import Path

import grimp
import pytest

from tests.attributes import attributes
from tests.listings import names_in
from tests.profiles import sampled
from tests.toml_files import ROOT, read_pyproject

PACKAGE = ROOT / "inspector"
ONLY_IMPORTERS = {
    "fsspec": ("checkpoint.drivers",),
    "click": ("cli",),
    "pyspark": (
        *("engines.spark", "engines.session", "engines.hadoop"),
        *("engines.spark_tables", "spark"),
    ),
    "rich": ("render.display", "render.fitting", "cli"),
    "jinja2": ("render",),
}
"""Library -> modules or rooms of the package that may import it."""


# --- layers ----------------------------------------------------------------------------------


def contracts() -> list[str]:
    """The ids of the contracts, in order."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    return re.findall(r'^id = "(.+)"$', text.partition("[[tool.importlinter.contracts]]")[2], re.M)


def lint(root: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run import-linter on the package in a folder."""
    program = "from importlinter.cli import lint_imports_command as run; run()"
    return subprocess.run(
        [sys.executable, "-c", program, "--no-cache", *options],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root), "NO_COLOR": "1", "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_import_contracts_hold() -> None:
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout
    assert f"Contracts: {len(contracts())} kept, 0 broken." in done.stdout


PLANTED = [
    ("layers", "exceptions", "inspector.model"),
    ("layers", "model", "inspector.schemas"),
    ("layers", "checkpoint.names", "inspector.encode.frames"),
    ("layers", "decode.frames", "inspector.checkpoint.storage"),
    ("layers", "state.compare", "inspector.facts.size_distributions"),
    ("layers", "providers.chain", "inspector.operators.rule"),
    ("layers", "docs", "inspector.findings.rule"),
    ("layers", "findings.finding", "inspector.render.report"),
    ("layers", "api", "inspector.cli.main"),
    ("state-files", "discovery.plan", "inspector.providers.hdfs"),
    ("state-files", "passes.store_reader", "inspector.providers.hdfs"),
    ("state-files", "analyses.files", "inspector.providers.rocksdb.snapshot"),
    ("fsspec", "decode.frames", "fsspec"),
    ("fsspec", "cli.main", "fsspec"),
    ("fsspec", "passes.worker", "fsspec"),
]
"""Imports that break a contract: the contract, a module, and what the module must not import."""


def test_every_contract_has_violation_example() -> None:
    assert {contract for contract, _, _ in PLANTED} == set(contracts())


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("house")
    shutil.copytree(PACKAGE, folder / "inspector", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


@pytest.mark.parametrize(
    ("contract", "module", "imported"),
    sampled(PLANTED, 8),
)
def test_forbidden_import_breaks_contract(
    copy: Path, contract: str, module: str, imported: str
) -> None:
    spec = find_spec(f"inspector.{module}")
    assert spec is not None
    file = copy / Path(spec.origin or "").relative_to(ROOT)
    original = file.read_text("utf-8")
    file.write_text(f"{original}\nimport {imported}\n", "utf-8")
    try:
        done = lint(copy, "--contract", contract)
    finally:
        file.write_text(original, "utf-8")
    assert done.returncode == 1
    assert "BROKEN" in done.stdout
    assert f"inspector.{module} -> {imported}" in done.stdout


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def import_graph() -> grimp.ImportGraph:
    """Return all imports of the package, also inside of functions and for type checkers alone."""
    return grimp.build_graph(
        "inspector",
        include_external_packages=True,
        exclude_type_checking_imports=False,
        cache_dir=None,
    )


@pytest.mark.parametrize("library", ONLY_IMPORTERS)
def test_library_importers_are_listed(library: str) -> None:
    importers = import_graph().find_modules_that_directly_import(library)
    allowed = "|".join(ONLY_IMPORTERS[library])
    listed = re.compile(rf"inspector\.({allowed})(\..*)?")
    assert {module for module in importers if not listed.fullmatch(module)} == set()
    assert importers, f"nobody imports {library}: drop its rule"


STATE_FILE = re.compile(
    r"(?<!\.is)(?<!\bio)(?<!\bscan)\.(delta|snapshot|changelog|sst|crc)\b|\bSSTs\b"
)
"""What only a provider may know: how state files, and checksum files beside them, are named."""


def spelled_in(tree: ast.Module) -> list[str]:
    """Return the texts of a module that name a state file, except its docstrings."""
    nodes = list(ast.walk(tree))
    prose = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    return [
        node.value
        for node in nodes
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in prose
        and STATE_FILE.search(node.value)
    ]


MAY_SPELL = re.compile(r"providers/|findings/(integrity|lifetime|watermark|cost)/")
"""The providers, and the findings, whose texts are documentation."""


def test_only_providers_and_checkpoint_names_spell_state_files() -> None:
    files = glob("**/*.py", root_dir=PACKAGE, recursive=True)
    others = sorted({*files} - {file for file in files if MAY_SPELL.match(file)})
    spelled = [(file, text) for file in others for text in spelled_in(tree_of(PACKAGE / file))]
    # The checksum files of every provider.
    assert spelled == [("checkpoint/names.py", ".crc")]


def test_spelled_state_file_name_is_found() -> None:
    assert spelled_in(ast.parse('"""Reads 7.delta."""\nx = f"{version}.delta"')) == [".delta"]
    assert spelled_in(ast.parse('if name in {"SSTs", "logs"}: pass')) == ["SSTs"]


# --- circles -------------------------------------------------------------------------------------


LATE = re.compile(r"# noqa: PLC0415(?P<reason> - \w.*)?$")


def test_no_import_cycles() -> None:
    graph = import_graph()
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    TopologicalSorter(imports).prepare()
    with pytest.raises(CycleError):
        TopologicalSorter(imports | {"inspector.model": {"inspector.api"}}).prepare()


def unexplained(source: str) -> list[int]:
    """Lines with a late import that says no reason, nor does a comment or late import above it."""
    lines: list[int] = []
    explained = False
    for number, line in enumerate(source.splitlines(), 1):
        text = line.strip()
        match = LATE.search(text)
        if match is not None:
            explained = explained or match["reason"] is not None
            lines += [] if explained else [number]
        elif not (explained and (not text or text.startswith(("from ", "import ")))):
            explained = text.startswith("#")
    return lines


def test_late_imports_have_reason() -> None:
    files = PACKAGE.rglob("*.py")
    lines = [(file, line) for file in files for line in unexplained(file.read_text("utf-8"))]
    assert lines == []
    assert unexplained("def f():\n    import numpy  # noqa: PLC0415\n") == [2]


# --- files ---------------------------------------------------------------------------------------


def test_every_module_has_docstring() -> None:
    modules = PACKAGE.rglob("*.py")
    assert [path for path in modules if ast.get_docstring(tree_of(path)) is None] == []


MIRRORED = {
    *("__init__.py", "registry.py", "content.py", "reader.py"),  # of providers and others
    *("frames.py", "records.py", "side_sums.py"),  # decoded, and encoded
    "rule.py",  # of expiry, and of findings
}
"""Names of files that stand in several rooms on purpose: each does there what the others do."""


def test_file_names_are_unique() -> None:
    names = Counter(attributes(PACKAGE.rglob("*.py"), "name"))
    assert set(names - Counter(set(names))) == MIRRORED


def test_kernel_build_lists_all_c_files() -> None:
    """A header that is not named is in no source distribution, and its change builds nothing."""
    (module,) = read_pyproject()["tool"]["setuptools"]["ext-modules"]
    assert module["sources"] == sorted(glob("inspector/kernel/*.c", root_dir=ROOT))
    headers = sorted(glob("inspector/kernel/*.h", root_dir=ROOT))
    assert module["depends"] == ["scripts/sdist.py", *headers]


# --- the tree --------------------------------------------------------------------------------


def test_top_level_files_of_repository() -> None:
    names = names_in(ROOT, "[!.]*")
    files = {"pyproject.toml", "README.md", "LICENSE"}
    sources = files | {"inspector", "tests", "fixtures", "scripts"}
    assert sources <= names
    built = "build|dist|__pycache__|.*[.]egg-info"
    assert [name for name in names - sources if not re.fullmatch(built, name)] == []
