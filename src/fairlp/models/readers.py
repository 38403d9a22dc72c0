"""Read MPS and LP files from anywhere into a Program, and undo what our own writers did to theirs."""

from __future__ import annotations

import gzip
import json
import re
import warnings
import zlib
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from .errors import FairlpWarning, FileFormatError, nearest
from .names import NamedBlock, NameMap, clean
from .program import Block, Program, Sense
from .textfiles import not_found
from .tolerances import LARGEST_BOUND

if TYPE_CHECKING:
    from scipy.sparse import csc_array

_EXPECTED: Final = "expected .mps, .lp, .mps.gz or .lp.gz"
#: Control characters other than tab and the ends of lines: no text has them.
_CONTROL: Final = bytes(set(range(32)) - set(b"\t\n\r")) + b"\x7f"
#: Longest piece of a file that an error message shows, and most names among which it looks for the nearest.
_SHOWN: Final = 80
_MANY_NAMES: Final = 2000
_SYMBOLS: Final = "ijklmnopq"
_WRITTEN_BY_US = re.compile(r"(.*?): written by fairlp, \d+ rows?, \d+ columns?(?: |$)")
_CONSTANT = re.compile(r"The objective's constant is the cost of column (\S+), which is fixed at 1\.")
_SOURCE = re.compile(
    r"^source: (.*?)(?=\n(?:objective: |The objective's |Rows without |A row with |Names |Numbers )|\Z)", re.M | re.S
)
_NUMBERED = re.compile(r"r\d+|c\d+|R\d{7}|C\d{7}")
_Key = tuple[str, ...] | str


