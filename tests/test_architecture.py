"""The rules of the house: who may import whom, and what lies at the top."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from tests.profiles import sampled

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "inspector"
ONLY_IMPORTERS = {
    "fsspec": {"checkpoint/drivers.py"},
    "click": {"cli/"},
    "pyspark": {
        *("engines/spark.py", "engines/session.py", "engines/hadoop.py"),
        *("engines/spark_tables.py", "spark/"),
    },
    "rich": {"render/display.py", "render/fitting.py", "cli/"},
    "jinja2": {"render/"},
}
"""Library -> files or folders of the package that may import it."""


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


PLANTED = {
    "layers": [
        ("exceptions", "inspector.model"),
        ("model", "inspector.schemas"),
        ("checkpoint.names", "inspector.encode.frames"),
        ("decode.frames", "inspector.checkpoint.storage"),
        ("state.compare", "inspector.facts.size_distributions"),
        ("providers.chain", "inspector.operators.rule"),
        ("docs", "inspector.findings.rule"),
        ("findings.finding", "inspector.render.report"),
        ("api", "inspector.cli.main"),
    ],
    "state-files": [
        ("discovery.plan", "inspector.providers.hdfs"),
        ("passes.store_reader", "inspector.providers.hdfs"),
        ("analyses.files", "inspector.providers.rocksdb.snapshot"),
    ],
    "fsspec": [("decode.frames", "fsspec"), ("cli.main", "fsspec"), ("passes.worker", "fsspec")],
}
"""Contract -> imports that break it: module, and what it must not import."""


def test_every_contract_has_violation_example() -> None:
    assert set(PLANTED) == set(contracts())


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("house")
    shutil.copytree(PACKAGE, folder / "inspector", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


@pytest.mark.parametrize(
    ("contract", "module", "imported"),
    sampled([(contract, *plant) for contract, plants in PLANTED.items() for plant in plants], 8),
)
def test_forbidden_import_breaks_contract(
    copy: Path, contract: str, module: str, imported: str
) -> None:
    file = copy / "inspector" / f"{module.replace('.', '/')}.py"
    if not file.exists():
        file = file.with_suffix("") / "__init__.py"
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
def imports_of(path: Path) -> frozenset[str]:
    """Return the top-level packages that a module imports, at its top or inside a function."""
    return frozenset(name.partition(".")[0] for name in _imports_of(path))


def _imports_of(path: Path) -> Iterator[str]:
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            yield node.module or ""


@pytest.mark.parametrize("library", ONLY_IMPORTERS)
def test_library_importers_are_listed(library: str) -> None:
    importers = [
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if library in imports_of(path)
    ]
    allowed = tuple(ONLY_IMPORTERS[library])
    assert [path for path in importers if not path.startswith(allowed)] == []
    assert importers, f"nobody imports {library}: drop its rule"


STATE_FILE = re.compile(
    r"(?<!\.is)(?<!\bio)(?<!\bscan)\.(delta|snapshot|changelog|sst|crc)\b|\bSSTs\b"
)
"""What only a provider may know: how state files, and checksum files beside them, are named."""


RULE_FOLDERS = {"integrity", "lifetime", "watermark", "cost"}
"""Folders of findings whose texts are documentation."""


def spelled_in(tree: ast.Module) -> list[str]:
    """The texts of a module that name a state file; what is documentation may."""
    nodes = list(ast.walk(tree))
    prose = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    texts = [
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose
    ]
    return [text for text in texts if STATE_FILE.search(text)]


def test_only_providers_and_checkpoint_names_spell_state_files() -> None:
    spelled = {
        path.as_posix(): spelled_in(tree_of(PACKAGE / path))
        for path in (p.relative_to(PACKAGE) for p in PACKAGE.rglob("*.py"))
        if path.parts[0] != "providers" and not RULE_FOLDERS & {*path.parts}
    }
    names = {path: texts for path, texts in spelled.items() if texts}
    assert names == {"checkpoint/names.py": [".crc"]}  # the checksum files of every provider


def test_spelled_state_file_name_is_found() -> None:
    assert spelled_in(ast.parse('"""Reads 7.delta."""\nx = f"{version}.delta"')) == [".delta"]
    assert spelled_in(ast.parse('if name in {"SSTs", "logs"}: pass')) == ["SSTs"]


# --- circles -------------------------------------------------------------------------------------


LATE = re.compile(r"# noqa: PLC0415(?P<reason> - \w.*)?$")


@cache
def import_graph() -> dict[str, set[str]]:
    """What each module imports: also inside of functions, and for type checkers alone."""
    graph = grimp.build_graph("inspector", exclude_type_checking_imports=False, cache_dir=None)
    return {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}


def test_no_import_cycles() -> None:
    TopologicalSorter(import_graph()).prepare()
    circle = import_graph() | {"inspector.model": {"inspector.api"}}
    with pytest.raises(CycleError):
        TopologicalSorter(circle).prepare()


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
    result = {path: unexplained(path.read_text("utf-8")) for path in PACKAGE.rglob("*.py")}
    assert {path.as_posix(): lines for path, lines in result.items() if lines} == {}
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
    names = Counter(path.name for path in PACKAGE.rglob("*.py"))
    assert {name for name, count in names.items() if count > 1} == MIRRORED


def test_kernel_build_lists_all_c_files() -> None:
    """A header that is not named is in no source distribution, and its change builds nothing."""
    (module,) = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"][
        "ext-modules"
    ]
    kernel = PACKAGE / "kernel"
    sources = sorted(f"inspector/kernel/{path.name}" for path in kernel.glob("*.c"))
    headers = sorted(f"inspector/kernel/{path.name}" for path in kernel.glob("*.h"))
    assert module["sources"] == sources
    assert module["depends"] == ["scripts/sdist.py", *headers]


# --- the tree --------------------------------------------------------------------------------


def test_top_level_files_of_repository() -> None:
    names = {path.name for path in ROOT.iterdir() if not path.name.startswith(".")}
    files = {"pyproject.toml", "README.md", "LICENSE"}
    sources = files | {"inspector", "tests", "fixtures", "scripts"}
    assert sources <= names
    built = "build|dist|__pycache__|.*[.]egg-info"
    assert [name for name in names - sources if not re.fullmatch(built, name)] == []
