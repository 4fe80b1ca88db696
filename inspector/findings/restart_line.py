"""A line of ``preflight``: one thing that a restart depends on, and the rule about it."""

from __future__ import annotations

from inspector.findings.restart_rules import RestartRule, rule_of
from inspector.light_dataclasses import dataclass

OLDER_SPARK = "older-spark"  # the rule for what a release does not have


@dataclass(frozen=True)
class Line:
    """One thing that a restart depends on."""

    item: str  # what was compared
    rule: RestartRule  # what Spark does about it
    old: str | None = None  # text of the checkpoint in production; None if it has none
    new: str | None = None  # text of the changed query; None if it has none
    detail: str = ""  # a sentence that the rule does not have; "" for none
    operator_id: int | None = None  # operator of the line; None for the whole query
    store_name: str | None = None  # store of the line; None for the whole operator


@dataclass(frozen=True)
class LineMaker:
    """Factory of the lines of one release."""

    release: str  # one of RELEASES

    def __call__(
        self,
        item: str,
        about: str,
        old: str | None = None,
        new: str | None = None,
        *,
        detail: str = "",
        store: tuple[int | None, str | None] = (None, None),
    ) -> Line:
        """Return the line of the release's rule about ``about``.

        The rule is that of an older Spark if the release does not have what is compared.
        """
        try:
            rule = rule_of(about, self.release)
        except LookupError:
            rule = rule_of(OLDER_SPARK, self.release)
        return Line(item, rule, old, new, detail, *store)
