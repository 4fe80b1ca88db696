"""The findings of all rules, and their page."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from documentation.generated import rule_sections

from inspector import docs
from inspector.analyses import names
from inspector.findings.finding import Finding, Group, Kind, Severity
from inspector.findings.rule import all_kinds, rules
from inspector.model import Certainty
from inspector.operators.inferences import INFERENCES
from tests.attributes import attributes


def test_every_finding_id_is_declared_once() -> None:
    assert len(set(attributes(all_kinds(), "id"))) == len(all_kinds()) == len(rules())


@pytest.mark.parametrize("kind", all_kinds(), ids=lambda kind: kind.id)
def test_finding_kind_has_title_cause_next_step_and_command(kind: Kind) -> None:
    assert re.fullmatch(r"SS[1-4]\d\d", kind.id)
    assert kind.title
    assert kind.spark
    assert not kind.to_do.endswith(".")
    assert kind.certainties
    assert re.fullmatch(r"([A-Z][^.]*\.)?", kind.cause), "one whole sentence, or none"
    assert kind.command in names()


@pytest.mark.parametrize("kind", all_kinds(), ids=lambda kind: kind.id)
def test_first_digit_of_finding_id_is_its_group(kind: Kind) -> None:
    groups = {"1": Group.INTEGRITY, "2": Group.LIFETIME, "3": Group.EFFICIENCY}
    assert kind.group is groups[kind.id[2]]


def test_kinds_with_undecided_findings() -> None:
    undecided = [kind for kind in all_kinds() if Certainty.UNDECIDED in kind.certainties]
    assert attributes(undecided, "id") == ["SS207", "SS210"]


@pytest.mark.parametrize("kind", all_kinds(), ids=lambda kind: kind.id)
def test_undecided_finding_of_any_kind_is_information(kind: Kind) -> None:
    assert Finding(kind, Certainty.UNDECIDED, "", "").severity is Severity.INFO


def test_severities_of_unloadable_state_and_of_efficiency() -> None:
    severities = set(attributes(all_kinds(), "id", "severity"))
    assert severities >= {
        ("SS101", Severity.ERROR),
        ("SS102", Severity.ERROR),
        ("SS104", Severity.ERROR),
        ("SS105", Severity.ERROR),
        ("SS106", Severity.ERROR),
        ("SS109", Severity.ERROR),
    }
    # Only a limit that the user set is worth a warning.
    numbers = Counter(attributes(all_kinds(), "group", "severity"))
    assert numbers[Group.EFFICIENCY, Severity.ERROR] == 0
    assert numbers[Group.EFFICIENCY, Severity.WARNING] == 1
    assert ("SS306", Severity.WARNING) in severities


def test_finding_ids_keep_their_titles() -> None:
    titles = dict(attributes(all_kinds(), "id", "title"))
    assert (
        titles.items()
        >= {
            "SS101": "missing delta",
            "SS102": "file that cannot be read",
            "SS103": "replay too deep",
            "SS104": "snapshot differs from its deltas",
            "SS105": "newest committed version not restorable in every partition",
            "SS106": "rows do not fit their schema",
            "SS108": "files changed during the scan",
            "SS109": "operators or partitions missing or too many",
            "SS114": "folder that is no state store",
            "SS120": "restart that Spark refuses",
            "SS121": "state files of a batch that never ran",
            "SS124": "batch that was planned and has written nothing",
            "SS126": "snapshot that RocksDB's own files contradict",
            "SS201": "rows can never expire",
            "SS202": "expired rows still present",
            "SS203": "timeout fired and key kept",
            "SS204": "no removes while rows grow",
            "SS205": "one join side never removes",
            "SS206": "watermark flat",
            "SS207": "the rule needs a watermark, and there is none yet",
            "SS208": "join rows and counters disagree",
            "SS209": "join on a copy of the event time",
            "SS301": "state format 1 keeps the key twice (SPARK-24763)",
            "SS211": "watermark far from the batch clock",
            "SS302": "partition skew",
            "SS303": "oversized value",
            "SS304": "same-value rewrites",
            "SS305": "empty deltas",
            "SS306": "heap over limit",
            "SS307": "most rows of one key",
            "SS308": "values that grow",
            "SS309": "each event in many rows",
            "SS310": "RocksDB uploads without changelogs",
            "SS311": "temporary files that were left",
            "SS312": "many old versions",
            "SS313": "one wide column",
            "SS314": "one batch far larger than others",
            "SS315": "batches that take longer",
        }.items()
    )


BY_ID = {rule.kind.id: rule for rule in rules()}
SENTENCES = re.compile(r"[`A-Z].*\.")


@pytest.mark.parametrize("kind", all_kinds(), ids=lambda kind: kind.id)
def test_findings_page_describes_each_kind_in_whole_sentences(kind: Kind) -> None:
    paragraphs = docs.entry(kind.id).paragraphs
    assert SENTENCES.fullmatch(paragraphs[""])
    assert SENTENCES.fullmatch(paragraphs["Evidence"])
    assert SENTENCES.fullmatch(paragraphs["Next"])
    assert SENTENCES.fullmatch(paragraphs["Source"])
    source = rule_sections(BY_ID[kind.id])["Source"]
    assert re.search(r"\d\.\d", source), "the versions of Spark for which it holds"


def test_findings_page_names_inferences_that_never_warn() -> None:
    page = docs.read_page("reference/findings")
    names = re.findall(r"information(?: only)? \(inference `([\w-]+)`\)", page)
    assert sorted(names) == ["join-copy", "join-side"]
    assert (INFERENCES["join-copy"].warns, INFERENCES["join-side"].warns) == (False, False)
