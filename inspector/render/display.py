"""Display of text for people. Without a width, no line is wrapped and no column left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from inspector.light_dataclasses import dataclass
from inspector.plain_text import escape

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

NO_LIMIT = 1_000_000  # a width that nothing reaches

STYLES = {  # A level or a part of a report -> how rich shows it where there are colours
    "error": "bold red",
    "unreadable": "bold red",
    "warning": "bold yellow",
    "info": "cyan",
    "ok": "bold green",
    "heading": "bold",
    "quiet": "dim",
}


_PARTS = re.compile(r"[^/._:=,-]+[/._:=,-]*|[/._:=,-]+")  # of a path, or a conf


def break_names(text: str, width: int) -> str:
    """The text with its words that are longer than a width ended between two of their parts."""
    return " ".join(
        _break_word(word, width) if len(word) > width else word for word in text.split(" ")
    )


def _break_word(word: str, width: int) -> str:
    lines = [""]
    for part in _PARTS.findall(word):
        if lines[-1] and len(lines[-1]) + len(part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


@dataclass(frozen=True)
class Display:
    """Width, colours and completeness of shown text."""

    width: int | None = None  # columns of the terminal; None: there is none, nothing is wrapped
    color: bool = False
    wide: bool = False  # whether tables keep every column, at any width

    @property
    def every_column(self) -> bool:
        """True if no column of a table is left out."""
        return self.wide or self.width is None

    def text(self, text: str, style: str = "", *, prefix: str = "") -> Iterator[str]:
        """A paragraph, wrapped to the width.

        The style is a name of :data:`STYLES`; that of ``prefix``, where there is one, which stands
        before the first line, and as many spaces before the others.
        """
        text = escape(text)
        if self.width is None and not self.color:
            yield f"{prefix}{text}\n"
            return
        limit = self.width or NO_LIMIT
        if len(prefix) > limit // 2:
            # A narrow terminal keeps its width for the words.
            prefix, text = "  ", prefix.strip() + " " + text
        style_text = STYLES.get(style, "")
        room = max(limit - len(prefix), 1)
        rendered = self.console.render_str(
            break_names(text, room), style="" if prefix else style_text
        )
        for line in rendered.wrap(self.console, room, overflow="fold"):
            line.rstrip()
            head = self.console.render_str(prefix, style=style_text if prefix else "")
            yield from self.drawn(head.append_text(line))
            prefix = " " * len(prefix)

    def command(self, text: str, prefix: str = "") -> Iterator[str]:
        """A command line that can be copied as it is: it is never broken."""
        yield f"{prefix}{escape(text)}\n"

    def drawn(self, *renderables: RenderableType) -> Iterator[str]:
        """Yield the lines that rich renders."""
        with self.console.capture() as capture:
            for renderable in renderables:
                self.console.print(renderable)
        for line in capture.get().splitlines():
            yield line.rstrip() + "\n"

    @cached_property
    def console(self) -> Console:
        """rich, told all that it would otherwise look for in the environment."""
        from rich.console import Console  # noqa: PLC0415 - slow to import, and not every report is drawn

        return Console(
            width=self.width or NO_LIMIT,
            height=25,
            force_jupyter=False,
            color_system="standard" if self.color else None,
            force_terminal=self.color,
            no_color=not self.color,
            legacy_windows=False,
            highlight=False,
            markup=False,
            emoji=False,
        )
