"""``inspector explain``: the documentation in the terminal."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from inspector import docs
from inspector.engines.workers import package_zip
from tests.cli.support import checkpoint_of, run


def test_explain_without_a_topic_lists_the_topics() -> None:
    outcome = run("explain", "--wide")
    assert (outcome.code, outcome.out, outcome.err) == (0, docs.contents(), "")


@pytest.mark.parametrize(
    "topic", ["tutorial", "reference/findings", "SS203", "TruncatedError", "codec-mismatch"]
)
def test_topic_is_printed_as_markdown(topic: str) -> None:
    outcome = run("explain", topic, "--wide")
    assert (outcome.code, outcome.out, outcome.err) == (0, docs.lookup(topic), "")


@pytest.mark.parametrize(("columns", "width"), [("", 100), ("60", 60), ("0", None)])
def test_piped_topic_is_wrapped(
    columns: str, width: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    text = docs.lookup("reference/metrics") or ""
    shown = run("explain", "reference/metrics").out
    prose = re.findall("^(?![|# ]).*$", shown, re.M)
    assert max(map(len, prose)) <= (width or 10_000)
    assert re.findall(r"^\|.*$", shown, re.M) == re.findall(r"^\|.*$", text, re.M)
    assert shown.split() == text.split()


@pytest.mark.parametrize(
    ("topic", "title"),
    [
        ("EMR", "# Run on a Spark cluster"),
        ("pandas", "# In a notebook or a program"),
        ("gate", "# A gate in CI"),
        ("heap number", "# The heap model"),
        ("how many executors", "# memory"),
    ],
)
def test_topic_finds_the_page_of_a_word(topic: str, title: str) -> None:
    outcome = run("explain", topic)
    assert outcome.code == 0
    assert outcome.out.startswith(f"{title}\n")


@pytest.mark.parametrize(
    ("slug", "finding"),
    [
        ("missing-delta", "### SS101: "),
        ("missing-version", "### SS105: "),
        ("partition-counts", "### SS109: "),
        ("denied", "### SS116: "),
        ("storage", "### SS117: "),
    ],
)
def test_slug_of_a_problem_finds_its_finding(slug: str, finding: str) -> None:
    assert finding in run("explain", slug).out


def test_unknown_topic_is_a_usage_error_with_suggestions() -> None:
    outcome = run("explain", "TruncatdError")
    assert (outcome.code, outcome.out) == (2, "")
    assert "unknown topic 'TruncatdError'; did you mean TruncatedError" in outcome.err
    assert "unknown topic 'xyzzy'; inspector explain NAME explains" in run("explain", "xyzzy").err


def test_explain_refuses_a_missing_checkpoint_or_text() -> None:
    outcome = run("explain", "state grows", "/no/such/checkpoint")
    assert (outcome.code, outcome.out) == (2, "")
    assert "there is nothing at /no/such/checkpoint" in outcome.err
    message = ["STREAM_FAILED", "while", "reading", "the", "file", "/data/in/part-00.parquet"]
    assert run("explain", *message).code == 0, "a message that ends with a path is a message"
    outcome = run("explain", checkpoint_of("agg_update"))
    assert (outcome.code, outcome.out) == (2, "")
    assert "there is no text; beside a checkpoint say what was seen" in outcome.err
    pasted = "java.io.FileNotFoundException: /checkpoints/orders/state/0/0/2.delta"
    assert run("explain", *pasted.split(" ")).code == 0


def _all_of(terminal: int) -> str:
    """Return the text that was written to a terminal; on Linux its end is an OSError."""
    pieces: list[bytes] = []
    with suppress(OSError):
        while piece := os.read(terminal, 65536):
            pieces.append(piece)
    os.close(terminal)
    return b"".join(pieces).decode()


def test_terminal_shows_a_rendered_topic() -> None:
    parent, child = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "inspector", "explain", "SS203"],
        cwd=Path(__file__).resolve().parents[2],
        env={**os.environ, "COLUMNS": "80", "TERM": "xterm"},
        stdout=child,
        check=True,
    )
    os.close(child)
    result = _all_of(parent)
    assert done.returncode == 0
    assert "timeout fired and key kept" in result
    assert "###" not in result
    assert "**" not in result


def test_topic_is_escaped_in_ascii() -> None:
    outcome = run("explain", "tutorial", encoding="ascii")
    assert outcome.code == 0
    assert "SS203 error \\u00b7 proven" in outcome.out


@pytest.mark.parametrize(
    ("arguments", "code"), [(["info", str(checkpoint_of("agg_update"))], 0), (["explain"], 2)]
)
def test_package_zip_for_workers_has_no_documentation(
    tmp_path: Path, arguments: list[str], code: int
) -> None:
    command = [sys.executable, "-m", "inspector", *arguments]
    path = str(package_zip(tmp_path))
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": path},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert ("has no documentation" in done.stderr) is (code == 2)


@pytest.mark.parametrize(
    "text",
    [
        f"offsets/{'1' * 500_000}a",
        "offsets/1." * 50_000,
        "/state/1/1/1.delta" * 30_000,
        f"There are [{'1' * 5000}] sources in the checkpoint offsets and now there are [2] sources",
    ],
    ids=["number", "numbers", "files", "sources"],
)
def test_explain_answers_hostile_texts(text: str, tmp_path: Path) -> None:
    # An answer takes a second; in quadratic time it would take an hour.
    message = tmp_path / "message.txt"
    message.write_text(f"STREAM_FAILED {text}")
    outcome = run("explain", message, checkpoint_of("agg_update"))
    assert outcome.code == 0
    assert len(outcome.out) < 100_000


def test_columns_of_tables_are_printed_as_a_list() -> None:
    shown = run("explain", "leftovers", "--wide").out
    assert "- `row_bytes`: Key bytes and value bytes of the row.\n" in shown
    assert "- `clock_ms` (epoch-ms): When the key expires" in shown
    assert not re.search(r"^\|", shown, re.M)


def test_bar_in_the_meaning_of_a_column_is_printed_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page = "# x\n\n|column|meaning|\n|---|---|\n|`a` (bytes)|`x\\|y` of it.|\n"
    monkeypatch.setattr(docs, "read_page", lambda _name: page)
    assert docs.lookup("reference/columns") == "# x\n\n- `a` (bytes): `x|y` of it.\n"
