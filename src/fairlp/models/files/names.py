"""What the writers of model files share: names that every reader takes, exact numbers, comments."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any, Final, Literal

import numpy as np

from ...errors import ModelError, UnknownNameError, nearest
from ..programs.program import Block, Program

Names = Literal["labels", "numbers"]
_NAMES: Final = ("labels", "numbers")
NameMap = dict[str, dict[str, Any]]

#: Longest name in fixed MPS.
_FIXED_NAME: Final = 8
#: Longest name in a file. COIN's MPS reader overruns its buffer at 160 characters, GLPK and SCIP refuse 256.
LONGEST_NAME: Final = 140
_COMMENT_WIDTH: Final = 100
_ILLEGAL = re.compile(r"[^A-Za-z0-9_]")
_ILLEGAL_IN_WHOLE = re.compile(r"[^A-Za-z0-9_.]")
# A number, or what a reader takes for the start of one: HiGHS reads ``inform`` as infinity, then a variable ``orm``.
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
    """Rows or columns over one index whose labels are their whole names, as they come out of a file.

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
    """Return a name for every element that MPS and LP readers all take, and what stands behind changed ones.

    A name is the block's name and the labels, joined by dots: ``capacity.server3.cpu``. Within each of them,
    characters other than ASCII letters, digits and ``_`` become ``_``. A name that would be read as a number or as a
    keyword gets ``_`` in front, and one longer than `LONGEST_NAME` is cut. Names that are then equal get ``_2``,
    ``_3``, …; a name that was not changed keeps its form.

    Parameters
    ----------
    blocks : sequence of Block
        The rows, or the columns, of a Program.

    Returns
    -------
    names : list of str
        Unique names, in order.
    changed : dict
        For each name that is not simply the labels joined by dots: its ``block``, ``labels`` (as text), and
        ``name`` as people write it, ``capacity[server3,cpu]``.

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
    names: list[str] = []
    flags: list[np.ndarray] = []
    for block in blocks:
        of_block, changed = _block_names(block)
        names += of_block
        flags.append(changed)
    changed = np.concatenate(flags) if flags else np.zeros(0, dtype=bool)
    if names and max(map(len, names)) > LONGEST_NAME:
        for i, name in enumerate(names):
            if len(name) > LONGEST_NAME:
                names[i], changed[i] = name[:LONGEST_NAME], True
    if len(set(names)) < len(names):
        _separate(names, changed)
    return names, _explain(blocks, names, changed)


def numbered_names(blocks: Sequence[Block], letter: str, digits: int = 0) -> tuple[list[str], NameMap]:
    """Return ``letter`` and the position in the Program as the name of every element, and what they stand for.

    With ``digits``, positions count from one and are filled with zeros: ``R0000001``.
    """
    size = sum(map(len, blocks))
    names = [f"{letter}{i + 1:0{digits}d}" for i in range(size)] if digits else [f"{letter}{i}" for i in range(size)]
    return names, _explain(blocks, names, np.ones(len(names), dtype=bool))


def unused(name: str, taken: Collection[str]) -> str:
    """Return ``name``, or the first of ``name_2``, ``name_3``, … that is not taken."""
    candidate, k = name, 2
    while candidate in taken:
        candidate, k = f"{name}_{k}", k + 1
    return candidate


def clean(text: str) -> str:
    """Return ``text`` with only ASCII letters, digits and ``_``, and not empty."""
    return _ILLEGAL.sub("_", text) or "_"


def _block_names(block: Block) -> tuple[list[str], np.ndarray]:
    """Return the file names of a block's elements, and which differ from the labels joined by dots."""
    if isinstance(block, NamedBlock):
        given = block.names()
        names = [_ILLEGAL_IN_WHOLE.sub("_", name) or "_" for name in given]
        names = ["_" + name if _LIKE_A_NUMBER.match(name) or name.lower() in _RESERVED else name for name in names]
        return names, np.array([a != b for a, b in zip(given, names, strict=True)], dtype=bool)
    head = clean(block.name)
    if _LIKE_A_NUMBER.match(head) or (not block.axes and head.lower() in _RESERVED):
        head = "_" + head
    changed = np.full(len(block), head != block.name)
    if not block.axes:
        return [head] * len(block), changed
    columns = []
    for (_, labels), at in zip(block.axes, np.unravel_index(_positions(block), block.shape), strict=True):
        plain = [str(label) for label in labels]
        cleaned = [clean(text) for text in plain]  # each distinct label once, however many elements carry it
        columns.append(np.array(cleaned, dtype=object)[at].tolist())
        changed |= np.array([a != b for a, b in zip(plain, cleaned, strict=True)], dtype=bool)[at]
    return list(map(".".join, zip(repeat(head, len(block)), *columns, strict=True))), changed


def _positions(block: Block) -> np.ndarray:
    return np.arange(len(block)) if block.positions is None else block.positions


