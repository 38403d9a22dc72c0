"""Read MPS and LP files from anywhere into a Program."""

from __future__ import annotations

import gzip
import re
import warnings
import zlib
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...errors import FairlpWarning, FileFormatError, nearest
from ...tolerances import LARGEST_BOUND
from ..programs.program import Program, Sense
from .whole_files import read_bytes

if TYPE_CHECKING:
    from scipy.sparse import csc_array

_EXPECTED: Final = "expected .mps, .lp, .mps.gz or .lp.gz"
#: Control characters other than tab and the ends of lines: no text has them.
_CONTROL: Final = bytes(set(range(32)) - set(b"\t\n\r")) + b"\x7f"
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


def read_program(path: str | Path) -> Program:
    """Return the linear or mixed-integer program of an MPS or LP file, whoever wrote it.

    Parameters
    ----------
    path : str or Path
        ``x.mps``, ``x.lp``, ``x.mps.gz`` or ``x.lp.gz``; MPS in free or fixed format.

    Returns
    -------
    Program
        With the names of the file, in a block of rows called ``row`` and one of columns called ``column``. Files
        that fairlp wrote give back their blocks and labels (as text), sense and constant; ``<path>.names.json``
        is used if it is there.

    Raises
    ------
    FileFormatError
        When the file is not there, cut off, compressed wrongly, not text, or says something that no linear or
        mixed-integer program can be; the message gives file, line, text and what was expected.

    Notes
    -----
    Where solvers read a file differently, a `FairlpWarning` says so; see ``docs/model-files.md``. Bounds of 1e20 and
    more mean none, as solvers take them, except in files that fairlp wrote.

    Examples
    --------
    >>> from fairlp import examples
    >>> import fairlp, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written, *_ = fairlp.formulate(examples.ghodsi(), "drf").write(f"{folder}/drf.mps")
    ...     program = read_program(written)
    >>> program
    <Program 'DRF': LP, max, 4 rows × 3 columns, 8 nonzeros>
    >>> program.row_names
    ['capacity[cpu]', 'capacity[memory]', 'fairness[A]', 'fairness[B]']
    """
    from .restore import restored

    source = _open(Path(path))
    return restored(source, _parser(source.path)(source))


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
    wrong = np.flatnonzero((lower > upper) | (lower == np.inf) | (upper == -np.inf))
    if wrong.size:
        i = int(wrong[0])
        raise source.fault(
            int(lines[i]), f"no value of {what(i)} is between its lower bound {lower[i]} and its upper bound {upper[i]}"
        )


def _open(path: Path) -> Source:
    """Return the file's text, unpacked, with one kind of line ends; raise when it is not text."""
    kind = [suffix.lower() for suffix in path.suffixes]
    packed = kind[-1:] == [".gz"]
    if (kind[-2:-1] if packed else kind[-1:]) not in ([".mps"], [".lp"]):
        raise FileFormatError(f"cannot tell the format of {path.name!r}; {_EXPECTED}")
    content = read_bytes(path)
    if packed and content:
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise FileFormatError(
                f"{path} is not a whole gzip file ({error}); was it written and copied completely?"
            ) from None
    elif content.startswith(b"\x1f\x8b"):
        raise FileFormatError(f"{path} is compressed; name it {path.name}.gz")
    content = content.removeprefix(b"\xef\xbb\xbf")
    if not content.strip():
        raise FileFormatError(f"{path} is empty; was it written completely?")
    if b"\r" in content:
        content = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    source = Source(path, content)
    if len(content.translate(None, _CONTROL)) < len(content):
        found = re.search(b"[%b]" % re.escape(_CONTROL), content)
        assert found
        line = content.count(b"\n", 0, found.start()) + 1
        raise source.fault(line, f"byte 0x{found[0][0]:02x} is no text; expected an MPS or LP file in UTF-8")
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        advice = "save it as UTF-8, or convert it (iconv -f LATIN1 -t UTF-8)"
        raise source.fault(line, f"byte 0x{content[error.start]:02x} is not UTF-8; {advice}") from None
    return source


def _parser(path: Path) -> Callable[[Source], Parsed]:
    if path.name.lower().removesuffix(".gz").endswith(".mps"):
        from .mps_reader import parse_mps

        return parse_mps
    from .lp_reader import parse_lp

    return parse_lp
