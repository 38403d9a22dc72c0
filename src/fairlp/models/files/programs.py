"""Read an MPS or LP file into a Program, and write a Model as NL.

What our own writers did to a Program is undone: names, blocks, sense, constant, and rows written as
two.
"""

from __future__ import annotations

import gc
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import compress, count as counter, groupby, pairwise
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from ...errors import FileFormatError
from ..programs.program import Block, Program
from ..programs.writers import format_of
from .model_text import PIECE, NamedBlock, NameMap, Parsed, Source, clean, is_ours
from .plain_data import plain_json, require_form
from .whole_files import drafts, home, read_bytes, read_content, require_folder

if TYPE_CHECKING:
    from ..notation.model import Model

_EXPECTED: Final = "expected .mps, .lp, .mps.gz or .lp.gz"
#: Control characters other than tab and the ends of lines: no text has them.
_CONTROL: Final = bytes(set(range(32)) - set(b"\t\n\r")) + b"\x7f"
#: Symbols of the indices, whose own are in no file.
_SYMBOLS: Final = "ijklmnopq"
_CONSTANT = re.compile(
    r"The objective's constant is the cost of column (\S+), which is fixed at 1\."
)
_SOURCE = re.compile(
    r"^source: (.*?)(?=\n(?:objective: |The objective's |Rows without |A row with |Names |Numbers )|\Z)",
    re.M | re.S,
)
_NUMBERED = re.compile(r"r\d+|c\d+|R\d{7}|C\d{7}")
_LOWER = re.compile(r"\.lower(_\d+)?$")
_UPPER = re.compile(r"\.upper(_\d+)?$")
#: Block and labels; for a name that stands for itself, None and the name.
_Key = tuple[Any, ...]


def read_program(path: str | Path) -> Program:
    """Return the linear or mixed-integer program of an MPS or LP file.

    Parameters
    ----------
    path : str or Path
        ``x.mps``, ``x.lp``, ``x.mps.gz`` or ``x.lp.gz``; MPS in free or fixed format.

    Returns
    -------
    Program
        With the names of the file, in a block of rows called ``row`` and one of columns called
        ``column``. Files that fairlp wrote give back their blocks and labels (as text), sense and
        constant; ``<path>.names.json`` is used if it is there.

    Raises
    ------
    FileFormatError
        When the file is not there, cut off, compressed wrongly, not text, or says something that no
        linear or mixed-integer program can be; the message gives file, line, text and what was
        expected.

    Notes
    -----
    Where solvers read a file differently, a `FairlpWarning` says so; see ``docs/model-files.md``.
    Bounds of 1e20 and more mean none, as solvers take them, except in files that fairlp wrote.

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
    path = home(path)
    if format_of(path) == ".mps":
        from .mps import parse_mps as parse
    else:
        from .lp import parse_lp as parse
    with _without_collection():
        return _restored(
            path, parse(_open(path))
        )  # the text, which is no longer needed, takes most of the memory


@contextmanager
def _without_collection() -> Iterator[None]:
    """Pause the garbage collector, which takes a quarter of the time and collects nothing.

    Millions of words make no cycles.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def write_nl(model: Model, path: str | Path) -> list[Path]:
    """Write a Model as ``.nl``, with the names of rows and columns beside it.

    Parameters
    ----------
    model : Model
    path : str or Path
        ``x.nl``; its files are moved to their places when all of them are whole.

    Returns
    -------
    list of Path
        ``x.nl``, ``x.row`` and ``x.col``: the names, a line each, in the order of the file. The
        objective's name is the last line of ``x.row``.

    Raises
    ------
    FileFormatError
        For a folder that is not there.

    Examples
    --------
    >>> import fairlp, tempfile
    >>> from fairlp import examples
    >>> model = fairlp.formulate(examples.ghodsi(), "drf")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [file.name for file in write_nl(model, f"{folder}/drf.nl")]
    ['drf.nl', 'drf.row', 'drf.col']
    """
    target = home(path)
    require_folder(target)
    concrete = model.to_pyomo()  # which says what to do without Pyomo
    from pyomo.opt import WriterFactory

    files = [target, target.with_suffix(".row"), target.with_suffix(".col")]
    with drafts(*files) as places, ExitStack() as stack:
        streams = [
            stack.enter_context(open(place, "w", encoding="utf-8", newline="\n"))
            for place in places
        ]
        WriterFactory("nl_v2").write(concrete, *streams, symbolic_solver_labels=True)
    return files