def _separate(names: list[str], changed: np.ndarray) -> None:
    """Make names unique in place: of equal ones the first keeps it, an unchanged one before changed ones."""
    taken, kept, suffixes = set(names), set[str](), dict[str, int]()
    for i in np.argsort(changed, kind="stable").tolist():
        name = names[i]
        if name not in kept:
            kept.add(name)
            continue
        k = suffixes.get(name, 2)
        while (candidate := f"{name[: LONGEST_NAME - len(str(k)) - 1]}_{k}") in taken:
            k += 1
        suffixes[name] = k + 1
        taken.add(candidate)
        names[i], changed[i] = candidate, True


def _explain(blocks: Sequence[Block], names: Sequence[str], changed: np.ndarray) -> NameMap:
    """Return block, labels and human name of every changed element, by file name."""
    mapping: NameMap = {}
    start = 0
    for block in blocks:
        which = np.flatnonzero(changed[start : start + len(block)])
        if which.size:
            at = _positions(block)[which] if block.axes else None
            part = replace(block, start=0, stop=which.size, positions=at)
            for i, labels, human in zip(which.tolist(), part.labels(), part.names(), strict=True):
                mapping[names[start + i]] = {"block": block.name, "labels": list(map(str, labels)), "name": human}
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
    """Return the names for a file: from labels, or positions (``r0``, ``c0``) where labels would be too long."""
    if names == "labels":
        rows, row_map = file_names(program.rows)
        columns, column_map = file_names(program.columns)
    elif names == "numbers":
        rows, row_map = numbered_names(program.rows, "r")
        columns, column_map = numbered_names(program.columns, "c")
    else:
        raise UnknownNameError(f"no way to name rows and columns is called {names!r}; {nearest(names, _NAMES)}")
    constant = unused("objective_constant", columns)
    return Naming(rows, columns, unused("objective", rows), constant, row_map, column_map)


def fixed_naming(program: Program) -> Naming:
    """Return numbered names for fixed MPS, ``R0000001`` and ``C0000001``, all of them explained."""
    digits = _FIXED_NAME - 1
    if max(program.n_rows, program.n_columns) >= 10**digits:
        raise ModelError(
            f"program {program.name!r} has {program.n_rows} rows and {program.n_columns} columns, and names of "
            f"{_FIXED_NAME} characters count to {10**digits - 1} only; write profile='portable'"
        )
    rows, row_map = numbered_names(program.rows, "R", digits)
    columns, column_map = numbered_names(program.columns, "C", digits)
    return Naming(rows, columns, "OBJ", "CONSTANT", row_map, column_map)


def check_writable(program: Program, form: str) -> None:
    """Raise ModelError when the Program holds something that the format ``form`` cannot say."""
    if program.logs is not None:
        what = "logarithm" if program.logs.are_logs else "power"
        raise ModelError(
            f"program {program.name!r} has {what}s in its objective ({program.logs.name!r}), and a {what} has no place "
            f"in {form}; hand the model over with Model.to_cvxpy(), or solve it as a sequence of LPs and "
            "write those"
        )
    for what, names, lower, upper in (
        ("row", program.rows, program.row_lower, program.row_upper),
        ("column", program.columns, program.col_lower, program.col_upper),
    ):
        wrong = impossible(lower, upper)
        if wrong.size:
            i = int(wrong[0])
            name = [name for block in names for name in block.names()][i]
            raise ModelError(
                f"program {program.name!r}: {what} {name!r} has lower bound {lower[i]} and upper bound {upper[i]}, "
                f"which no value meets, and {form} readers take such bounds for something else; correct the bounds"
            )


def decimal(value: float) -> str:
    """Return the shortest decimal that reads back as exactly ``value``; whole numbers without ``.0``."""
    return repr(float(value) + 0.0).removesuffix(".0")  # + 0.0 turns -0.0 into 0.0


def decimals(values: np.ndarray, one: Callable[[float], str] = decimal) -> list[str]:
    """Return the decimal of every value; equal values, of which models have many, are formatted once."""
    distinct, inverse = np.unique(np.asarray(values, dtype=float) + 0.0, return_inverse=True)
    texts = np.array([one(value) for value in distinct.tolist()], dtype=object)
    return list(texts[inverse].tolist())


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
    found: np.ndarray = np.isfinite(program.row_lower) | np.isfinite(program.row_upper)
    return found


def left_out(kept: np.ndarray) -> list[str]:
    """Return what the head of a file says of rows that are not kept."""
    return [] if kept.all() else [f"Rows without any bound are left out: {(~kept).sum()}."]


def about(program: Program) -> list[str]:
    """Return what the head of every file says."""
    head = [f"{program.name or 'model'}: written by fairlp, {program.n_rows} rows, {program.n_columns} columns"]
    if program.source:
        head.append(f"source: {program.source}")
    for what, blocks in (("rows", program.rows), ("columns", program.columns)):
        if any(isinstance(block, NamedBlock) for block in blocks):
            head.append(f"Names of {what}: as given.")
    return head
