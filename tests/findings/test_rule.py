"""Declaration, documentation and templates of all rules."""

from __future__ import annotations

import re
import sys
from glob import glob
from itertools import chain
from pathlib import Path
from subprocess import run
from typing import Any

import pytest
from documentation.generated import rule_sections

from inspector import docs, findings
from inspector.findings.finding import Severity
from inspector.findings.rule import FOLDERS, Case, Rule, rules, thresholds_by_name
from inspector.findings.wording import UNITS
from inspector.model import Certainty
from tests.attributes import attributes
from tests.fixture_folder import FIXTURES

ROOM = Path(findings.__file__).parent
FILES = glob("*/*.py", root_dir=ROOM)
MOST_CASES, MOST_LINES, MOST_WORDS = 4, 220, 150


def path_of(rule: type[Rule[Any]]) -> Path:
    return Path(sys.modules[rule.__module__].__file__ or "")


def test_every_rule_file_is_named_after_its_rule_id() -> None:
    folders = "|".join(FOLDERS)
    files = re.findall(rf"^(?:{folders})/[^_].*\.py$", "\n".join(FILES), re.M)
    assert len(files) == len(rules())
    assert {ROOM / file for file in files} == {path_of(rule) for rule in rules()}


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.id)
def test_every_rule_has_a_test_file(rule: type[Rule[Any]]) -> None:
    path = path_of(rule)
    assert path.name.startswith(f"{rule.id.lower()}_")
    assert (Path(__file__).parent / path.parent.name / f"test_{path.name}").exists()


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.id)
def test_rule_size_and_documentation_sections(rule: type[Rule[Any]]) -> None:
    assert 0 < len(rule.cases()) <= MOST_CASES
    assert len(path_of(rule).read_text("utf-8").splitlines()) <= MOST_LINES
    sections = rule_sections(rule)
    assert set(sections) == {"What it means", "How it is proven", "Source"}
    assert len(" ".join(sections.values()).split()) <= MOST_WORDS
    assert re.search(r"\d\.\d", sections["Source"]), "the releases of Spark for which it holds"


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.id)
def test_findings_page_lists_thresholds_of_rule(rule: type[Rule[Any]]) -> None:
    text = docs.lookup(rule.id) or ""
    listed = set(re.findall(r"`(\w+)`", text))
    with_default = set(re.findall(r"^\|`(\w+)` \(", docs.read_page("reference/findings"), re.M))
    assert (listed & with_default).issuperset(attributes(rule.thresholds(), "name"))


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.id)
def test_rule_templates_are_sentences_with_known_units(rule: type[Rule[Any]]) -> None:
    cases = attributes(rule.cases().values(), "cause", "evidence", "next_step")
    causes = attributes(rule.cases().values(), "cause")
    assert re.findall(r"^.+\.$", "\n".join(causes), re.M) == causes
    named_units = re.findall(r"\{\w+:(\w*[A-Z]\w*)\}", "\n".join(chain.from_iterable(cases)))
    assert set(named_units) <= set(UNITS)


def test_thresholds_of_equal_name_have_equal_defaults() -> None:
    thresholds = chain.from_iterable(rule.thresholds() for rule in rules())
    declared = attributes(thresholds_by_name().values(), "name", "default")
    assert set(attributes(thresholds, "name", "default")) == set(declared)


def test_rule_case_sets_severity_certainty_and_numbers() -> None:
    case = Case("It is.", "it is", severity=Severity.INFO)
    assert case(3, 8, share=0.5).numbers == {"share": 0.5}
    assert case().severity is Severity.INFO
    assert case(severity=Severity.ERROR).severity is Severity.ERROR
    assert case(certainty=Certainty.INFERRED).certainty is Certainty.INFERRED


def test_info_command_imports_no_rules() -> None:
    root = FIXTURES / "4.3.0" / "agg_update" / "checkpoint"
    code = (
        "import sys; from inspector import api; report = api.info(sys.argv[1]); "
        "''.join(api.render(report)); "
        "print([name for name in sys.modules if name.rpartition('.')[2].startswith('ss')])"
    )
    done = run([sys.executable, "-c", code, str(root)], capture_output=True, text=True, check=True)
    assert "inspector.findings" not in done.stdout
