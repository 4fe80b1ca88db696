"""Measure which random faults in the package the plain test suite notices.

    python scripts/mutate.py FOLDER [--count 300] [--seed 1] [--only REGEX] [--seconds 300]

The first run in FOLDER records which tests execute each line (a plain run under coverage, some
minutes; needs pytest-cov). Then each mutant changes one expression at random in a copy of the
repository, and all tests that execute its line run until one fails. A line is printed for each
mutant: ``killed``, ``timeout`` (killed, too), ``survived``, or ``uncovered`` if no test executes
the line. The last line has the counts. FOLDER/results.jsonl keeps the results, so that a further
run continues.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-m", "not spark and not full")
COPIED = (
    "inspector",
    "tests",
    "scripts",
    "fixtures",
    "pyproject.toml",
    "README.md",
    ".pytest_cache",
)

SWAPS: dict[type, Any] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
}
"""Operator -> the operator that a mutant has in its place."""


def mutants_of(tree: ast.Module) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield each expression that can be changed, and its change."""
    hints = {
        id(part) for node in ast.walk(tree) for hint in hints_of(node) for part in ast.walk(hint)
    }
    for node in ast.walk(tree):
        if id(node) in hints or not isinstance(node, ast.expr):
            continue
        changed: ast.expr = deepcopy(node)
        if isinstance(changed, ast.Compare) and type(changed.ops[0]) in SWAPS:
            changed.ops[0] = SWAPS[type(changed.ops[0])]()
        elif isinstance(changed, (ast.BoolOp, ast.BinOp)) and type(changed.op) in SWAPS:
            changed.op = SWAPS[type(changed.op)]()
        elif isinstance(changed, ast.UnaryOp) and isinstance(changed.op, ast.Not):
            changed = changed.operand
        elif isinstance(changed, ast.Constant) and isinstance(changed.value, bool):
            changed.value = not changed.value
        elif isinstance(changed, ast.Constant) and isinstance(changed.value, int):
            changed.value += 1
        elif isinstance(changed, ast.IfExp):
            changed.body, changed.orelse = changed.orelse, changed.body
        else:
            continue
        yield node, changed


def hints_of(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the type hints of a node, which no test can notice."""
    for name in ("annotation", "returns"):
        hint = getattr(node, name, None)
        if hint is not None:
            yield hint


def mutated(source: str, node: ast.expr, changed: ast.expr) -> str:
    """Return a source with one expression changed."""
    lines = source.encode().splitlines(keepends=True)
    start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    end = sum(map(len, lines[: (node.end_lineno or 0) - 1])) + (node.end_col_offset or 0)
    data = source.encode()
    return (data[:start] + f"({ast.unparse(changed)})".encode() + data[end:]).decode()


def record_coverage(copy: Path, database: Path) -> None:
    """Run the plain suite, and record the tests that execute each line."""
    command = (
        *PYTEST,
        "-n",
        str(os.cpu_count()),
        "--cov=inspector",
        "--cov-context=test",
        "--cov-report=",
    )
    environment = {**os.environ, "COVERAGE_FILE": str(database), "PYTHONPATH": str(copy)}
    subprocess.run(command, cwd=copy, env=environment, check=False)


def tests_of_line(database: Path, file: str, line: int) -> list[str]:
    """Return the ids of the tests that execute a line of a file below ``inspector``."""
    query = """
        select context.context, numbits from line_bits
        join file on file.id = line_bits.file_id join context on context.id = line_bits.context_id
        where file.path like ? and context.context != ''
    """
    with sqlite3.connect(database) as connection:
        rows = connection.execute(query, [f"%/{file}"]).fetchall()
    covered = [c for c, bits in rows if line // 8 < len(bits) and bits[line // 8] >> line % 8 & 1]
    return sorted({context.partition("|")[0] for context in covered})


def judge(copy: Path, tests: list[str], seconds: int) -> str:
    """Run tests on a mutant; return ``killed``, ``timeout`` or ``survived``."""
    arguments = copy / "tests.txt"
    arguments.write_text("\n".join(tests), encoding="utf-8")
    command = (*PYTEST, "-x", "-n", str(os.cpu_count() if len(tests) > 50 else 0), f"@{arguments}")
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    with subprocess.Popen(
        command,
        cwd=copy,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        try:
            return "killed" if process.wait(seconds) else "survived"
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return "timeout"


def main() -> None:
    """Make the mutants and print what became of each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", metavar="REGEX", help="files whose path matches")
    parser.add_argument("--seconds", type=int, default=300, help="time limit for each mutant")
    options = parser.parse_args()
    copy, database = options.folder.resolve() / "copy", options.folder.resolve() / "coverage"
    results = options.folder / "results.jsonl"
    if not copy.exists():
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
            elif source.exists():
                shutil.copy(source, copy / name)
        record_coverage(copy, database)
    earlier = results.read_text("utf-8").splitlines() if results.exists() else []
    counts = Counter(json.loads(line)["result"] for line in earlier)
    files = sorted(path for path in (copy / "inspector").rglob("*.py"))
    sources = {path: path.read_text("utf-8") for path in files}
    candidates = [
        (path, node, changed)
        for path, source in sources.items()
        if re.search(options.only, path.relative_to(copy).as_posix())
        for node, changed in mutants_of(ast.parse(source))
    ]
    chosen = random.Random(options.seed).sample(candidates, options.count)
    for path, node, changed in chosen[len(earlier) :]:
        name = path.relative_to(copy).as_posix()
        tests = tests_of_line(database, name, node.lineno)
        path.write_text(mutated(sources[path], node, changed), encoding="utf-8")
        try:
            result = judge(copy, tests, options.seconds) if tests else "uncovered"
        finally:
            path.write_text(sources[path], encoding="utf-8")
        counts[result] += 1
        location = f"{name}:{node.lineno}"
        change = f"{ast.unparse(node)} -> {ast.unparse(changed)}"
        with results.open("a", encoding="utf-8") as out:
            line = {"line": location, "change": change, "tests": len(tests), "result": result}
            out.write(json.dumps(line) + "\n")
        print(f"{result:10} {location} {change[:120]} ({len(tests)} tests)", flush=True)
    print(", ".join(f"{count} {result}" for result, count in counts.most_common()))


if __name__ == "__main__":
    main()
