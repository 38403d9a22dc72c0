"""Shared by readers and writers of model files: faults in lines, portable names, exact numbers."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import textwrap
import warnings
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from ...errors import FairlpWarning, FileFormatError, ModelError, nearest, require_known
from ...tolerances import LARGEST_BOUND
from ..programs.options import Names
from ..programs.program import Block, Program, Sense, kind_of
from .whole_files import Target, drafts, home, utf8

if TYPE_CHECKING:
    from scipy.sparse import csc_array

#: Longest piece of a file that an error message shows, and most names among which it looks for the
#: nearest.
_SHOWN: Final = 80
_MANY_NAMES: Final = 2000
#: Bytes that are taken apart at a time: what stays in a processor's cache is read in half the time.
PIECE: Final = 2**17
_WRITTEN_BY_US = re.compile(r"(.*?): written by fairlp, \d+ rows?, \d+ columns?(?: |$)")
#: Numbers among which repetitions are looked for.
_SAMPLE: Final = 256
#: Fortran writes 1.0D3 for 1.0E3.
_FORTRAN = re.compile(rb"(?<=[0-9.])[dD](?=[+-]?[0-9])")
_NAMES: Final = ("labels", "numbers")
NameMap = dict[str, dict[str, Any]]

#: Longest name in fixed MPS.
_FIXED_NAME: Final = 8
#: Longest number in fixed MPS.
FIXED_NUMBER: Final = 12
#: Longest name in a file. COIN's MPS reader overruns its buffer at 160 characters, GLPK and SCIP
#: refuse 256.
LONGEST_NAME: Final = 140
_COMMENT_WIDTH: Final = 100
_ILLEGAL = re.compile(r"[^A-Za-z0-9_]")
_ILLEGAL_IN_WHOLE = re.compile(r"[^A-Za-z0-9_.]")
# A number, or what a reader takes for the start of one: HiGHS reads ``inform`` as infinity, then a
# variable ``orm``.
_LIKE_A_NUMBER = re.compile(r"[0-9.]|e[0-9]|inf|nan", re.IGNORECASE)
_LP_WORDS = """
    max maximize maximum maximise min minimize minimum minimise subject to such that st s.t s.t. st. bound bounds
    bin binary binaries gen general generals int integer integers semi semis sos sos1 sos2 s1 s2 free end
    range ranges lazy user cuts constraints in pwlobj gencons scenario
"""
_MPS_WORDS = """
    name objsense objsense_max objname max min rows columns rhs rng bnd ranges bounds endata marker intorg intend sets
    quadobj qmatrix qsection qcmatrix csection indicators lazycons usercuts delayedrows modelcuts gencons pwlobj refrow
