"""The rules of the house: who may import whom, what has a test, what lies at the top."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from inspector import analyses
from tests.profiles import sampled

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "inspector"
MODULES = sorted(
    path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py") if path.name != "__init__.py"
)
MOST_LINES = 400

LONGER: dict[str, str] = {
    "findings/catalogue.py": "data: an entry for each finding, to be read one at a time",
}
"""Files that may be longer, each with its reason."""

TESTED_ELSEWHERE = {
    "__main__.py": "tests/cli/test_main.py runs the package",
    "kernel/_apply.py": "tests/kernel/test__changes.py: what is applied is what has changed",
    "kernel/_arguments.py": "the kernel's arguments: tests/kernel/test_loader.py and its like",
    "kernel/_interner.py": "tests/kernel/test_loader.py runs one list over both kernels",
    "decode/_cells.py": "private parts of decode.rows: tests/decode/test_rows.py",
    "decode/_columns.py": "private parts of decode.rows: tests/decode/test_rows.py",
    "decode/_source.py": "private parts of decode.frames and its codecs: tests/decode",
    "decode/_raw_blocks.py": "private part of the codecs: tests/decode/test_lz4block.py",
    "analyses/shared/change_rows.py": "tests/analyses/test_history.py and test_changes.py",
    "analyses/shared/column_docs.py": "tests/test_analyses.py: every column has its meaning",
    "analyses/shared/heap.py": "tests/analyses/test_memory.py and test_timeline.py",
    "analyses/shared/leftover_classes.py": "tests/analyses/test_leftovers.py",
    "analyses/shared/reference.py": "tests/test_analyses.py: the reference of every analysis",
    "analyses/sharing.py": "tests/cli/test_sharing.py",
    "analyses/sizes.py": "tests/cli/test_sizes.py and tests/analyses/shared/test_fields.py",
    "engines/engine.py": "a protocol and a value without behaviour: tests/engines/test_local.py",
    "kernel/_kernel_py.py": "names the functions of the other files: tests/kernel/test_loader.py",
    "kernel/_scan.py": "tests/kernel/test_loader.py runs one list over both kernels",
    "kernel/_spans.py": "tests/kernel/test_loader.py runs one list over both kernels",
    "kernel/layout.py": "names and layouts: tests/kernel/test__changes.py",
    "kernel/programs.py": "words of programs: tests/kernel/test__rows.py and test__order.py",
    "render/page/model.py": "values without behaviour: tests/render/page/test_views.py",
    "providers/common_names.py": "tests/providers/test_registry.py and test_side_checks.py",
    "providers/shared_files.py": "values: tests/providers/rocksdb/test_usage.py",
    "providers/provider.py": "what a provider has to answer: tests/providers/test_registry.py",
    "providers/hdfs/names.py": "tests/providers/test_registry.py: names as all providers know them",
    "providers/hdfs/provider.py": "tests/providers/test_registry.py",
    "providers/hdfs/reader.py": "tests/passes/test_store_reader.py reads by it",
}
"""Modules without a test file of their own, each with the place of its tests."""

OF_NO_MODULE = {
    "spark/test_claims.py": "what findings say that Spark does, held against a Spark",
    "test_architecture.py": "the rules of the house",
    "test_collection.py": "every test file is run, and by whom",
    "test_fixtures.py": "the fixtures, and all layers together on them",
    "test_pairs.py": "the same query on both providers: the same facts, findings and leftovers",
    "test_rocksdb_fixtures.py": "the fixtures of RocksDB agree with themselves",
    "analyses/test_first_screen.py": "what an audit says first of every trouble and healthy twin",
    "cli/test_limits.py": "hostile files by the command line, in a process of bounded memory",
    "test_forms.py": "every form of every report: the same numbers, by the published schema",
    "test_spark.py": "all layers together against a real Spark",
    "test_cluster.py": "the command line on executors that are elsewhere, and over Spark Connect",
    "test_browser.py": "pages in a Chromium, of checkpoints and of hostile ones",
    "test_executed_notebook.py": "open_checkpoint in a notebook that Jupyter's own client executes",
    "test_bench.py": "scripts/bench.py still runs",
    "test_workloads.py": "scripts/make_workloads.py: the calls account for what Spark stored",
    "typing/test_public_api.py": "the public API as its users write it, for mypy and for pytest",
    "findings/test_every_id.py": "every finding on a checkpoint that is ill with it",
    "cli/test_named_keys.py": "one way to name a key, on every command that takes one",
    "fuzz/test_targets.py": "what the fuzzers begin with; no file of the kernel is left out",
    "kernel/test_arguments.py": "arguments of the wrong kind, for every function of both kernels",
    "cli/test_schemas.py": "options about schemas, on every command that decodes",
    "analyses/test_troubles.py": "the troubles of the fixtures, by their names",
    "spark/test_watch.py": "watch beside a query that runs on a real Spark",
    "spark/test_key_order.py": "the order of keys against that of Spark itself",
    "test_old_layouts.py": "what no Spark of today can write, from end to end",
    "test_gcs.py": "Google Cloud Storage on loopback, from end to end",
    "test_s3.py": "S3 on loopback, from end to end",
    "test_object_stores.py": "requests and reports on object stores, from end to end",
    "test_damage.py": "damages under true checksums, from end to end",
    "test_byte_damage.py": "tests/byte_damage.py: damages of bytes and files",
    "test_injection.py": "tests/injection.py: every damage is seen, or no byte could tell",
    "test_limits.py": "what hostile files cost, from end to end",
}
"""Test files that stand for no single module, each with what it is for."""

ONLY_IMPORTERS = {
    "fsspec": {"checkpoint/drivers.py"},
    "click": {"cli/"},
    "pyspark": {"engines/spark.py", "engines/session.py", "engines/hadoop.py", "spark/"},
    "rich": {"render/display.py", "render/fitting.py", "cli/"},
    "jinja2": {"render/"},
}
"""Library -> files or folders of the package that may import it."""


# --- layers ----------------------------------------------------------------------------------


def contracts() -> list[str]:
    """The ids of the contracts, in order."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    after = text.split("[[tool.importlinter.contracts]]")[1:]
    return [match[1] for part in after if (match := re.search(r'^id = "(.+)"$', part, re.M))]