def _open(path: Path) -> Source:
    """Return the file's text, unpacked, with one kind of line ends; raise when it is not text."""
    if format_of(path) not in (".mps", ".lp"):
        raise FileFormatError(f"cannot tell the format of {path.name!r}; {_EXPECTED}")
    content = read_content(path)
    if b"\r" in content:
        content = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    source = Source(path, content)
    pieces = (content[start : start + PIECE] for start in range(0, len(content), PIECE))
    if any(len(piece.translate(None, _CONTROL)) < len(piece) for piece in pieces):
        match = re.search(b"[%b]" % re.escape(_CONTROL), content)
        assert match
        line = content.count(b"\n", 0, match.start()) + 1
        raise source.fault(
            line, f"byte 0x{match[0][0]:02x} is no text; expected an MPS or LP file in UTF-8"
        )
    return source


def _restored(path: Path, parsed: Parsed) -> Program:
    """Return the Program of a file, with the constant, sense and blocks that fairlp wrote."""
    side_file = _side_file(path)
    title = is_ours(parsed.comments)
    text = "\n".join(parsed.comments)
    published = ""
    if title is not None:
        if clean(title).startswith(parsed.name):
            parsed.name = title
        if match := _SOURCE.search(text):
            published = " ".join(match[1].split())
        _undo(parsed, text)
    by_fairlp = title is not None or side_file is not None
    keys = []
    for noun, names, entries in zip(
        ("row", "column"),
        (parsed.row_names, parsed.column_names),
        side_file or ({}, {}),
        strict=True,
    ):
        if missing := entries.keys() - set(names):
            raise FileFormatError(
                f"{path}.names.json explains {noun} {min(missing)!r}, which is not in {path.name}: "
                "they "
                "do not belong together; remove it to read the model with the names of the file"
            )
        keys.append(
            _keys(names, entries, split=by_fairlp and f"Names of {noun}s: as given." not in text)
        )
    rows, columns = keys
    if side_file is not None:
        rows = _join_rows(parsed, rows)
    if by_fairlp and format_of(path) == ".lp":
        columns = _gather_columns(parsed, columns)
    name = parsed.name or path.name.split(".")[0]
    return Program(
        name, parsed.sense, parsed.c, parsed.offset, parsed.A, parsed.row_lower, parsed.row_upper,
        parsed.col_lower, parsed.col_upper, parsed.integrality, _blocks("row", rows), _blocks("column", columns),
        source=published, switched=np.flatnonzero([] if parsed.switched is None else parsed.switched),
    )  # fmt: skip


def _side_file(model: Path) -> tuple[NameMap, NameMap] | None:
    """Return what stands behind the names of rows and columns, None without the side file."""
    path = model.with_name(model.name + ".names.json")
    if not path.exists():
        return None
    document = plain_json(read_bytes(path), str(path))
    names = {str: {"block": str, "name": str, "labels": [str]}}
    require_form(document, {"rows": names, "columns": names}, str(path))
    return document["rows"], document["columns"]


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
        parsed.sense = "max"
        parsed.offset = -parsed.offset + 0.0
        parsed.c = -parsed.c + 0.0


def _take_columns(parsed: Parsed, order: np.ndarray) -> None:
    for name in ("c", "col_lower", "col_upper", "integrality"):
        setattr(parsed, name, getattr(parsed, name)[order])
    parsed.A = parsed.A[:, order]
    parsed.column_names = [parsed.column_names[j] for j in order.tolist()]


def _keys(names: Sequence[str], entries: NameMap, split: bool) -> list[_Key]:
    """Return block and labels of every name, or the name alone where it stands for itself."""
    if split and not entries and all(map(_NUMBERED.fullmatch, names)):
        split = False  # numbers whose side file is lost
    keys: list[_Key] = [(None, name) for name in names]
    if split:
        keys = [tuple(name.split(".")) for name in names]
    for i, name in enumerate(names if entries else ()):
        entry = entries.get(name)
        if not entry:
            continue
        key = (entry["block"], *entry["labels"])
        is_shown_alike = _shown_key(key) == entry["name"] or len(key) == 1
        keys[i] = key if is_shown_alike else (None, entry["name"])
    return keys


