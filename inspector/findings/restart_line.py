"""Lines of ``preflight``: what a restart depends on, and the rule of Spark about each."""

from __future__ import annotations

from inspector.findings.restart_rules import RestartRule, rule_of
from inspector.light_dataclasses import dataclass

OLDER_SPARK = "older-spark"  # name of the restart rule for what a release does not have


@dataclass(frozen=True)
class Line:
    """One thing that a restart depends on, and what Spark does about it."""

    item: str  # words for what was compared, such as ``recorded confs``
    rule: RestartRule  # restart rule that says what Spark does about it
    old: str | None = None  # value in the checkpoint in production, as text; None if it has none
    new: str | None = None  # value of the changed query, as text; None if it has none
    detail: str = ""  # sentence that is added to those of the rule; "" for none
    operator_id: int | None = None  # operator of the line; None for the whole query
    store_name: str | None = None  # store of the line; None for the whole operator


@dataclass(frozen=True)
class LineMaker:
    """Function object that makes the lines of one release of Spark."""

    release: str  # release of Spark, one of RELEASES, whose rules the lines have

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
        """Return a line on ``item``, with the release's restart rule whose name is ``about``.

        ``old`` and ``new`` are the values of both queries as texts, and ``detail`` is a sentence.
        ``store`` is the operator's number and the name of the store. The rule is ``older-spark`` if
        the release has no rule of that name.
        """
        try:
            rule = rule_of(about, self.release)
        except LookupError:
            rule = rule_of(OLDER_SPARK, self.release)
        return Line(item, rule, old, new, detail, *store)