def lint(root: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run import-linter on the package in a folder."""
    program = "from importlinter.cli import lint_imports_command as run; run()"
    return subprocess.run(
        [sys.executable, "-c", program, "--no-cache", *options],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_contracts_hold() -> None:
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout
    assert f"Contracts: {len(contracts())} kept, 0 broken." in done.stdout


PLANTED = {
    "layers": [
        ("exceptions", "inspector.model"),
        ("model", "inspector.schemas"),
        ("checkpoint.names", "inspector.decode.frames"),
        ("decode.frames", "inspector.checkpoint.storage"),
        ("state.compare", "inspector.facts.sizes"),
        ("providers.chain", "inspector.operators.rule"),
        ("docs", "inspector.findings.catalogue"),
        ("findings.finding", "inspector.render.report"),
        ("api", "inspector.cli.main"),
    ],
    "state-files": [
        ("discovery.plan", "inspector.providers.hdfs.names"),
        ("passes.store_reader", "inspector.providers.hdfs"),
        ("analyses.files", "inspector.providers.rocksdb.names"),
    ],
    "fsspec": [("decode.frames", "fsspec"), ("cli.main", "fsspec"), ("passes.run", "fsspec")],
}
"""Contract -> imports that break it: module, and what it must not import."""


def test_every_contract_has_its_violation() -> None:
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
def test_a_forbidden_import_is_caught(
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
def imports_of(path: Path) -> frozenset[str]:
    """What a module imports, at its top or inside a function."""
    return frozenset(_imports_of(path))


def _imports_of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            yield node.module or ""


@pytest.mark.parametrize("library", ONLY_IMPORTERS)
def test_a_library_has_few_importers(library: str) -> None:
    importers = {
        path.as_posix()
        for path in (p.relative_to(PACKAGE) for p in PACKAGE.rglob("*.py"))
        if any(name.split(".")[0] == library for name in imports_of(PACKAGE / path))
    }
    allowed = ONLY_IMPORTERS[library]
    strangers = {i for i in importers if i not in allowed and f"{i.split('/')[0]}/" not in allowed}
    assert strangers == set()
    if library != "pyspark":
        assert importers, f"nobody imports {library}: drop its rule"


STATE_FILE = re.compile(r"(?<!\.is)\.(delta|snapshot|changelog|sst|crc)\b|\bSSTs\b")
"""What only a provider may know: how state files, and checksum files beside them, are named."""


CATALOGUE = "findings/catalogue.py"
"""Its texts are documentation."""


def spelled_in(source: str) -> list[str]:
    """The texts of a module that name a state file; what is documentation may."""
    tree = ast.parse(source)
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose
    ]
    return [text for text in texts if STATE_FILE.search(text)]


def test_only_providers_spell_the_names_of_state_files() -> None:
    found = {
        path.as_posix(): spelled_in((PACKAGE / path).read_text("utf-8"))
        for path in MODULES
        if path.parts[0] != "providers" and path.as_posix() != CATALOGUE
    }
    assert {path: texts for path, texts in found.items() if texts} == {}


def test_a_spelled_name_is_caught() -> None:
    assert spelled_in('"""Reads 7.delta."""\nx = f"{version}.delta"') == [".delta"]
    assert spelled_in('if name in {"SSTs", "logs"}: pass') == ["SSTs"]


# --- files and their tests -------------------------------------------------------------------


def test_every_module_has_its_test_file() -> None:
    missing = [
        f"inspector/{module.as_posix()} -> {_test_of(module)}"
        for module in MODULES
        if module.as_posix() not in TESTED_ELSEWHERE and not (ROOT / _test_of(module)).is_file()
    ]
    assert missing == []


def _test_of(module: Path) -> str:
    return (Path("tests") / module.parent / f"test_{module.name}").as_posix()


def test_no_exception_outlives_its_module() -> None:
    names = {module.as_posix() for module in MODULES}
    assert set(TESTED_ELSEWHERE) - names == set()
    assert set(LONGER) - names == set()
    for module in TESTED_ELSEWHERE:
        assert not (ROOT / _test_of(Path(module))).is_file()


def test_every_test_file_has_its_module() -> None:
    packages = {path.relative_to(PACKAGE).parent for path in PACKAGE.rglob("__init__.py")}
    orphans = [
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "tests").rglob("test_*.py")
        if path.relative_to(ROOT / "tests").as_posix() not in OF_NO_MODULE
        and not (PACKAGE / _module_of(path)).is_file()
        and _module_of(path).with_suffix("") not in packages
        and not _is_of_a_command(path)
    ]
    assert orphans == []


def _is_of_a_command(test: Path) -> bool:
    """Commands have no module in cli: they are made from the analyses."""
    return test.parent.name == "cli" and _module_of(test).stem in analyses.names()


def _module_of(test: Path) -> Path:
    place = test.relative_to(ROOT / "tests")
    return place.with_name(place.name.removeprefix("test_"))


def test_files_stay_short() -> None:
    counted = {path.as_posix(): len(_lines(PACKAGE / path)) for path in MODULES}
    counted |= {
        f"{init.parent.name}/__init__.py": len(_lines(init))
        for init in PACKAGE.rglob("__init__.py")
    }
    long = {name: n for name, n in counted.items() if n > MOST_LINES and name not in LONGER}
    assert long == {}


def _lines(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines()


def test_every_module_says_what_it_is() -> None:
    for path in PACKAGE.rglob("*.py"):
        assert ast.get_docstring(ast.parse(path.read_text("utf-8"))), path


def test_the_kernel_is_built_from_all_of_its_files() -> None:
    """A header that is not named is in no source distribution, and its change builds nothing."""
    (module,) = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"][
        "ext-modules"
    ]
    for kind, named in (("c", module["sources"]), ("h", module["depends"])):
        found = (PACKAGE / "kernel").glob(f"*.{kind}")
        assert named == sorted(path.relative_to(ROOT).as_posix() for path in found)


# --- the tree --------------------------------------------------------------------------------


def test_the_top_level_is_what_it_should_be() -> None:
    kept = {"pyproject.toml", "README.md", "LICENSE", "inspector", "tests", "fixtures", "scripts"}
    made = {"build", "dist", "__pycache__"}
    seen = {path.name for path in ROOT.iterdir() if not path.name.startswith(".")}
    assert kept <= seen
    assert {name for name in seen - kept - made if not name.endswith(".egg-info")} == set()
