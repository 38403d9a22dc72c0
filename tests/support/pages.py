"""Pages of the documentation: their blocks of code, and which of them are not run and why."""

from __future__ import annotations

import re
from dataclasses import dataclass

from paths import DOCS, ROOT

_BLOCK = re.compile(
    r"^(?:<!-- (?:not run: (?P<why>.+?)|needs: (?P<tool>\w+)) -->\n)?"
    r"```(?P<kind>python|bash|console)\n(?P<code>.*?)^```$",
    re.M | re.S,
)


@dataclass(frozen=True)
class Block:
    """A block of a page: the number of the line that it begins after, and why it is not run (empty: it is)."""

    page: str
    line: int
    kind: str
    code: str
    why_not: str
    #: A package without which the block is left out.
    tool: str

    @property
    def commands(self) -> list[str]:
        """The commands of a block of the shell, without what follows a #."""
        lines = [
            line.removeprefix("$ ")
            for line in self.code.splitlines()
            if self.kind == "bash" or line[:2] == "$ "
        ]
        return [line.split("  #")[0].strip() for line in lines if line.strip()]


def text_of(page: str) -> str:
    """A page of docs/, or the README."""
    return ((ROOT if page == "README.md" else DOCS) / page).read_text(encoding="utf-8")


def blocks(page: str) -> list[Block]:
    """The blocks of a page that a reader could run."""
    text = text_of(page)
    return [
        Block(
            page,
            text.count("\n", 0, match.start("code")),
            match["kind"],
            match["code"],
            match["why"] or "",
            match["tool"] or "",
        )
        for match in _BLOCK.finditer(text)
    ]