"""
_RESERVED: Final = frozenset((_LP_WORDS + _MPS_WORDS).split())


@dataclass(frozen=True)
class NamedBlock(Block):
    """Rows or columns over one index whose labels are their whole names, as read from a file.

    Examples
    --------
    >>> import pandas as pd
    >>> NamedBlock("row", (("row", pd.Index(["cap.cpu", "R2"])),), 0, 2).names()
    ['cap.cpu', 'R2']
    """

    def names(self) -> list[str]:
        """Return the labels."""
        return [str(label) for (label,) in self.labels()]


def file_names(blocks: Sequence[Block]) -> tuple[list[str], NameMap]:
    """Return a name for each element that MPS and LP readers take, and the map of changed names.

    A name is the block's name and the labels, joined by dots: ``capacity.server3.cpu``. Within each
    of them, characters other than ASCII letters, digits and ``_`` become ``_``; a tuple is its
    parts, joined by ``_``. A name that would be read as a number or as a keyword gets ``_`` in
    front, and one longer than `LONGEST_NAME` is cut. Names that are then equal get ``_2``, ``_3``,
    …; a name that was not changed keeps its form.

    Parameters
    ----------
    blocks : sequence of Block
        The rows, or the columns, of a Program.

    Returns
    -------
    names : list of str
        Unique names, in order.
    changed : dict
        For each name that is not simply the labels joined by dots: its ``block``, ``labels`` (as
        text), and ``name`` as people write it, ``capacity[server3,cpu]``.

    Examples
    --------
    >>> import pandas as pd
    >>> users = pd.Index(["ann", "bob smith"])
    >>> names, changed = file_names([Block("share", (("u", users),), 0, 2)])
    >>> names
    ['share.ann', 'share.bob_smith']
    >>> changed
    {'share.bob_smith': {'block': 'share', 'labels': ['bob smith'], 'name': 'share[bob smith]'}}
    """
    parts = [_block_names(block) for block in blocks]
    names = [name for block_names, _ in parts for name in block_names]
    flags = [block_flags for _, block_flags in parts]
    changed = np.concatenate([np.zeros(0, dtype=bool), *flags])

    long_names = [i for i, name in enumerate(names) if len(name) > LONGEST_NAME]
    for i in long_names:
        names[i] = names[i][:LONGEST_NAME]
        changed[i] = True

    if len(set(names)) < len(names):
        _separate(names, changed)
    return names, explained(blocks, names, changed)


def numbered_names(
    blocks: Sequence[Block], letter: str, digits: int = 0
) -> tuple[list[str], NameMap]:
    """Return ``letter`` and position as the name of each element, and the map to its own name.

    With ``digits``, positions count from one and are filled with zeros: ``R0000001``.
    """
    first = 1 if digits else 0
    count = sum(map(len, blocks))
    names = [f"{letter}{i:0{digits}d}" for i in range(first, first + count)]
    return names, explained(blocks, names, np.ones(len(names), dtype=bool))


def unused(name: str, used_names: Collection[str]) -> str:
    """Return ``name``, or the first of ``name_2``, ``name_3``, … that is not taken."""
    candidate = name
    k = 2
    while candidate in used_names:
        candidate = f"{name}_{k}"
        k = k + 1
    return candidate


def clean(text: str) -> str:
    """Return ``text`` with only ASCII letters, digits and ``_``, and not empty."""
    return _ILLEGAL.sub("_", text) or "_"


def _block_names(block: Block) -> tuple[list[str], np.ndarray]:
    """Return the file names of a block's elements, and a mask of those that had to change."""
    if isinstance(block, NamedBlock):
        element_names = block.names()
        names = [_ILLEGAL_IN_WHOLE.sub("_", name) or "_" for name in element_names]
        names = [
            "_" + name if _LIKE_A_NUMBER.match(name) or name.lower() in _RESERVED else name
            for name in names
        ]
        return names, np.array(
            [a != b for a, b in zip(element_names, names, strict=True)], dtype=bool
        )
    head = clean(block.name)
    if _LIKE_A_NUMBER.match(head) or (not block.axes and head.lower() in _RESERVED):
        head = "_" + head
    changed = np.full(len(block), head != block.name)
    if not block.axes:
        return [head] * len(block), changed
    columns = []
    for (_, labels), axis_positions in zip(
        block.axes, np.unravel_index(block.flat, block.shape), strict=True
    ):
        plain = labels.astype(str)
        # Each distinct label is cleaned once, however many elements carry it.
        cleaned = [clean(_joined(label)) for label in (labels if labels.dtype == "O" else plain)]
        is_changed = np.array([a != b for a, b in zip(plain, cleaned, strict=True)], dtype=bool)
        columns.append(np.array(cleaned, dtype=object)[axis_positions].tolist())
        changed |= is_changed[axis_positions]

    parts_of_names = zip(repeat(head, len(block)), *columns, strict=True)
    return list(map(".".join, parts_of_names)), changed


def _joined(label: Any) -> str:
    """Return a label as text; the parts of a tuple with ``_`` between them: ``a_b``."""
    return "_".join(map(_joined, label)) if isinstance(label, tuple) else str(label)


def _separate(names: list[str], changed: np.ndarray) -> None:
    """Make names unique in place.

    Of equal names the first stays as it is, an unchanged one before changed ones.
    """
    used_names = set(names)
    unique_names = set[str]()
    suffixes = dict[str, int]()
    for i in np.argsort(changed, kind="stable").tolist():
        name = names[i]
        if name not in unique_names:
            unique_names.add(name)
            continue
        k = suffixes.get(name, 2)
        while (candidate := f"{name[: LONGEST_NAME - len(str(k)) - 1]}_{k}") in used_names:
            k += 1
        suffixes[name] = k + 1
        used_names.add(candidate)
        names[i], changed[i] = candidate, True