class LineError(FileFormatError):
    """A model file is wrong in one line."""

    def __init__(self, message: str, line: int) -> None:
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
    >>> from fairlp.models import examples
    >>> import fairlp, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written, *_ = fairlp.formulate(examples.ghodsi(), "drf").write(f"{folder}/drf.mps")
    ...     program = read_program(written)
    >>> program
    <Program 'DRF': LP, max, 4 rows × 3 columns, 8 nonzeros>
    >>> program.row_names
    ['capacity[pool,cpu]', 'capacity[pool,memory]', 'fairness[A]', 'fairness[B]']
    """
    source = _open(Path(path))
    parse = _parser(source.path)
    parsed = parse(source)
    return _program(source, parsed, _side_file(source.path))


def shown(text: str) -> str:
    """Return a piece of a file for an error message, cut when it is long."""
    text = " ".join(text[: 4 * _SHOWN].split())
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")


def hint(name: str, known: Collection[str]) -> str:
    """Return the known names nearest to ``name``, unless there are too many to look for them."""
    return f"; {nearest(name, known)}" if 0 < len(known) <= _MANY_NAMES else ""


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
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise FileFormatError(not_found(path)) from None
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read: {error.strerror}") from None
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


def _side_file(model: Path) -> tuple[NameMap, NameMap] | None:
    """Return what stands behind the names of rows and columns, None without the side file."""
    path = model.with_name(model.name + ".names.json")
    try:
        document = json.loads(path.read_bytes())
        maps = document["rows"], document["columns"]
        for entry in (entry for names in maps for entry in names.values()):
            texts = [entry["block"], entry["name"], *entry["labels"]]
            if not all(isinstance(text, str) for text in texts) or not isinstance(entry["labels"], list):
                raise TypeError(shown(str(entry)))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise FileFormatError(
            f"{path} does not explain names as fairlp writes it ({shown(str(error))}); restore it, or remove it to "
            "read the model with the names of the file"
        ) from None
    return maps


def _program(source: Source, parsed: Parsed, side: tuple[NameMap, NameMap] | None) -> Program:
    """Return the Program, with the constant, the sense and the blocks that our writers took apart."""
    title = is_ours(parsed.comments)
    text = "\n".join(parsed.comments)
    published = ""
    if title is not None:
        if clean(title).startswith(parsed.name):
            parsed.name = title
        found = _SOURCE.search(text)
        published = " ".join(found[1].split()) if found else ""
        _undo(parsed, text)
    explained = side or ({}, {})
    for what, names, entries in zip(("row", "column"), (parsed.row_names, parsed.column_names), explained, strict=True):
        if len(entries) > 0 and (missing := entries.keys() - set(names)):
            raise FileFormatError(
                f"{source.path}.names.json explains {what} {min(missing)!r}, which is not in {source.path.name}: they do "
                "not belong together; remove it to read the model with the names of the file"
            )
    whole = ["Names of rows: as given." in text, "Names of columns: as given." in text]
    ours = title is not None or side is not None
    keys = [
        _keys(names, entries, split=ours and not flag)
        for names, entries, flag in zip((parsed.row_names, parsed.column_names), explained, whole, strict=True)
    ]
    if side is not None:
        keys[0] = _join_rows(parsed, keys[0])
    if ours:
        keys[1] = _gather_columns(parsed, keys[1])
    name = parsed.name or source.path.name.split(".")[0]
    return Program(
        name, parsed.sense, parsed.c, parsed.offset, parsed.A, parsed.row_lower, parsed.row_upper,
        parsed.col_lower, parsed.col_upper, parsed.integrality, _blocks("row", keys[0]), _blocks("column", keys[1]),
        source=published,
    )  # fmt: skip


def _undo(parsed: Parsed, text: str) -> None:
    """Put the constant back into the objective, and turn a negated one round."""
    announced = _CONSTANT.search(" ".join(text.split()))
    if announced and announced[1] in parsed.column_names:
        j = parsed.column_names.index(announced[1])
        alone = parsed.A.indptr[j] == parsed.A.indptr[j + 1]
        if alone and parsed.col_lower[j] == parsed.col_upper[j] == 1:
            parsed.offset += float(parsed.c[j])
            _take_columns(parsed, np.delete(np.arange(len(parsed.c)), j))
    if parsed.sense == "min" and re.search(r"^objective: NEGATED\.", text, re.M):
        parsed.sense, parsed.offset, parsed.c = "max", -parsed.offset + 0.0, -parsed.c + 0.0


def _take_columns(parsed: Parsed, order: np.ndarray) -> None:
    for name in ("c", "col_lower", "col_upper", "integrality"):
        setattr(parsed, name, getattr(parsed, name)[order])
    parsed.A = parsed.A[:, order]
    parsed.column_names = [parsed.column_names[j] for j in order.tolist()]


def _keys(names: Sequence[str], entries: NameMap, split: bool) -> list[_Key]:
    """Return block and labels of every name, or the name alone where it stands for itself."""
    if split and not entries and all(map(_NUMBERED.fullmatch, names)):
        split = False  # numbers whose side file is lost
    keys: list[_Key] = [tuple(name.split(".")) for name in names] if split else list(names)
    if entries:
        for i, name in enumerate(names):
            if (entry := entries.get(name)) is not None:
                block, labels = entry["block"], entry["labels"]
                whole = labels and entry["name"] != f"{block}[{','.join(labels)}]"
                keys[i] = entry["name"] if whole else (block, *labels)
    return keys


def _join_rows(parsed: Parsed, keys: list[_Key]) -> list[_Key]:
    """Make one row of two that the LP writer made of it: equal names and coefficients, a bound each."""
    lower, upper = parsed.row_lower, parsed.row_upper
    pairs = [
        i
        for i in range(len(keys) - 1)
        if keys[i] == keys[i + 1] and upper[i] == np.inf and lower[i + 1] == -np.inf and lower[i] <= upper[i + 1]
    ]
    if not pairs:
        return keys
    rows = parsed.A.tocsr()
    rows.sort_indices()
    kept = np.ones(len(keys), dtype=bool)
    for i in pairs:
        a, b, end = rows.indptr[i : i + 3].tolist()
        same = np.array_equal(rows.indices[a:b], rows.indices[b:end]) and np.array_equal(
            rows.data[a:b], rows.data[b:end]
        )
        if same and kept[i]:
            upper[i], kept[i + 1] = upper[i + 1], False
    which = np.flatnonzero(kept)
    parsed.A, parsed.row_lower, parsed.row_upper = rows[which].tocsc(), lower[which], upper[which]
    parsed.row_names = [parsed.row_names[i] for i in which.tolist()]
    return [keys[i] for i in which.tolist()]


def _gather_columns(parsed: Parsed, keys: list[_Key]) -> list[_Key]:
    """Bring the columns of a block together: LP files have them in the order in which they occur."""
    first: dict[Any, int] = {}
    places = np.array([first.setdefault(_family(key), len(first)) for key in keys], dtype=np.int64)
    order = np.argsort(places, kind="stable")
    if not np.array_equal(order, np.arange(len(keys))):
        _take_columns(parsed, order)
    return [keys[j] for j in order.tolist()]


def _family(key: _Key) -> tuple[str, int]:
    return ("", -1) if isinstance(key, str) else (key[0], len(key))


def _blocks(what: str, keys: list[_Key]) -> tuple[Block, ...]:
    """Return the blocks of rows or columns; one with whole names where labels would not be unique."""
    blocks: list[Block] = []
    start = 0
    for (name, length), group in groupby(keys, key=_family):
        members = list(group)
        stop = start + len(members)
        block = _one_block(what, members, start) if length < 0 else _block(name, members, start)
        if block is None:
            break
        blocks.append(block)
        start = stop
    if start < len(keys) or len({block.name for block in blocks}) < len(blocks):
        return (_one_block(what, keys, 0),)
    return tuple(blocks)


def _one_block(what: str, keys: Sequence[_Key], start: int) -> Block:
    names = [
        key if isinstance(key, str) else key[0] if len(key) == 1 else f"{key[0]}[{','.join(key[1:])}]" for key in keys
    ]
    return NamedBlock(what, ((what, pd.Index(names, dtype=object)),), start, start + len(names))


def _block(name: str, keys: list[_Key], start: int) -> Block | None:
    """Return a block over as many indices as there are labels, None where two elements have the same."""
    count = len(keys[0]) - 1
    if count == 0:
        return Block(name, (), start, start + 1) if len(keys) == 1 else None
    axes, codes = [], []
    for k, labels in enumerate(list(zip(*keys, strict=True))[1:]):
        code, distinct = pd.factorize(np.array(labels, dtype=object))
        symbol = _SYMBOLS[k] if k < len(_SYMBOLS) else f"{_SYMBOLS[0]}{k}"
        axes.append((symbol, pd.Index(distinct, dtype=object)))
        codes.append(code)
    block = Block(name, tuple(axes), start, start + len(keys))
    try:
        positions = np.ravel_multi_index(tuple(codes), block.shape)
    except ValueError:  # more combinations than integers can count
        return None
    if len(np.unique(positions)) < len(positions):
        return None
    full = np.array_equal(positions, np.arange(int(np.prod(block.shape))))
    return block if full else replace(block, positions=positions)
