"""Restart rules: what Spark does when a query restarts after a change.

The documentation's page ``reference/restart-rules`` has the source, the proof and the advice of
each rule; ``inspector explain SS431`` prints an entry. Where releases differ, there is a rule for
each of them, with the same :attr:`RestartRule.about`.
"""

from __future__ import annotations

import enum
import re
from functools import cached_property

from inspector import docs
from inspector.exceptions import CheckpointError
from inspector.findings.finding import Kind, Severity
from inspector.light_dataclasses import dataclass
from inspector.model import Certainty

# beginning of a rule's entry that is no part of its text: verdict, and releases in brackets
_VERDICT = re.compile(r"^`\w+`(?: \([^)]*\))?: ")
RELEASES = ("3.5", "4.0", "4.1", "4.2", "4.3")  # the releases that the rules know, oldest first


class Restarts(enum.Enum):
    """Result of a restart, from best to worst; the worst line decides a whole comparison."""

    OK = "ok"  # it goes on as it would have without the change
    IGNORED = "ignored"  # Spark keeps what the checkpoint records, whatever the query requires
    OPTION = "option"  # it starts if the session or the query sets an option
    UNKNOWN = "unknown"  # no file decides it
    SILENT = "silent"  # it starts, and its results are wrong
    REFUSED = "refused"  # Spark does not start the query

    @property
    def rank(self) -> int:
        """Position of the result from the best (0) to the worst."""
        return list(Restarts).index(self)


# severity of the finding that a restart rule makes, by the rule's verdict
_SEVERITY = {
    Restarts.OK: Severity.INFO,
    Restarts.IGNORED: Severity.INFO,
    Restarts.OPTION: Severity.WARNING,
    Restarts.UNKNOWN: Severity.WARNING,
    Restarts.SILENT: Severity.ERROR,
    Restarts.REFUSED: Severity.ERROR,
}


@dataclass(frozen=True)
class RestartRule:
    """Behaviour of some releases of Spark after one kind of change."""

    id: str  # ``SS4nn`` or ``SS5nn``; never changes its meaning
    about: str  # name, such as ``key-renamed``; the rules of several releases share it
    verdict: Restarts  # result of the restart
    since: str = RELEASES[0]  # first of RELEASES that behaves so
    until: str = RELEASES[-1]  # last of RELEASES that behaves so
    # True if its finding is an information, whatever its verdict: it would apply to every
    # checkpoint, as it says what files never show
    informs: bool = False

    @property
    def _entry(self) -> docs.Entry:
        """Entry of the rule in the documentation page ``reference/restart-rules``."""
        return docs.entry(self.id)

    @property
    def releases(self) -> str:
        """Releases that behave so, such as ``3.5 to 4.3`` or ``4.3``."""
        return self.since if self.since == self.until else f"{self.since} to {self.until}"

    @property
    def heading(self) -> str:
        """Beginning of the rule's entry in the documentation: the verdict, as ``"`refused`: "``.

        The releases follow the verdict in brackets, unless the rule is of all: ``"`refused` (4.2):
        "``.
        """
        is_whole = (self.since, self.until) == (RELEASES[0], RELEASES[-1])
        return f"`{self.verdict.value}`{'' if is_whole else f' ({self.releases})'}: "

    @property
    def error(self) -> str:
        """Spark's error class, or the words of an error without a class; "" without an error."""
        texts = self._entry.paragraphs
        return (texts.get("Spark") or texts.get("Error") or "").rstrip(".").strip("`")

    @property
    def does(self) -> str:
        """Sentences on what Spark does after the change, and on the effect on old and new state."""
        return _VERDICT.sub("", self._entry.paragraphs[""])

    @property
    def to_do(self) -> str:
        """Advice to the user, in lower case and without a full stop, for use within a sentence."""
        text = self._entry.paragraphs.get("Do", "Nothing.")
        return text[0].lower() + text[1:].removesuffix(".")

    @property
    def issues(self) -> str:
        """Numbers of Spark issues in the rule's source, such as ``SPARK-57489``; "" for none."""
        return ", ".join(re.findall(r"SPARK-\d+", self._entry.paragraphs["Source"]))

    @property
    def _source(self) -> str:
        """Name of the Spark class or method from which the rule is known.

        It is the first name under "Source" in the rule's entry of the documentation page
        ``reference/restart-rules``, such as ``OffsetSeqMetadata.setSessionConf``. Issue numbers
        (``SPARK-nnnn``) are skipped.
        """
        names = self._entry.paragraphs["Source"].partition(";")[0].rstrip(".").split(", ")
        return next(name for name in names if not name.startswith("SPARK-"))

    @property
    def spark(self) -> str:
        """Sentences on what Spark does, after its error and the releases if there is an error."""
        return f"{self.error} (Spark {self.releases}). {self.does}" if self.error else self.does

    @cached_property
    def kind(self) -> Kind:
        """Declaration of the finding that the rule makes, with the severity of its verdict.

        The severity is info if ``informs`` is True. The certainty is undecided for the verdict
        unknown.
        """
        return Kind(
            self.id,
            Severity.INFO if self.informs else _SEVERITY[self.verdict],
            self._entry.title,
            self.error or self._source,
            certainties=(
                Certainty.UNDECIDED if self.verdict is Restarts.UNKNOWN else Certainty.PROVEN,
            ),
            to_do=self.to_do,
            cause=self.does.partition(". ")[0].rstrip(".") + ".",
            command="info",
        )