def explained(blocks: Sequence[Block], names: Sequence[str], changed: np.ndarray) -> NameMap:
    """Return block, labels and human name of every changed element, by file name."""
    mapping = {}
    start = 0
    for block in blocks:
        which = np.flatnonzero(changed[start : start + len(block)])
        if which.size:
            positions = which if block.positions is None else block.positions[which]
            elements = replace(
                block,
                axes=tuple(
                    (symbol, labels.to_flat_index().astype(str)) for symbol, labels in block.axes
                ),
                start=0,
                stop=which.size,
                positions=positions if block.axes else None,
            )
            for i, labels, human in zip(
                which.tolist(), elements.labels(), elements.names(), strict=True
            ):
                mapping[names[start + i]] = {
                    "block": block.name,
                    "labels": list(labels),
                    "name": human,
                }
        start += len(block)
    return mapping


@dataclass(frozen=True)
class Naming:
    """The names that a file uses.

    Attributes
    ----------
    rows, columns : list of str
    objective : str
        Name of the objective row, unlike any row.
    constant : str
        Name for a column fixed at 1 that carries the objective's constant, unlike any column.
    row_map, column_map : dict
        What stands behind changed names, as `file_names` gives it.
    """

    rows: list[str]
    columns: list[str]
    objective: str
    constant: str
    row_map: NameMap
    column_map: NameMap


def naming(program: Program, names: Names) -> Naming:
    """Return the names for a file: from labels, or shorter ones from positions (``r0``, ``c0``)."""
    require_known(names, _NAMES, f"no way to name rows and columns is called {names!r}")
    if names == "labels":
        rows, row_map = file_names(program.rows)
        columns, column_map = file_names(program.columns)
    else:
        rows, row_map = numbered_names(program.rows, "r")
        columns, column_map = numbered_names(program.columns, "c")
    constant = unused("objective_constant", columns)
    return Naming(rows, columns, unused("objective", rows), constant, row_map, column_map)


def fixed_naming(program: Program) -> Naming:
    """Return numbered names for fixed MPS, ``R0000001`` and ``C0000001``, all of them explained."""
    digits = _FIXED_NAME - 1
    if max(program.n_rows, program.n_columns) >= 10**digits:
        raise ModelError(
            f"program {program.name!r} is too large for names of {_FIXED_NAME} characters; write "
            "profile='portable'"
        )
    rows, row_map = numbered_names(program.rows, "R", digits)
    columns, column_map = numbered_names(program.columns, "C", digits)
    return Naming(rows, columns, "OBJ", "CONSTANT", row_map, column_map)


def check_writable(program: Program, form: str) -> None:
    """Raise ModelError when the Program holds something that the format ``form`` cannot say."""
    if program.logs is not None:
        noun = {"log": "logarithm", "quadratic": "square"}.get(kind_of(program.logs.alpha), "power")
        raise ModelError(
            f"program {program.name!r} has {noun}s in its objective ({program.logs.name!r}), and a "
            f"{noun} has no place "
            f"in {form}; hand the model over with Model.to_cvxpy(), or solve it as a sequence of "
            "LPs and "
            "write those"
        )
    for noun, lower, upper in (
        ("row", program.row_lower, program.row_upper),
        ("column", program.col_lower, program.col_upper),
    ):
        for i in impossible(lower, upper)[:1].tolist():
            name = getattr(program, f"{noun}_names")[i]
            raise ModelError(
                f"program {program.name!r}: {noun} {name!r} has lower bound {lower[i]} and upper "
                f"bound {upper[i]}, "
                f"which no value meets, and {form} readers take such bounds for something else; "
                "correct the bounds"
            )


def decimal(value: float) -> str:
    """Return the shortest decimal that reads back as exactly ``value``, ``1`` for 1.0."""
    return repr(float(value) + 0.0).removesuffix(".0")  # + 0.0 turns -0.0 into 0.0


def decimals(values: np.ndarray, format_number: Callable[[float], str] = repr) -> list[str]:
    """Return the decimal of every value; equal values are formatted only once."""
    inverse, distinct = pd.factorize(np.asarray(values, dtype=float) + 0.0, use_na_sentinel=False)
    texts = np.array(
        [text.removesuffix(".0") for text in map(format_number, distinct.tolist())], dtype=object
    )
    return list(texts[inverse].tolist())