def _join_rows(parsed: Parsed, keys: list[_Key]) -> list[_Key]:
    """Join the two rows, one for each bound, that the LP writer made of one row."""
    lower = parsed.row_lower
    upper = parsed.row_upper
    rows = parsed.A.tocsr()
    rows.sort_indices()
    remains = np.ones(len(keys), dtype=bool)
    for i, names in enumerate(pairwise(parsed.row_names)):
        if (
            keys[i] == keys[i + 1]
            and _LOWER.search(names[0])
            and _UPPER.search(names[1])
            and (upper[i], lower[i + 1]) == (np.inf, -np.inf)
            and lower[i] <= upper[i + 1]
            and remains[i]
        ):
            a, b, end = rows.indptr[i : i + 3].tolist()
            arrays = (rows.indices, rows.data)
            if all(np.array_equal(array[a:b], array[b:end]) for array in arrays):
                upper[i] = upper[i + 1]
                remains[i + 1] = False
    parsed.A = rows[np.flatnonzero(remains)].tocsc()
    parsed.row_lower = lower[remains]
    parsed.row_upper = upper[remains]
    if parsed.switched is not None:
        parsed.switched = parsed.switched[remains]
    return list(compress(keys, remains))


def _gather_columns(parsed: Parsed, keys: list[_Key]) -> list[_Key]:
    """Bring the columns of a block together, which LP files list in order of occurrence."""
    first: dict[Any, int] = {}
    places = [first.setdefault(family, len(first)) for family in _families(keys)]
    order = np.argsort(np.array(places, dtype=np.int64), kind="stable")
    if (np.diff(order) < 0).any():
        _take_columns(parsed, order)
    return [keys[j] for j in order.tolist()]


def _families(keys: list[_Key]) -> Iterator[tuple[str | None, int]]:
    """Yield block and number of labels of every name: what is equal for the elements of a block."""
    return zip(map(itemgetter(0), keys), map(len, keys), strict=True)


def _blocks(noun: str, keys: list[_Key]) -> tuple[Block, ...]:
    """Return the blocks of rows or columns, or one of whole names where labels are not unique."""
    blocks = []
    start = 0
    for (name, _), group in groupby(_families(keys)):
        stop = start + len(list(group))
        members = keys[start:stop]
        block = _one_block(noun, members, start) if name is None else _block(name, members, start)
        if block is None:
            break
        blocks.append(block)
        start = stop
    if start < len(keys) or len({block.name for block in blocks}) < len(blocks):
        return (_one_block(noun, keys, 0),)
    return tuple(blocks)


def _shown_key(key: _Key) -> str:
    """Return a name as people write it: ``capacity[server3,cpu]``."""
    if key[0] is None:
        return str(key[1])
    block, *labels = key
    return f"{block}[{','.join(labels)}]" if labels else str(block)


def _one_block(noun: str, keys: Sequence[_Key], start: int) -> Block:
    names = pd.Index(list(map(_shown_key, keys)), dtype=object)
    return NamedBlock(noun, ((noun, names),), start, start + len(keys))


def _block(name: str, keys: list[_Key], start: int) -> Block | None:
    """Return a block with one index for each label, or None where two elements coincide."""
    count = len(keys[0]) - 1
    if count == 0:
        return Block(name, (), start, start + 1) if len(keys) == 1 else None
    axes = []
    codes = []
    for k in range(count):
        places: dict[str, int] = defaultdict(counter().__next__)
        codes.append(
            np.fromiter(map(places.__getitem__, map(itemgetter(k + 1), keys)), np.int64, len(keys))
        )
        symbol = _SYMBOLS[k] if k < len(_SYMBOLS) else f"{_SYMBOLS[0]}{k}"
        axes.append((symbol, pd.Index([*places], dtype=object)))
    block = Block(name, tuple(axes), start, start + len(keys))
    try:
        positions = np.ravel_multi_index(tuple(codes), block.shape)
    except ValueError:  # more combinations than integers can count
        return None
    if np.array_equal(positions, np.arange(int(np.prod(block.shape)))):
        return block
    return None if (np.diff(np.sort(positions)) == 0).any() else replace(block, positions=positions)
