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

# style of rich for a level or a part of a report
STYLES = {
    "error": "bold red",
    "unreadable": "bold red",
    "warning": "bold yellow",
    "info": "cyan",
    "ok": "bold green",
    "heading": "bold",
    "quiet": "dim",
}


# a part of a path or conf, with the separators behind it
_PARTS = re.compile(r"[^/._:=,-]+[/._:=,-]*|[/._:=,-]+")


def break_names(text: str, width: int) -> str:
    """Return the text with line breaks inside words that are longer than ``width``.

    A word is broken only after a separator such as ``/`` or ``.``.
    """
    return " ".join(
        _break_word(word, width) if len(word) > width else word for word in text.split(" ")
    )


def _break_word(word: str, width: int) -> str:
    """Return one word, broken after separators into lines of at most ``width`` if possible."""
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
    color: bool = False  # use colours
    wide: bool = False  # whether tables keep every column, at any width

    @property
    def every_column(self) -> bool:
        """True if no column of a table is left out."""
        return self.wide or self.width is None

    def text(self, text: str, style: str = "", *, prefix: str = "") -> Iterator[str]:
        """Yield a paragraph, wrapped to the width.

        ``style`` is a name of :data:`STYLES`. ``prefix`` begins the first line, and the other lines
        are indented by its length; if given, only the prefix has the style.
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
        """Yield a command line, which is never wrapped, so that it can be copied."""
        yield f"{prefix}{escape(text)}\n"

    def drawn(self, *renderables: RenderableType) -> Iterator[str]:
        """Yield the lines of these objects as rich draws them."""
        with self.console.capture() as capture:
            for renderable in renderables:
                self.console.print(renderable)
        for line in capture.get().splitlines():
            yield line.rstrip() + "\n"

    @cached_property
    def console(self) -> Console:
        """Console of rich that ignores the environment."""
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