def short_decimals(values: np.ndarray) -> list[str]:
    """Return decimals of at most 12 characters: exact where that is long enough, else the nearest.

    >>> short_decimals(np.array([0.1, 2 / 3, -1e-7 / 3, 123456789.123456]))
    ['0.1', '.66666666667', '-3.333333e-8', '123456789.12']
    """
    return decimals(values, _short_decimal)


def _short_decimal(value: float) -> str:
    text = decimal(value)
    digits = 17
    while len(text) > FIXED_NUMBER and np.isfinite(value):
        digits -= 1
        mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
        power = int(exponent)
        decimals_of_plain = max(digits - 1 - power, 0)
        plain = re.sub("^(-?)0", r"\1", f"{value:.{decimals_of_plain}f}")
        forms = [
            plain if power < digits else "",
            f"{mantissa}e{power}",
            _without_dot(mantissa, power),
        ]
        text = min(filter(None, forms), key=len)
    return text


def _without_dot(mantissa: str, power: int) -> str:
    """Return a number in scientific notation with a whole mantissa.

    >>> _without_dot("1.25", -7)
    '125e-9'
    """
    whole, _, places = mantissa.partition(".")
    return f"{whole}{places}e{power - len(places)}"


def number_in(text: bytes) -> float:
    """Return a number as C or Fortran writes it, NaN for what is none."""
    try:
        return (
            np.nan
            if b"_" in text
            else float(_FORTRAN.sub(b"e", text) if b"d" in text.lower() else text)
        )
    except ValueError:
        return np.nan


def numbers_in(texts: list[bytes]) -> np.ndarray:
    """Return the numbers that are written so, NaN for what is none."""
    if 2 * len({*texts[:_SAMPLE]}) < len(
        texts[:_SAMPLE]
    ):  # models repeat themselves: each number once
        distinct = [*dict.fromkeys(texts)]
        number_of = dict(zip(distinct, numbers_in(distinct).tolist(), strict=True))
        return np.fromiter(map(number_of.__getitem__, texts), dtype=float, count=len(texts))
    try:
        if b"_" in b"".join(texts):
            raise ValueError("Python reads 1_0 as 10")
        return np.fromiter(map(float, texts), dtype=float, count=len(texts))
    except ValueError:
        return np.fromiter(map(number_in, texts), dtype=float, count=len(texts))


