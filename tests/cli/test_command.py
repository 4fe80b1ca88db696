"""Properties of every command: formats, exit codes, and an unchanged checkpoint."""

import json
import re
import shutil
from pathlib import Path

import pytest

from inspector import api
from inspector.cli.exits import Exit
from inspector.cli.output_files import code_of, write_report
from inspector.exceptions import OutpacedError
from inspector.findings.cost.ss304_same_values import SameValues
from inspector.findings.finding import Finding, Kind
from inspector.findings.lifetime.ss203_kept_keys import KeptKeys
from inspector.model import Certainty, Problem
from inspector.render.report import Report
from inspector.render.tabular import Column, Table
from tests.cli.support import COMMANDS, OF_STATE, OUTPUTS, checkpoint_of, run, tree
from tests.profiles import crossed
from tests.reports import cell_values, finding_ids

CASES = ("agg_update", "fmgws_event_ignore", "join_left_outer")
LEAK = "fmgws_event_ignore"


EXIT_CODES = {(LEAK, "audit"): 1}
"""Exit codes that are not 0, by case and command."""


def csv_word(value: object) -> str:
    """Return a value as a CSV file has it."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@pytest.mark.parametrize(("case", "command"), crossed(CASES, COMMANDS))
def test_json_ndjson_and_csv_have_equal_rows(case: str, command: str) -> None:
    path = checkpoint_of(case)
    document = run(command, path, "-o", "json")
    ndjson, csv = run(command, path, "-o", "ndjson"), run(command, path, "-o", "csv")
    code = EXIT_CODES.get((case, command), 0)
    assert (document.code, ndjson.code, csv.code) == (code, code, code)
    assert (document.err, ndjson.err, csv.err) == ("", "", "")
    envelope = document.json
    assert (envelope["schema_version"], envelope["command"]) == (2, command)
    assert envelope["checkpoint"] == str(path)
    assert (envelope["problems"], envelope["complete"]) == ([], True)
    columns = list(next(iter(ndjson.ndjson), {}))
    names = cell_values(envelope["columns"][envelope["table"]], "name")
    assert sorted({*columns} & {*names}, key=columns.index) in ([], names)
    in_json = list(next(iter(document.rows), {}))
    assert cell_values(ndjson.ndjson, *in_json) == cell_values(document.rows, *in_json)
    assert cell_values(csv.csv, *columns) == [
        tuple(csv_word(word) for word in row.values()) for row in ndjson.ndjson
    ]


PROBLEM = "problem: /ck/1.delta: byte 7: message\n"


NOTES = "note: no deltas\nnote: say more\n"


def report(*kinds: Kind, problems: tuple[str, ...] = ()) -> Report:
    """Return a report with findings of these kinds, and problems."""
    findings = [Finding(kind, Certainty.PROVEN, "evidence", "step") for kind in kinds]
    listed = [Problem(slug, "message") for slug in problems]
    table = Table("empty", "empty", (Column("a"),), [])
    return Report("audit", "/ck", {}, (table,), findings=findings, problems=listed)


@pytest.mark.parametrize(
    ("output", "quiet", "message"),
    [
        ("ndjson", False, PROBLEM + NOTES),
        ("csv", False, PROBLEM + NOTES),
        ("ndjson", True, PROBLEM),
        ("table", False, ""),
        ("json", False, ""),
        ("markdown", False, ""),
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
    assert ("message" in captured.out) is (message == "")
    assert ("say more" in captured.out) is (message == "")


def test_rows_of_a_removed_version_are_printed_but_written_to_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = Table("rows", "rows", (Column("a"),), [{"a": 1}])
    report = Report("rows", "/ck", {}, (table,), problems=[Problem("outpaced", "too slow")])
    options = {"output": "csv", "force": False, "quiet": True}
    with pytest.raises(OutpacedError, match="too slow"):
        write_report(report, {**options, "output_file": str(tmp_path / "rows.csv")})
    assert list(tmp_path.iterdir()) == []
    write_report(report, {**options, "output_file": None})
    assert capsys.readouterr().out.splitlines() == ["a", "1"]


WITH_TABLES = tuple(sorted({*COMMANDS} - {"audit", "verify"}))
"""Commands whose Markdown has tables of rows; the others list findings."""

LIMIT = {"rows": ("--limit", "0"), "leftovers": ("--limit", "0")}


@pytest.mark.parametrize(("case", "command"), crossed(CASES, COMMANDS))
def test_table_and_markdown_have_the_summary_and_findings(case: str, command: str) -> None:
    path = checkpoint_of(case)
    table, markdown = run(command, path), run(command, path, "-o", "markdown")
    assert table.code == markdown.code == EXIT_CODES.get((case, command), 0)
    assert (table.err, markdown.err) == ("", "")
    assert re.search(rf"^checkpoint  +{re.escape(str(path))}$", table.out, re.MULTILINE)
    assert re.search(r" $", table.out, re.MULTILINE) is None
    assert markdown.out.startswith(f"# {command} ")
    findings = finding_ids(getattr(api, command)(str(path)))
    assert re.findall(r"^(SS\d{3}) ", table.out, re.MULTILINE) == findings
    assert re.findall(r"^\*\*(SS\d{3}) ", markdown.out, re.MULTILINE) == findings


@pytest.mark.parametrize(("case", "command"), crossed(CASES, WITH_TABLES))
def test_markdown_has_a_line_for_every_row(case: str, command: str) -> None:
    path = checkpoint_of(case)
    report = getattr(api, command)(str(path))
    counts = [len(list(table.rows)) for table in report.tables if table.shown]
    markdown = run(command, path, "-o", "markdown", *LIMIT.get(command, ())).out
    headers = len(re.findall(r"^\|-", markdown, re.MULTILINE))
    assert len(re.findall(r"^\| ", markdown, re.MULTILINE)) - headers == sum(counts)


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
    assert len(re.findall("^  -", short.out, re.MULTILINE)) >= 8


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


@pytest.mark.parametrize(
    ("kind", "fail_on", "code"),
    [
        (KeptKeys.kind, "info", Exit.FINDINGS),
        (KeptKeys.kind, "warning", Exit.FINDINGS),
        (KeptKeys.kind, "error", Exit.FINDINGS),
        (KeptKeys.kind, "never", Exit.OK),
        (SameValues.kind, "info", Exit.FINDINGS),
        (SameValues.kind, "warning", Exit.OK),
        (SameValues.kind, "error", Exit.OK),
        (SameValues.kind, "never", Exit.OK),
    ],
)
def test_exit_code_counts_findings_from_the_fail_on_severity(
    kind: Kind, fail_on: str, code: Exit
) -> None:
    """SS203 is an error, SS304 is for information."""
    assert code_of(report(kind), fail_on) is code
    assert code_of(report(), fail_on) is Exit.OK


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
    assert "once-000" in run(command, path, "--redact", "none", "-o", "json").out
    hashed = run(command, path, "--redact", "hash", "-o", "json").out
    hidden = run(command, path, "--redact", "all", "-o", "json").out
    assert "once-0" not in hashed + hidden
    assert b"once-0".hex() not in hashed + hidden
    assert "sha256:" in hashed
    assert '"key": "***"' in hidden


def test_parquet_output_of_rows_names_export() -> None:
    outcome = run("rows", checkpoint_of("agg_update"), "-o", "parquet")
    assert outcome.code == 2
    assert "inspector export rows PATH -O rows.parquet" in outcome.err
