"""Restart rules: each release has one rule with its source for every compared setting."""

from __future__ import annotations

import json
import re
from itertools import chain
from pathlib import Path

import pytest
from documentation.restarts import RECORDS, shown_changes
from restarts.changes import CHANGES, GUIDE

from inspector import docs
from inspector.exceptions import CheckpointError
from inspector.findings.finding import Group
from inspector.findings.restart_rules import (
    RELEASES,
    RULES,
    RestartRule,
    Restarts,
    release_of,
    rule_of,
)
from tests.attributes import attributes

MOST_WORDS = 60  # words of the description and the next step of a rule


def test_restart_rule_ids_are_unique_and_distinct_from_audit_ids() -> None:
    ids = attributes(RULES, "id")
    assert len(set(ids)) == len(ids)
    assert re.findall(r"\bSS[45]\d\d\b", " ".join(ids)) == ids


def test_restart_rules_belong_to_group_restart() -> None:
    assert set(attributes(RULES, "kind.group")) == {Group.RESTART}


@pytest.mark.parametrize("about", sorted(set(attributes(RULES, "about"))))
def test_each_release_has_one_restart_rule_per_subject(about: str) -> None:
    rules = [rule for rule in RULES if rule.about == about]
    bounds = sorted((RELEASES.index(rule.since), RELEASES.index(rule.until) + 1) for rule in rules)
    flat = list(chain.from_iterable(bounds))
    assert flat == sorted(flat), "the rules of a subject overlap"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_restart_rule_is_found_by_subject_and_release(rule: RestartRule) -> None:
    assert rule_of(rule.about, rule.since) is rule
    assert rule_of(rule.about, rule.until) is rule


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_restart_rule_has_source_and_explanation(rule: RestartRule) -> None:
    entry = docs.entry(rule.id)
    assert re.match(r"[A-Z]\w+", entry.paragraphs["Source"])
    assert entry.title
    assert rule.does.endswith(".")
    assert entry.paragraphs.get("Do", "Nothing.").endswith(".")
    assert len(rule.does.split()) + len(rule.to_do.split()) <= MOST_WORDS
    assert bool(rule.error) == (rule.verdict is Restarts.REFUSED)


REFUSALS = [rule for rule in RULES if rule.verdict is Restarts.REFUSED]


@pytest.mark.parametrize("rule", REFUSALS, ids=attributes(REFUSALS, "id"))
def test_restart_refusal_cites_error_of_spark(rule: RestartRule) -> None:
    assert rule.spark.startswith(f"{rule.error} (Spark {rule.releases})")


def test_restart_rules_cite_recorded_changes() -> None:
    sources = "\n".join(docs.entry(rule.id).paragraphs["Source"] for rule in RULES)
    cited = set(re.findall(r"`([^`]+->[^`]+)`", sources))
    assert "one-two->two-one" in cited
    assert cited <= shown_changes()
    text = (RECORDS / f"{RELEASES[-1]}.json").read_text("utf-8")
    assert set(json.loads(text)["changes"]) <= set(attributes(CHANGES, "name"))
    assert set(re.findall(r'"(SS[45]\d\d)"', text)) <= set(attributes(RULES, "id"))


def test_every_line_of_spark_guide_except_kafka_has_recorded_change() -> None:
    recorded = set(attributes(CHANGES, "name"))
    assert recorded >= set(chain.from_iterable(GUIDE.values()))
    assert all("Kafka" in line for line, changes in GUIDE.items() if not changes)


@pytest.mark.parametrize("file", sorted(RECORDS.glob("*.json")), ids=lambda file: file.stem)
def test_restart_verdicts_agree_with_recorded_spark_behaviour(file: Path) -> None:
    record = json.loads(file.read_text("utf-8"))
    assert record["spark"].startswith(file.stem)
    assert "wrong" not in set().union(*record["scores"].values())
    assert len(record["changes"]) >= 60
    for change in record["changes"].values():
        for value in change["on"].values():
            if value["said"] in ("ok", "ignored") and value["did"] != "equal":
                assert change["traceless"]


def test_release_of_version() -> None:
    assert release_of(None) == RELEASES[-1]
    assert release_of("4.1.4") == "4.1"
    with pytest.raises(LookupError):
        rule_of("time-mode", "3.5")


@pytest.mark.parametrize("release", ["4.9", "2.4", "x"])
def test_release_without_rules_is_refused(release: str) -> None:
    with pytest.raises(CheckpointError, match=r"the rules know: 3\.5 to 4\.3"):
        release_of(release)
