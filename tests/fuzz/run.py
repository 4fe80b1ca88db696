"""Run the fuzzers, each for so many seconds, and say what they did.

    python -m tests.fuzz.run [--seconds 600] [--seed N] [--only NAME ...] [--kept FOLDER]
                             [--write-seeds]

The kernel's C files are fuzzed by libFuzzer (``clang`` and its runtime, on Debian ``clang`` and
``libclang-rt-dev``) under the address and undefined-behaviour sanitizers, the Python decoders by
Atheris (the extra ``fuzz``). Inputs that reach something new are kept in a folder, from which a
later run goes on. The exit code is 1 if anything was found; the input lies in that folder then.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tests.attributes import attributes
from tests.checkpoint_files import contents_below
from tests.fuzz.targets import SEEDS, TARGETS, seeds_of

ROOT = Path(__file__).resolve().parents[2]
HARNESSES = Path(__file__).parent / "kernel"
OF_KERNEL = sorted({*attributes(HARNESSES.glob("*.c"), "stem")} - {"no_python"})
OF_PYTHON = sorted(TARGETS)

LONGEST_INPUT = 3000
"""Bytes; what is read is told apart by its first few hundred."""

SLOWEST_S = 60
"""Seconds that one input may take, on a machine that does other things too."""

ROUND_S = 60
"""Seconds of one process under Atheris, whose instrumentation keeps some 10 KB for each input of a
target that works with arrays; the next one goes on from what this one kept."""

MOST_MB = 2000
MOST_SEED_BYTES = 4000
"""Of the inputs of one target that are kept in the tree."""

SANITIZERS = (
    *("-g", "-O1", "-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=undefined"),
    "-D__SANITIZE_ADDRESS__",  # GCC's word, by which the kernel allocates so that they see it
)
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wno-unused-function")


@dataclass(frozen=True)
class Result:
    """What a fuzzer did.

    Attributes:
        executions: inputs that were tried. coverage: edges of the program that they reached.
        failed: whether it ended by a fault; ``said`` tells which.
    """

    name: str
    executions: int
    coverage: int
    failed: bool
    said: str

    @classmethod
    def of(cls, name: str, code: int, message: str) -> Result:
        """From what libFuzzer prints."""
        executions = re.findall(r"number_of_executed_units: (\d+)", message)
        coverage = re.findall(r" cov: (\d+) ", message)
        return cls(name, _last(executions), _last(coverage), code != 0, message)


def _last(numbers: Sequence[str]) -> int:
    return int(numbers[-1]) if numbers else 0


def build(name: str, folder: Path) -> Path:
    """Compile the harness of a file of the kernel."""
    target = folder / name
    include = sysconfig.get_path("include")
    sources = [str(HARNESSES / f"{name}.c"), str(HARNESSES / "no_python.c")]
    subprocess.run(
        [
            *("clang", *SANITIZERS, *WARNINGS, f"-I{include}", f"-I{ROOT / 'inspector/kernel'}"),
            *(*sources, "-o", str(target)),
        ],
        check=True,
    )
    return target


def command_of(name: str, folder: Path) -> list[str]:
    """How a target is started, but for libFuzzer's own options."""
    if name in OF_KERNEL:
        return [str(build(name, folder))]
    return [sys.executable, "-m", "tests.fuzz.atheris_target", name]


def fuzz(name: str, seconds: int, remaining: Path, folder: Path, start: int = 0) -> Result:
    """Run one target."""
    command = command_of(name, folder)
    longest = seconds if name in OF_KERNEL else ROUND_S
    rounds = [min(longest, seconds - done) for done in range(0, max(seconds, 1), longest)]
    executions = 0
    for length in rounds:
        result = one_round(name, command, length, remaining, start)
        executions += result.executions
        if result.failed:
            break
    return replace(result, executions=executions)


def one_round(name: str, command: list[str], seconds: int, remaining: Path, start: int) -> Result:
    """Run a target by one process."""
    mine = remaining / name
    mine.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds_of(name)):
        (mine / f"seed-{number:03}").write_bytes(seed)
    options = [
        *(f"-max_total_time={seconds}", f"-max_len={LONGEST_INPUT}", f"-timeout={SLOWEST_S}"),
        *(f"-rss_limit_mb={MOST_MB}", "-print_final_stats=1", "-len_control=0"),
        f"-artifact_prefix={remaining}/{name}-",
        *([f"-seed={start}"] if name in OF_KERNEL else []),  # Atheris has one of its own
    ]
    done = subprocess.run(
        [*command, *options, str(mine)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    return Result.of(name, done.returncode, done.stdout)


def write_seeds(name: str, remaining: Path, folder: Path) -> None:
    """Keep in the tree the smallest inputs that together reach what all of them reach."""
    with tempfile.TemporaryDirectory() as sample:
        options = [
            "-set_cover_merge=1",
            f"-max_len={LONGEST_INPUT // 10}",
            sample,
            str(remaining / name),
        ]
        subprocess.run(
            [*command_of(name, folder), *options], cwd=ROOT, check=True, capture_output=True
        )
        result = sorted(contents_below(Path(sample)).values(), key=len)
    lines = "".join(f"{data.hex()}\n" for data in _within(result, MOST_SEED_BYTES))
    (SEEDS / f"{name}.hex").write_text(lines, "ascii")


def _within(result: Sequence[bytes], maximum: int) -> Iterator[bytes]:
    for data in result:
        maximum -= len(data)
        if maximum < 0:
            return
        yield data


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=int, default=600, help="for each target")
    parser.add_argument(
        "--seed", type=int, default=0, help="of what is tried; 0 for another each time"
    )
    parser.add_argument("--only", nargs="+", choices=[*OF_KERNEL, *OF_PYTHON], metavar="NAME")
    parser.add_argument("--kept", type=Path, help="folder of the inputs; a temporary one if none")
    parser.add_argument("--write-seeds", action="store_true", help="renew those in the tree")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    """Run the targets; 1 if one of them found a fault."""
    actual = parsed(arguments)
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        remaining = actual.kept or Path(folder) / "kept"
        for name in actual.only or [*OF_KERNEL, *OF_PYTHON]:
            result = fuzz(name, actual.seconds, remaining.resolve(), Path(folder), actual.seed)
            failed |= result.failed
            end = "FAULT" if result.failed else "ok"
            message = f"{result.executions:9,} inputs, {result.coverage:5} edges reached, {end}\n"
            sys.stdout.write(f"{name:13} {message}{result.said[-4000:] if result.failed else ''}")
            sys.stdout.flush()
            if actual.write_seeds and not result.failed:
                write_seeds(name, remaining.resolve(), Path(folder))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