def impossible(lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return the positions of bounds that no value meets."""
    return np.flatnonzero((lower > upper) | (lower == np.inf) | (upper == -np.inf))


def comment(mark: str, paragraphs: Iterable[str]) -> str:
    """Return comment lines in plain ASCII: some readers stop at other bytes, or at long lines."""
    lines = []
    for paragraph in paragraphs:
        text = " ".join(paragraph.split()).encode("ascii", "replace").decode("ascii")
        lines += textwrap.wrap(text, _COMMENT_WIDTH, break_on_hyphens=False)
    return "".join(f"{mark} {line}\n" for line in lines)


def bounded_rows(program: Program) -> np.ndarray:
    """Return which rows have a bound; others are in no file."""
    is_bounded: np.ndarray = np.isfinite(program.row_lower) | np.isfinite(program.row_upper)
    return is_bounded


def left_out(is_bounded: np.ndarray) -> list[str]:
    """Return what the head of a file says of rows that are not kept."""
    return (
        [] if is_bounded.all() else [f"Rows without any bound are left out: {(~is_bounded).sum()}."]
    )


def about(program: Program) -> list[str]:
    """Return what the head of every file says."""
    head = [
        f"{program.name or 'model'}: written by fairlp, {program.n_rows} rows, {program.n_columns} "
        "columns"
    ]
    if program.source:
        head.append(f"source: {program.source}")
    for noun, blocks in (("rows", program.rows), ("columns", program.columns)):
        if any(isinstance(block, NamedBlock) for block in blocks):
            head.append(f"Names of {noun}: as given.")
    return head


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
        line_count = self.content.count(b"\n") + 1
        text = self.content.split(b"\n", line)[line - 1] if line <= line_count else b""
        return LineError(
            f"{self.path}, line {line}: {shown(text.decode('utf-8', 'replace'))}: {problem}", line
        )

    @property
    def last_line(self) -> int:
        """Number of the last line."""
        return self.content.rstrip().count(b"\n") + 1

    def warn(self, message: str) -> None:
        """Warn about something that other readers take differently."""
        warnings.warn(f"{self.path}: {message}", FairlpWarning, stacklevel=2)


@dataclass
class Parsed:
    """What a file says, before names are explained.

    ``comments`` are the lines before the first section; ``switched``: which rows an integer
    switches, None where none.
    """

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
    switched: np.ndarray | None = None


def two_vectors(name: str, first: str) -> str:
    """Return the message for a section of more than one vector, of which readers take only one."""
    return f"a second vector, {shown(name)} after {shown(first)}; expected one"


def shown(text: str) -> str:
    """Return a piece of a file for an error message, cut when it is long."""
    text = " ".join(text[: 4 * _SHOWN].split())
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")


def hint(name: str, names: Collection[str]) -> str:
    """Return the known names nearest to ``name``, unless there are too many to look for them."""
    if not 0 < len(names) <= _MANY_NAMES:
        return ""
    return f"; {nearest(name[:_SHOWN], [candidate[:_SHOWN] for candidate in names])}"


def is_ours(comments: Iterable[str]) -> str | None:
    """Return the name that our writers put in the first line, None when the file is not ours."""
    match = _WRITTEN_BY_US.match(" ".join(comments))
    return match[1] if match else None


def settle(
    source: Source,
    lower: np.ndarray,
    upper: np.ndarray,
    name_of: Callable[[int], str],
    lines: np.ndarray,
    exact: bool,
) -> None:
    """Turn huge bounds into infinity, in place; raise where no value is between two bounds."""
    if not exact:
        lower[lower <= -LARGEST_BOUND] = -np.inf
        upper[upper >= LARGEST_BOUND] = np.inf
        lower[lower >= LARGEST_BOUND] = np.inf
        upper[upper <= -LARGEST_BOUND] = -np.inf
    for i in impossible(lower, upper)[:1].tolist():
        raise source.fault(
            int(lines[i]),
            f"no value of {name_of(i)} is between its lower bound {lower[i]} and its upper bound "
            f"{upper[i]}",
        )


def write_model(
    target: Target, texts: Iterable[str], row_map: NameMap, column_map: NameMap
) -> list[Path]:
    """Write a model and, next to it, the names that were changed; all of it or nothing.

    Parameters
    ----------
    target : path or file object
        A path ending in ``.gz`` is compressed, with the same bytes every time. A file object gets
        the model only.
    texts : iterable of str
        The text, piece by piece.
    row_map, column_map : mapping
        For the side file ``<path>.names.json``. Without changed names an older side file is
        removed, because it would explain names of another model.

    Returns
    -------
    list of Path
        The files that were written.
    """
    if not isinstance(target, str | os.PathLike):
        takes_text = isinstance(target, io.TextIOBase) or hasattr(target, "encoding")
        for text in texts:
            target.write(text if takes_text else text.encode("ascii"))  # type: ignore[arg-type]
        return []
    path = home(target)
    side = path.with_name(path.name + ".names.json")
    contents = {path: texts}
    if row_map or column_map:
        encode = json.JSONEncoder(ensure_ascii=False).encode
        blocks = []
        for axis, names in (("rows", row_map), ("columns", column_map)):
            entries = ",\n".join(
                f"  {encode(name)}: {encode(entry)}" for name, entry in names.items()
            )
            body = f"\n{entries}\n" if entries else ""
            blocks.append(f'"{axis}": {{{body}}}')
        contents[side] = ["{\n" + ",\n".join(blocks) + "\n}\n"]
    with drafts(*contents) as places:
        for draft, content in zip(places, contents.values(), strict=True):
            with open(draft, "wb") as raw, ExitStack() as stack:
                packed = draft.name.lower().endswith(".gz")
                # no file name and no time in the header: equal models give equal bytes
                file = (
                    stack.enter_context(gzip.GzipFile("", "wb", 6, raw, mtime=0)) if packed else raw
                )
                file.writelines(map(utf8, content))
    if side not in contents:
        side.unlink(missing_ok=True)
    return list(contents)
