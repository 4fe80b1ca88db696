"""What every command does alike: formats, exit codes, nothing written to the checkpoint."""

import json
import re
import shutil
from pathlib import Path

import pytest

from inspector.cli.click_options import FAIL_ON
from inspector.cli.exits import Exit
from inspector.cli.output_files import code_of, write_report
from inspector.findings.cost.ss304_same_values import SameValues
from inspector.findings.finding import Finding, Kind
from inspector.findings.lifetime.ss203_kept_keys import KeptKeys
from inspector.model import Certainty, Problem, Redact
from inspector.render.report import Report
from inspector.render.tabular import Column, Table
from tests.cli.support import COMMANDS, OF_STATE, OUTPUTS, checkpoint_of, run, tree
from tests.profiles import crossed

CASES = ("agg_update", "fmgws_event_ignore", "join_left_outer")
LEAK = "fmgws_event_ignore"


def expected_code(case: str, command: str) -> int:
    """Only the leak has a finding that counts, and only an audit fails by it unless asked to."""
    return 1 if (case, command) == (LEAK, "audit") else 0


@pytest.mark.parametrize(("case", "command"), crossed(CASES, COMMANDS))
def test_json_ndjson_and_csv_have_equal_rows(case: str, command: str) -> None:
    path = checkpoint_of(case)
    outcomes = {o: run(command, path, "-o", o) for o in ("json", "ndjson", "csv")}
    assert {o.code for o in outcomes.values()} == {expected_code(case, command)}
    envelope = outcomes["json"].json
    assert (envelope["schema_version"], envelope["command"]) == (2, command)
    assert envelope["checkpoint"] == str(path)
    assert (envelope["problems"], envelope["complete"]) == ([], True)
    rows = outcomes["json"].rows
    if command == "audit":  # its lines may be of several checkpoints, an envelope is of one
        rows = [{"checkpoint": str(path)} | row for row in rows]
    assert outcomes["ndjson"].ndjson == rows
    assert len(outcomes["csv"].csv) == len(rows)
    names = [column["name"] for column in envelope["columns"][envelope["table"]]]
    for row in rows:
        assert [name for name in row if name in names] == names
    for row, line in zip(rows, outcomes["csv"].csv, strict=True):
        assert list(row) == list(line)
        assert [_csv_word(value) for value in row.values()] == list(line.values())


def _csv_word(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False)
    return str(value).lower() if isinstance(value, bool) else str(value)


@pytest.mark.parametrize(("command", "output"), crossed(COMMANDS, OUTPUTS))
def test_stderr_is_empty_without_problems(command: str, output: str) -> None:
    assert run(command, checkpoint_of(LEAK), "-o", output).err == ""


