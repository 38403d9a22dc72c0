"""The text of a model file, how to say where it is wrong, and what a parser makes of it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...errors import FairlpWarning, FileFormatError, nearest
from ...tolerances import LARGEST_BOUND
from ..programs.program import Sense
from .names import impossible

if TYPE_CHECKING:
    from scipy.sparse import csc_array

#: Longest piece of a file that an error message shows, and most names among which it looks for the nearest.
_SHOWN: Final = 80
_MANY_NAMES: Final = 2000
_WRITTEN_BY_US = re.compile(r"(.*?): written by fairlp, \d+ rows?, \d+ columns?(?: |$)")


class LineError(FileFormatError):
    """A model file is wrong in one line."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True)
class Source:
    """The text of a file, and how to say where it is wrong."""

    path: Path
    content: bytes

    def fault(self, line: int, problem: str) -> LineError:
        """Return the error that names file, line (from one) and text."""
        rest = self.content
        text = rest.split(b"\n", line)[line - 1] if line <= rest.count(b"\n") + 1 else b""
        return LineError(f"{self.path}, line {line}: {shown(text.decode('utf-8', 'replace'))}: {problem}", line)

    @property
    def last_line(self) -> int:
        """Number of the last line."""
        return self.content.rstrip().count(b"\n") + 1

    def warn(self, message: str) -> None:
        """Warn about something that other readers take differently."""
        warnings.warn(f"{self.path}: {message}", FairlpWarning, stacklevel=2)


@dataclass
class Parsed:
    """What a file says, before names are explained; ``comments`` are the lines before the first section."""

    name: str
    sense: Sense
    offset: float
    c: np.ndarray
    A: csc_array[Any]
    row_lower: np.ndarray
    row_upper: np.ndarray
    col_lower: np.ndarray
    col_upper: np.ndarray
    integrality: np.ndarray
    row_names: list[str]
    column_names: list[str]
    comments: list[str]


def shown(text: str) -> str:
    """Return a piece of a file for an error message, cut when it is long."""
    text = " ".join(text[: 4 * _SHOWN].split())
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")


def hint(name: str, known: Collection[str]) -> str:
    """Return the known names nearest to ``name``, unless there are too many to look for them."""
    if not 0 < len(known) <= _MANY_NAMES:
        return ""
    return f"; {nearest(name[:_SHOWN], [other[:_SHOWN] for other in known])}"


def is_ours(comments: Iterable[str]) -> str | None:
    """Return the name that our writers put in the first line, None when the file is not ours."""
    found = _WRITTEN_BY_US.match(" ".join(comments))
    return found[1] if found else None


def settle(
    source: Source, lower: np.ndarray, upper: np.ndarray, what: Callable[[int], str], lines: np.ndarray, exact: bool
) -> None:
    """Turn bounds that mean none into infinity, in place; raise when no value is between two bounds."""
    if not exact:
        lower[lower <= -LARGEST_BOUND] = -np.inf
        upper[upper >= LARGEST_BOUND] = np.inf
        lower[lower >= LARGEST_BOUND] = np.inf
        upper[upper <= -LARGEST_BOUND] = -np.inf
    wrong = impossible(lower, upper)
    if wrong.size:
        i = int(wrong[0])
        raise source.fault(
            int(lines[i]), f"no value of {what(i)} is between its lower bound {lower[i]} and its upper bound {upper[i]}"
        )
