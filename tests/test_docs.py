"""The documentation: what it says is so, and every topic is found."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from documentation.blocks import BLOCK, refreshed
from documentation.commands import command_pages
from documentation.report_schema import PAGE, report_schema
from refresh_docs import LOG_OF_RESTARTS, printed

from inspector import analyses, api, docs
from inspector.cli.exits import Exit
from inspector.cli.main import EXPLAIN, inspector
from inspector.facts.expired import LeftoverClass
from inspector.findings.finding import Kind
from inspector.findings.rule import all_kinds
from inspector.operators.inferences import INFERENCES
from inspector.render.first_screen import _TOP
from tests.attributes import attributes
from tests.cli.support import run, spellings
from tests.operators.test_premises import PREMISES
from tests.spark_errors import WITH_STATE_ERRORS, error_messages
from tests.toml_files import ROOT, parse_toml

FOLDER = ROOT / "inspector" / "docs"
CONTRIBUTING = ROOT / "scripts" / "CONTRIBUTING.md"
PAGE_FILES = sorted(FOLDER.rglob("*.md"))
FILES = [ROOT / "README.md", CONTRIBUTING, *PAGE_FILES]
MOST_LINES = 300
MOST_WORDS = 1_500  # of one page; scripts/check_english.py limits all pages together
LISTS = {"findings", "restart-rules", "commands"}
"""Generated pages that list all entries of a kind."""

COMMANDS = inspector.list_commands(click.Context(inspector))
TOPICS = [name.rpartition("/")[2] for name in docs.PAGES]
KIND_IDS = attributes(all_kinds(), "id")

page = pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)


# --- the pages -------------------------------------------------------------------------------


def test_every_page_is_in_reading_order() -> None:
    result = {path.relative_to(FOLDER).with_suffix("").as_posix() for path in PAGE_FILES}
    assert result == set(docs.PAGES)
    assert len(set(TOPICS)) == len(docs.PAGES)


@page
def test_pages_are_short_and_begin_with_title(file: Path) -> None:
    lines = file.read_text("utf-8").splitlines()
    assert lines[0].startswith("# ")
    assert len(lines) <= MOST_LINES or file.stem in LISTS


@pytest.mark.parametrize("file", PAGE_FILES, ids=lambda file: file.stem)
def test_documentation_pages_have_few_words(file: Path) -> None:
    assert len(file.read_text("utf-8").split()) <= MOST_WORDS or file.stem in LISTS


@page
def test_generated_blocks_are_current(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    text = file.read_text("utf-8")
    assert refreshed(text, printed) == text, "python scripts/refresh_docs.py"


def test_restart_records_are_current() -> None:
    text = LOG_OF_RESTARTS.read_text("utf-8")
    assert refreshed(text, printed) == text, "python scripts/refresh_docs.py"


@pytest.mark.parametrize(
    ("file", "names"),
    [
        ("README.md", ["audit"]),
        ("inspector/docs/tutorial.md", ["audit", "explain-key"]),
        ("inspector/docs/reference/findings.md", ["findings", "thresholds"]),
        ("inspector/docs/reference/commands.md", ["commands", "shared-options"]),
        ("inspector/docs/reference/errors.md", ["errors"]),
        ("inspector/docs/reference/metrics.md", ["metrics"]),
        ("inspector/docs/explanation/inferences.md", ["inferences"]),
        ("scripts/CONTRIBUTING.md", ["layers"]),
    ],
)
def test_page_has_generated_parts(file: str, names: list[str]) -> None:
    assert [block[1] for block in BLOCK.findall((ROOT / file).read_text("utf-8"))] == names


def test_command_pages_are_current() -> None:
    folder = FOLDER / "reference" / "commands"
    written = {f"reference/commands/{f.stem}": f.read_text("utf-8") for f in folder.iterdir()}
    assert written == command_pages(printed), "python scripts/refresh_docs.py"


def test_report_schema_is_current() -> None:
    assert docs.data(PAGE) == report_schema(), "python scripts/refresh_docs.py"


def options_of(command: str) -> set[str]:
    return spellings(command_named(command))


def command_named(name: str) -> click.Command:
    command = inspector.get_command(click.Context(inspector), name)
    assert command is not None, name
    return command


@pytest.mark.parametrize("command", sorted(set(COMMANDS) - {EXPLAIN}))
def test_command_page_has_all_options(command: str) -> None:
    text = docs.read_page(f"reference/commands/{command}") + docs.read_page("reference/commands")
    listed = " ".join(re.findall(r"^- (`-[^`]*`)", text, re.M))
    long_options = set(re.findall(r"--[\w-]+", " ".join(options_of(command))))
    assert long_options <= set(re.findall(r"(?:`|, )(--[\w-]+)[ `]", listed))


@pytest.mark.parametrize(
    "text", ["<!-- a -->\ntext\n<!-- /a -->", "<!-- a -->\n```text\n$ ls\n<!-- /a -->"]
)
def test_unknown_generated_block_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="block 'a'"):
        refreshed(text, lambda _: "")


def blocks(language: str) -> Iterator[tuple[str, str]]:
    for file in FILES:
        for block in re.findall(rf"```{language}\n(.*?)```", file.read_text("utf-8"), re.DOTALL):
            yield file.stem, block


def shell_lines() -> str:
    """Return the lines of all shell blocks, and each inline code as a line."""
    text = "\n".join(file.read_text("utf-8") for file in FILES)
    inline = re.findall(r"(?<!`)`(inspector [^`]+)`(?!`)", text)
    continued = re.compile(r"(?<=\S)\s*\n\s*")
    shell = "\n".join(re.findall(r"```bash\n(.*?)```", text, re.DOTALL)).replace("\\\n", " ")
    return "\n".join((shell, *(continued.sub(" ", code) for code in inline)))


INVOCATION = re.compile(
    r"^(?:[^#\n]*? )?inspector(?:/__main__\.py)? (?!COMMAND)(.+?)(?= \|| >| #|$)", re.M
)
SHOWN = sorted(set(INVOCATION.findall(shell_lines())))
"""Command lines on the pages, without the program and without a pipe."""

IS_COMPLETE = re.compile(r"(?!.* --help)(?!.* \.\.\.( |$))[a-z-]+ (.* )?[^-].*")
"""A command with an argument. The others only name a command, or elide something."""


def test_pages_show_commands() -> None:
    assert len(SHOWN) > 120


@pytest.mark.parametrize("line", SHOWN)
def test_shown_command_exists_with_options(line: str) -> None:
    words = shlex.split(line)
    used = set(re.findall(r"^--?[a-zA-Z][\w-]*", "\n".join(words), re.M))
    if words[0].startswith("-"):  # of the program, which has no command here
        assert used <= spellings(inspector)
    else:
        assert used <= options_of(words[0]) | {"--help"}


@pytest.mark.parametrize("line", [line for line in SHOWN if IS_COMPLETE.fullmatch(line)])
def test_shown_command_accepts_its_values(line: str) -> None:
    """Click accepts all arguments, and each choice is one of the declared choices."""
    name, *words = shlex.split(re.sub(r"(?<= )N\b", "1", line))
    command_named(name).make_context(name, words)


@pytest.mark.parametrize("line", sorted({_TOP[1], *attributes(all_kinds(), "command")}))
def test_commands_in_messages_accept_their_values(line: str) -> None:
    name, *words = shlex.split(line)
    command_named(name).make_context(name, [*words, "PATH"])


WORD = r"(?: (?:PATH|NEW|LOG|N|--[a-z-]+[a-z](?:[ =](?!PATH|--)[^\s,;:.)`'\"]+)?))"
IN_TEXT = re.compile(rf"\binspector ((?:{'|'.join(COMMANDS)}){WORD}+)")
"""A command of the tool in a sentence, with its arguments."""


def commands_of_texts() -> Iterator[tuple[str, str]]:
    """Each command with arguments in a text of the package: (module, words behind its name)."""
    for file in sorted((ROOT / "inspector").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = re.sub(r"\{\w+\}", "1", " ".join(node.value.split()))
                yield from ((file.stem, words) for words in IN_TEXT.findall(text))


def test_commands_in_package_texts_accept_their_values() -> None:
    shown = list(commands_of_texts())
    assert {words.split()[0] for _, words in shown} >= {"copy", "top", "timeline", "explain"}
    for stem, text in shown:
        name, *words = shlex.split(re.sub(r"\bN\b", "1", text))
        if not words[0].isupper():
            words = ["PATH", *words]
        try:
            command_named(name).make_context(name, words)
        except click.ClickException as error:
            pytest.fail(f"{stem}: inspector {text}: {error.format_message()}")


@pytest.mark.parametrize(("stem", "block"), list(blocks("python")))
def test_python_block_compiles(stem: str, block: str) -> None:
    compile(block, stem, "exec", ast.PyCF_ONLY_AST)


@pytest.mark.parametrize("name", analyses.names())
def test_api_call_on_command_page_is_valid(name: str) -> None:
    text = docs.read_page(f"reference/commands/{name}")
    match = re.search(r"In Python: \[`(api\..+)`\]", text)
    assert match is not None
    options = re.findall(r"api\.Options\((\w+)=(\d+|\(.*?,\))\)", match[1])
    assert len(options) == match[1].count("api.Options")
    given = {option: ast.literal_eval(value) for option, value in options}
    analyses.load(name).accept(api.Options(**given))


def test_toml_blocks_name_options_of_audit() -> None:
    project, file = (parse_toml(block) for _, block in blocks("toml"))
    options = project["tool"]["inspector"]
    of_audit = options.pop("audit") | file.pop("audit")
    names = {f"--{name}" for name in (*options, *of_audit, *file)}
    assert names <= options_of("audit")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_and_entry(command: str) -> None:
    outcome = run(command, "--help")
    assert (outcome.code, outcome.err) == (0, "")
    assert len(outcome.out.splitlines()[2].split()) >= 3
    assert f"inspector {command} [OPTIONS]" in (docs.lookup(command) or "")


def test_architecture_page_lists_every_room() -> None:
    rooms = set(attributes((ROOT / "inspector").glob("*/__init__.py"), "parent.name"))
    text = CONTRIBUTING.read_text("utf-8")
    assert set(re.findall(r"^\| `(\w+)/`", text, re.M)) == rooms


@pytest.mark.parametrize("code", Exit)
def test_exit_code_page_is_complete(code: Exit) -> None:
    assert f"|`{code.value}` {code.name}|" in docs.read_page("reference/exit-codes")


# --- topics ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", docs.PAGES)
def test_lookup_finds_page_by_name_and_path(name: str) -> None:
    text = docs.lookup(name)
    assert text is not None
    assert docs.lookup(name.rpartition("/")[2].upper()) == text
    assert text.startswith("# ")
    assert "<!--" not in text
    assert ".md)" not in text


@pytest.mark.parametrize(
    "entry",
    [
        *KIND_IDS,
        *attributes(LeftoverClass, "value"),
        *PREMISES,
        *INFERENCES,
        *("TruncatedError", "truncated", "over-limit", "same-value put", "zstd"),
    ],
)
def test_lookup_finds_entry_by_each_name(entry: str) -> None:
    text = docs.lookup(entry)
    assert text is not None
    assert text.startswith("### ")
    assert entry in text.splitlines()[0]
    assert docs.lookup(f" {entry.upper()} ") == text
    assert re.findall("^#+ ", text, re.M) == ["### "]


def test_no_entry_has_name_of_page() -> None:
    entries = re.findall(r"^    - (?!.*`: )(.+)$", docs.contents(), re.M)
    assert set(TOPICS).isdisjoint(re.findall("`([^`]+)`", " ".join(entries)))


def test_lookup_of_spark_word_finds_all_entries() -> None:
    text = docs.lookup("CANNOT_LOAD_STATE_STORE")
    assert text is not None
    assert re.findall(r"^### (SS\d+)", text, re.M) == ["SS104", "SS105", "SS126"]


@pytest.mark.parametrize("kind", all_kinds(), ids=KIND_IDS)
def test_lookup_of_spark_words_of_finding_finds_finding(kind: Kind) -> None:
    assert f"### {kind.id}: " in (docs.lookup(kind.spark) or "")


def test_lookup_finds_spark_error_class() -> None:
    name = "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS"
    text = docs.lookup(f"[{name}]") or ""
    assert re.findall(r"^### ([^\s:]+)", text, re.M) == [f"`{name[24:]}`", "SS101"]
    assert docs.lookup(name[24:].lower()) == text[: text.index("\n### SS101")]
    assert docs.lookup("spark.sql.unheard.of") is None


def test_lookup_of_unknown_subclass_finds_parent_class() -> None:
    above = docs.lookup("CANNOT_LOAD_STATE_STORE") or ""
    newer = docs.lookup("[CANNOT_LOAD_STATE_STORE.OF_A_LATER_SPARK]") or ""
    assert newer.startswith("### `CANNOT_LOAD_STATE_STORE`")
    assert above.startswith(newer)


STATE = re.compile(
    r"CANNOT_LOAD_STATE_STORE|CANNOT_WRITE_STATE_STORE|CANNOT_LOAD_CHECKPOINT_FILE_MANAGER"
    r"|CHECKPOINT_FILE_|STATE_STORE_|STATE_RE|STDS_|STREAMING_CHECKPOINT_|STREAMING_STATEFUL_"
    r"|STREAMING_UNFINISHED_|STREAMING_QUERY_EVOLUTION|STREAM_STREAM_JOIN_|STREAM_FAILED"
    r"|STATEFUL_PROCESSOR_|ILLEGAL_STATE_STORE|CONCURRENT_STREAM_|BATCH_METADATA_"
    r"|TRANSFORM_WITH_STATE_|FLATMAPGROUPSWITHSTATE_"
)
"""How the classes of Spark begin that are about state or checkpoints."""


STATE_CLASSES = [name for name in error_messages() if STATE.match(name)]


def test_installed_spark_has_state_error_classes() -> None:
    assert len(STATE_CLASSES) > 10


@WITH_STATE_ERRORS
@pytest.mark.parametrize("name", STATE_CLASSES)
def test_spark_state_error_class_has_entry(name: str) -> None:
    text = docs.lookup(f"[{name}]") or ""
    assert f"`{name}`" in text or f"`{name.partition('.')[2]}`" in text
    assert "**Next.**" in text


@pytest.mark.parametrize(
    ("message", "headings"),
    [
        (
            "org.apache.spark.SparkException: [STREAM_FAILED] Query [id = 1] "
            "terminated with exception: [CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] An error\noccurred "
            "during loading state. SQLSTATE: 58030",
            ["`CANNOT_LOAD_STATE_STORE.UNCATEGORIZED`", "SS102"],
        ),
        (
            "pyspark.errors: [STREAM_FAILED] Query terminated with exception: java",
            ["`STREAM_FAILED`", "SS120"],
        ),
        (
            "java.lang.IllegalStateException: Error reading delta file /c/state/0/1/3.delta of "
            "HDFSStateStoreProvider[id = (op=0,part=1),dir = /c]:\n /c/3.delta does not exist",
            ["`CANNOT_READ_DELTA_FILE_NOT_EXISTS`"],
        ),
        (
            "java.io.IOException: Error reading snapshot file /c/3.snapshot of X: "
            "value size cannot be -7",
            ["`CANNOT_READ_SNAPSHOT_FILE_KEY_SIZE`"],
        ),
        ("Task failed with the finding SS203 of yesterday", ["SS203"]),
    ],
)
def test_lookup_of_message_finds_error_class(message: str, headings: list[str]) -> None:
    text = docs.lookup(message) or ""
    assert re.findall(r"^### ([^\s:,]+)", text, re.M) == headings


def test_lookup_of_unknown_message_finds_nothing() -> None:
    assert docs.lookup("java.lang.NullPointerException: value must not be null") is None


def test_lookup_of_prefix_lists_error_classes() -> None:
    listed = docs.lookup("state_store_...") or ""
    names = re.findall(r"^- `(\w+)`: .*\.$", listed, re.M)
    assert len(names) > 30
    assert re.findall(r"^- `(?!STATE_STORE_)(.*?)`", listed, re.M) == []
    assert names == sorted(names)
    assert docs.lookup("NOTHING_BEGINS_SO...") is None


def test_links_become_topics() -> None:
    text = docs.lookup("certainty") or ""
    assert "how judgements are made (topic `judgements`)" in text


def test_headings_in_code_blocks_are_ignored() -> None:
    text = docs.read_page("how-to/cluster")
    assert "\n# 1. Installed on every worker" in text
    assert "Installed on every worker" not in docs.contents()


def test_unknown_topic_suggests_similar_topics() -> None:
    assert docs.lookup("SS999") is None
    assert docs.lookup("") is None
    assert docs.near("TruncatdError")[0] == "TruncatedError"
    assert docs.near("tutorials")[0] == "tutorial"
    assert docs.near("xyzzy") == []


def test_contents_list_every_topic() -> None:
    text = docs.contents()
    assert set(TOPICS) <= set(re.findall("- `(.+?)`: ", text))
    assert set(KIND_IDS) <= set(re.findall(r"`(SS\d+)`", text))
