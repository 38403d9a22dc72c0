"""Undo what our own writers did to a Program: names, blocks, sense, constant, and rows written as two."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from ...errors import FileFormatError
from ..programs.program import Block, Program
from .names import NamedBlock, NameMap, clean
from .source import Parsed, Source, is_ours, shown
from .whole_files import read_bytes

#: Symbols of the indices, whose own are in no file.
_SYMBOLS: Final = "ijklmnopq"
_CONSTANT = re.compile(r"The objective's constant is the cost of column (\S+), which is fixed at 1\.")
_SOURCE = re.compile(
    r"^source: (.*?)(?=\n(?:objective: |The objective's |Rows without |A row with |Names |Numbers )|\Z)", re.M | re.S
)
_NUMBERED = re.compile(r"r\d+|c\d+|R\d{7}|C\d{7}")
_LOWER, _UPPER = re.compile(r"\.lower(_\d+)?$"), re.compile(r"\.upper(_\d+)?$")
_Key = tuple[str, ...] | str


def restored(source: Source, parsed: Parsed) -> Program:
    """Return the Program that a file holds, with the constant, the sense and the blocks that our writers took apart."""
    side = _side_file(source.path)
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
        if missing := entries.keys() - set(names):
            raise FileFormatError(
                f"{source.path}.names.json explains {what} {min(missing)!r}, which is not in {source.path.name}: they "
                "do not belong together; remove it to read the model with the names of the file"
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


def _side_file(model: Path) -> tuple[NameMap, NameMap] | None:
    """Return what stands behind the names of rows and columns, None without the side file."""
    path = model.with_name(model.name + ".names.json")
    if not path.exists():
        return None
    try:
        document = json.loads(read_bytes(path))
        maps = document["rows"], document["columns"]
        for entry in (entry for names in maps for entry in names.values()):
            texts = [entry["block"], entry["name"], *entry["labels"]]
            if not all(isinstance(text, str) for text in texts) or not isinstance(entry["labels"], list):
                raise TypeError(shown(str(entry)))
    except FileFormatError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise FileFormatError(
            f"{path} does not explain names as fairlp writes it ({shown(str(error))}); restore it, or remove it to "
            "read the model with the names of the file"
        ) from None
    return maps


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
        if keys[i] == keys[i + 1]
        and _LOWER.search(parsed.row_names[i])
        and _UPPER.search(parsed.row_names[i + 1])
        and (upper[i], lower[i + 1]) == (np.inf, -np.inf)
        and lower[i] <= upper[i + 1]
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