@pytest.mark.parametrize(
    ("output", "quiet", "message"),
    [
        *(
            (
                output,
                False,
                "problem: /ck/1.delta: byte 7: message\nnote: no deltas\nnote: say more\n",
            )
            for output in ("ndjson", "csv")
        ),
        ("ndjson", True, "problem: /ck/1.delta: byte 7: message\n"),
        *((output, False, "") for output in ("table", "json", "markdown")),
    ],
)
def test_problems_and_notes_of_ndjson_and_csv_go_to_stderr(
    output: str, quiet: bool, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    table = Table("rows", "rows", (Column("a"),), [{"a": 1}])
    problem = Problem("truncated", "message", "/ck/1.delta", 7)
    fact = Problem("compared", "no deltas")
    report = Report("rows", "/ck", {}, (table,), problems=[problem, fact], notes=("say more",))
    arguments = {"output": output, "output_file": None, "force": False, "quiet": quiet}
    write_report(report, arguments)
    captured = capsys.readouterr()
    assert captured.err == message
    for word in ("message", "say more"):
        assert (word in captured.out) is (message == "")


@pytest.mark.parametrize(("case", "command"), crossed(CASES, COMMANDS))
def test_table_and_markdown_have_a_line_for_every_row(case: str, command: str) -> None:
    path = checkpoint_of(case)
    options = ("--limit", "0") if command in ("rows", "leftovers") else ()
    envelope = run(command, path, "-o", "json", *options).json
    table = run(command, path, *options)
    markdown = run(command, path, "-o", "markdown", *options)
    assert table.code == markdown.code == expected_code(case, command)
    before = "\n\n" if command in ("audit", "verify") else "\\A"
    assert re.search(rf"{before}checkpoint  +{re.escape(str(path))}\n", table.out)
    assert all(line == line.rstrip() for line in table.out.splitlines())
    assert markdown.out.startswith(f"# {command} ")
    if command in ("audit", "verify"):
        heads = [line for line in table.out.splitlines() if line.startswith("SS")]
        assert [head[:5] for head in heads] == [f["id"] for f in envelope["findings"]]
        assert markdown.out.count("**SS") == len(heads)
        return
    # The totals over stores are for people where there are several.
    items = len({row.get("store_name") for row in envelope["rows"]}) > 1
    tables = envelope["tables"].items()
    # Sources whose records nobody counts are not shown to people.
    hidden = {"source_reads"} if items else {"source_reads", "totals"}
    siblings = (rows for name, rows in tables if name not in hidden)
    rows = len(envelope["rows"]) + sum(map(len, siblings))
    blocks = [block.splitlines() for block in table.out.split("\n\n")[1:]]
    tables = [b for b in blocks if len(b) > 2 and b[1].isupper() and b[0] != "findings"]
    assert sum(len(block) - 2 for block in tables) == rows
    drawn = [line for line in markdown.out.splitlines() if line.startswith("| ")]
    assert len(drawn) - len(tables) == rows


@pytest.mark.parametrize(("command", "case"), crossed(COMMANDS, CASES))
def test_commands_do_not_change_the_checkpoint(command: str, case: str, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(checkpoint_of(case), tmp_path / case))
    (copy / "state/0/0/2.delta").write_bytes(b"LZ4Block, but no more of it")
    before = tree(copy)
    assert run(command, copy, "-o", OUTPUTS[CASES.index(case)]).code in (0, 1, 4)
    assert tree(copy) == before


@pytest.mark.parametrize(
    "args",
    [
        ("history", "{}", "--where", "user=user-018"),
        ("diff", "{}"),
        ("export", "rows", "{}", "-O", "out/", "--format", "parquet"),
        ("export", "changes", "{}", "-O", "out/", "--format", "csv"),
        ("leftovers", "{}/state/0/1/6.delta"),
    ],
    ids=" ".join,
)
def test_history_diff_and_export_do_not_change_the_checkpoint(
    args: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = Path(shutil.copytree(checkpoint_of("agg_update"), tmp_path / "ck"))
    monkeypatch.chdir(tmp_path)
    before = tree(copy)
    outcome = run(*(arg.format(copy) for arg in args))
    assert (outcome.code, outcome.err.count("error")) == (0, 0)
    assert tree(copy) == before


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command(command: str) -> None:
    short, long = run(command, "-h"), run(command, "--help")
    assert short == long
    assert short.code == 0
    assert short.out.startswith(f"Usage: inspector {command} [OPTIONS] PATH")
    described = [line for line in short.out.splitlines() if line.startswith("  -")]
    assert len(described) >= 8


@pytest.mark.parametrize("command", OF_STATE)
def test_environment_variables_set_options(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = checkpoint_of("agg_update")
    monkeypatch.setenv(f"INSPECTOR_{command.upper()}_OUTPUT", "json")
    monkeypatch.setenv(f"INSPECTOR_{command.upper()}_BATCH", "4")
    assert run(command, path).json["summary"]["version"] == 5
    assert run(command, path, "--batch", "6").json["summary"]["version"] == 7
    monkeypatch.setenv(f"INSPECTOR_{command.upper()}_BATCH", "four")
    outcome = run(command, path)
    assert outcome.code == Exit.USAGE
    assert "four" in outcome.err


VERSIONS: dict[tuple[str, ...], int] = {(): 10, ("--batch", "6"): 7, ("--state-version", "7"): 7}


@pytest.mark.parametrize(("command", "options"), crossed(OF_STATE, tuple(VERSIONS)))
def test_batch_option_selects_the_version_after_it(command: str, options: tuple[str, ...]) -> None:
    version = VERSIONS[options]
    summary = run(command, checkpoint_of("agg_update"), "-o", "json", *options).json["summary"]
    assert (summary["version"], summary["batch_id"]) == (version, version - 1)
    assert summary["watermark"].startswith("2024-01-01T00:0")


def report(*findings: Kind, problems: tuple[str, ...] = ()) -> Report:
    """A report with findings of some kinds, and problems."""
    result = [Finding(kind, Certainty.PROVEN, "evidence", "step") for kind in findings]
    listed = [Problem(slug, "message") for slug in problems]
    table = Table("empty", "empty", (Column("a"),), [])
    return Report("audit", "/ck", {}, (table,), findings=result, problems=listed)


@pytest.mark.parametrize(
    ("kind", "fails"),
    [
        (KeptKeys.kind, {"info", "warning", "error"}),
        (SameValues.kind, {"info"}),
    ],
)
def test_exit_code_counts_findings_from_the_fail_on_severity(kind: Kind, fails: set[str]) -> None:
    assert {word for word in FAIL_ON if code_of(report(kind), word) is Exit.FINDINGS} == fails
    assert code_of(report(), "info") is Exit.OK


def test_incomplete_exit_code_precedes_findings() -> None:
    assert code_of(report(KeptKeys.kind, problems=("truncated",)), "never") is Exit.INCOMPLETE
    assert code_of(report(KeptKeys.kind, problems=("truncated",)), "info") is Exit.INCOMPLETE


@pytest.mark.parametrize("slug", ["codec-mismatch", "snapshot-differs"])
def test_problems_of_readable_files_are_not_incomplete(slug: str) -> None:
    assert code_of(report(problems=(slug,)), "never") is Exit.OK
    assert code_of(report(problems=(slug, "truncated")), "never") is Exit.INCOMPLETE


@pytest.mark.parametrize("command", ["audit", "rows", "leftovers"])
def test_redact_option_hashes_or_hides_keys(command: str) -> None:
    path = checkpoint_of(LEAK)
    result = {kind: run(command, path, "--redact", kind.value, "-o", "json") for kind in Redact}
    assert "once-000" in result[Redact.NONE].out
    for kind in (Redact.HASH, Redact.ALL):
        assert "once-0" not in result[kind].out
        assert b"once-0".hex() not in result[kind].out
    assert "sha256:" in result[Redact.HASH].out
    assert '"key": "***"' in result[Redact.ALL].out


def test_parquet_output_of_rows_names_export() -> None:
    outcome = run("rows", checkpoint_of("agg_update"), "-o", "parquet")
    assert outcome.code == 2
    assert "inspector export rows PATH -O rows.parquet" in outcome.err