# short names of results, for the table of rules
_OK, _IGNORED, _UNKNOWN = Restarts.OK, Restarts.IGNORED, Restarts.UNKNOWN
_SILENT, _REFUSED, _OPTION = Restarts.SILENT, Restarts.REFUSED, Restarts.OPTION

RULES: tuple[RestartRule, ...] = (
    # Confs
    RestartRule("SS401", "recorded-conf", _IGNORED),
    RestartRule("SS402", "partitions", _IGNORED),
    RestartRule("SS403", "provider", _IGNORED),
    RestartRule("SS404", "assumed-conf", _IGNORED),
    RestartRule("SS405", "free-conf", _OK),
    RestartRule("SS406", "unknown-conf", _UNKNOWN),
    RestartRule("SS407", "same-confs", _OK),
    RestartRule("SS408", "offset-log-format", _IGNORED, since="4.2"),
    RestartRule("SS409", "evolution-on", _REFUSED, since="4.2"),
    # Sources
    RestartRule("SS411", "source-count", _REFUSED),
    RestartRule("SS412", "source-kind", _REFUSED),
    RestartRule("SS413", "sources-swapped", _SILENT),
    RestartRule("SS428", "files-swapped", _REFUSED),
    RestartRule("SS525", "source-log-absent", _REFUSED),
    RestartRule("SS526", "source-log-other", _UNKNOWN),
    RestartRule("SS414", "sources-alike", _UNKNOWN),
    RestartRule("SS415", "sources-same", _OK),
    RestartRule("SS416", "topics", _UNKNOWN),
    RestartRule("SS410", "files-folder", _UNKNOWN),
    RestartRule("SS419", "sources-rehearsed", _OK),
    # Operators
    RestartRule("SS420", "operators-same", _OK),
    RestartRule("SS421", "operators", _REFUSED, since="4.0"),
    RestartRule("SS422", "operators", _UNKNOWN, until="3.5"),
    RestartRule("SS423", "operators-unnamed", _UNKNOWN),
    RestartRule("SS424", "first-operator", _REFUSED, since="4.2"),
    RestartRule("SS425", "first-operator", _REFUSED, until="4.1"),
    RestartRule("SS426", "stores", _UNKNOWN),
    RestartRule("SS427", "other-format", _UNKNOWN),
    # Keys
    RestartRule("SS430", "key-schema", _REFUSED, since="4.0"),
    RestartRule("SS438", "key-schema", _REFUSED, until="3.5"),
    RestartRule("SS431", "key-renamed", _SILENT),
    RestartRule("SS432", "key-order", _SILENT),
    RestartRule("SS433", "key-expression", _UNKNOWN),
    RestartRule("SS436", "key-case", _UNKNOWN),
    RestartRule("SS434", "key-alike", _UNKNOWN),
    RestartRule("SS435", "key-same", _OK),
    # Values
    RestartRule("SS440", "value-schema", _REFUSED, since="4.0"),
    RestartRule("SS449", "value-schema", _REFUSED, until="3.5"),
    RestartRule("SS441", "value-order", _SILENT),
    RestartRule("SS442", "value-replaced", _SILENT),
    RestartRule("SS439", "value-overwritten", _UNKNOWN),
    RestartRule("SS443", "value-alike", _UNKNOWN),
    RestartRule("SS444", "value-buffer", _UNKNOWN),
    RestartRule("SS445", "value-renamed", _UNKNOWN),
    RestartRule("SS446", "nullability", _UNKNOWN, since="4.3"),
    RestartRule("SS447", "value-same", _OK),
    RestartRule("SS448", "schema-check", _UNKNOWN),
    # Event time
    RestartRule("SS450", "watermark-delay", _OK),
    RestartRule("SS451", "watermark-off", _OK),
    RestartRule("SS452", "watermark-on", _OK),
    # transformWithState
    RestartRule("SS460", "time-mode", _REFUSED, since="4.0"),
    RestartRule("SS461", "output-mode", _REFUSED, since="4.0"),
    RestartRule("SS462", "mode-same", _OK, since="4.0"),
    RestartRule("SS463", "variable-kind", _REFUSED, since="4.0"),
    RestartRule("SS464", "variable-added", _UNKNOWN, since="4.0"),
    RestartRule("SS465", "variable-renamed", _SILENT, since="4.0"),
    RestartRule("SS470", "variable-removed", _OK, since="4.0"),
    RestartRule("SS466", "ttl", _REFUSED, since="4.0"),
    RestartRule("SS467", "avro-schema", _REFUSED, since="4.0"),
    RestartRule("SS468", "avro-evolved", _OK, since="4.0"),
    RestartRule("SS469", "avro-renamed", _SILENT, since="4.0"),
    # Logic
    RestartRule("SS495", "logic-unseen", _UNKNOWN, informs=True),
    RestartRule("SS496", "state-same", _OK),
    RestartRule("SS497", "state-other", _SILENT),
    RestartRule("SS498", "state-unclear", _UNKNOWN),
    RestartRule("SS457", "rehearsal-unread", _UNKNOWN),
    RestartRule("SS458", "rehearsal-unfired", _UNKNOWN),
    RestartRule("SS459", "rehearsal-range", _UNKNOWN),
    # The checkpoint itself
    RestartRule("SS480", "restorable", _OK),
    RestartRule("SS481", "not-restorable", _REFUSED),
    RestartRule("SS482", "restorable-unknown", _UNKNOWN),
    RestartRule("SS483", "runs-again", _OK),
    RestartRule("SS484", "metadata-lost", _REFUSED, since="4.2"),
    RestartRule("SS485", "metadata-lost", _OK, until="4.1"),
    RestartRule("SS486", "operator-metadata-lost", _OK),
    RestartRule("SS487", "schema-lost", _UNKNOWN),
    RestartRule("SS488", "source-log-lost", _REFUSED),
    RestartRule("SS489", "schema-paths", _REFUSED, since="4.0"),
    RestartRule("SS471", "schema-paths-elsewhere", _UNKNOWN, since="4.0"),
    RestartRule("SS472", "async-progress", _OPTION),
    RestartRule("SS473", "partition-count-lost", _REFUSED, since="4.2"),
    RestartRule("SS474", "partitions-of-metadata", _IGNORED, since="4.3"),
    RestartRule("SS475", "partitions-of-metadata", _UNKNOWN, since="4.2", until="4.2"),
    RestartRule("SS476", "session-partitions", _OPTION),
    RestartRule("SS477", "session-partitions-off", _REFUSED),
    # Releases
    RestartRule("SS478", "sink-evolution", _OPTION, since="4.2"),
    RestartRule("SS479", "sink-evolution-off", _REFUSED, since="4.2"),
    RestartRule("SS453", "source-evolution", _OPTION, since="4.2"),
    RestartRule("SS490", "checkpoint-format", _REFUSED, since="4.0", until="4.1"),
    RestartRule("SS524", "checkpoint-format", _REFUSED, since="4.2", until="4.2"),
    RestartRule("SS501", "checkpoint-format", _IGNORED, since="4.3"),
    RestartRule("SS502", "checkpoint-format-2", _OPTION, since="4.0", until="4.2"),
    RestartRule("SS499", "snapshot-format", _REFUSED, since="4.1"),
    RestartRule("SS491", "evolution-off", _REFUSED, since="4.3"),
    RestartRule("SS494", "evolution-off", _UNKNOWN, since="4.2", until="4.2"),
    RestartRule("SS417", "source-added", _OK, since="4.2"),
    RestartRule("SS418", "source-removed", _UNKNOWN, since="4.2"),
    RestartRule("SS492", "older-spark", _UNKNOWN),
    RestartRule("SS493", "log-format", _REFUSED),
    RestartRule("SS503", "newer-spark", _OK),
    RestartRule("SS504", "default-kept", _OK),
    RestartRule("SS505", "ansi", _UNKNOWN, since="4.0", informs=True),
    RestartRule("SS506", "scala-state", _UNKNOWN, since="4.0"),
    RestartRule("SS507", "join-format-1", _UNKNOWN),
    RestartRule("SS508", "provider-foreign", _UNKNOWN),
    RestartRule("SS523", "strict-join", _UNKNOWN, since="4.0"),
    RestartRule("SS509", "key-order-silent", _SILENT),
    RestartRule("SS510", "key-order-refused", _REFUSED),
    RestartRule("SS511", "key-order-unknown", _UNKNOWN),
    # Modes
    RestartRule("SS512", "mode-kept", _OK),
    RestartRule("SS513", "async-progress-off", _REFUSED),
    RestartRule("SS514", "async-state", _REFUSED),
    RestartRule("SS515", "async-sinks", _REFUSED, since="4.2"),
    RestartRule("SS516", "async-sink", _UNKNOWN),
    RestartRule("SS517", "real-time-absent", _REFUSED, until="4.0"),
    RestartRule("SS518", "real-time-source", _REFUSED, since="4.1"),
    RestartRule("SS519", "real-time-operator", _REFUSED, since="4.1"),
    RestartRule("SS520", "real-time-format", _REFUSED, since="4.3"),
    RestartRule("SS521", "real-time-conf", _REFUSED, since="4.3"),
    RestartRule("SS522", "real-time-unknown", _UNKNOWN, since="4.1"),
)
"""All restart rules, by subject. An id never changes its meaning."""


def rule_of(about: str, release: str) -> RestartRule:
    """Return the rule with the name ``about`` that is for ``release``, one of RELEASES.

    Raises LookupError if the release has no such rule.
    """
    place = RELEASES.index
    for rule in RULES:
        if rule.about == about and place(rule.since) <= place(release) <= place(rule.until):
            return rule
    raise LookupError(f"no rule about {about} for Spark {release}")


def release_of(text: str | None) -> str:
    """Return the release to judge by: ``4.3`` for ``4.3.0``, and the newest for None.

    ``text`` is a version of Spark. Raises CheckpointError if its release is not one of RELEASES.
    """
    if text is None:
        return RELEASES[-1]
    release = ".".join(text.split(".")[:2])
    if release not in RELEASES:
        raise CheckpointError(
            f"got Spark {text[:20]}, expected one that the rules know: {RELEASES[0]} to "
            f"{RELEASES[-1]}; nothing is guessed about another one"
        )
    return release
