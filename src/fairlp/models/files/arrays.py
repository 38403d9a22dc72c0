"""Arrays and one document of plain data in a file, an ``.npz`` as NumPy reads it: data, and nothing that could run.

Python's pickles run what they are told to when they are read; so no file of fairlp is one, and arrays of objects are
neither written nor read.
"""

from __future__ import annotations

import json
import math
import re
import zipfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import numpy as np

from ...errors import FileFormatError
from .whole_files import MOST_ARRAYS, MOST_HEADER, drafts, read_bytes

#: The name of the document among the arrays.
_DOCUMENT: Final = "document"
_SUFFIX: Final = ".npy"
#: How NumPy begins a file of one array of numbers; its own reader takes headers for Python.
_HEADER: Final = re.compile(
    rb"\x93NUMPY(?:\x01\x00..|\x02\x00....)\{'descr': '(?P<kind>[<>|][iuf][0-9]{1,2})', "
    rb"'fortran_order': (?P<fortran>True|False), 'shape': \((?P<shape>(?:[0-9]{1,18}, ?)*(?:[0-9]{1,18})?)\), \} *+\n",
    re.DOTALL,
)
#: What reading an archive that is damaged, or made to do damage, may raise.
_DAMAGE: Final = (
    zipfile.BadZipFile, ValueError, KeyError, TypeError, AttributeError, NotImplementedError, RuntimeError, EOFError,
    SyntaxError, OverflowError, MemoryError,
)  # fmt: skip


class Arrays:
    """What a file holds, taken part by part; a part that is not there or not as expected is an error.

    Parameters
    ----------
    path : Path
        For error messages.
    document : dict
    arrays : mapping of str to ndarray
    """

    def __init__(self, path: Path, document: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        self.path, self.document = path, document
        self._arrays = arrays

    def fault(self, what: str) -> FileFormatError:
        """Return the error that the file is damaged."""
        return FileFormatError(f"{str(self.path)!r} is damaged: {what}; remove it to start afresh")

    def floats(self, name: str, *shape: int | None) -> np.ndarray:
        """Return an array of floats; None in its shape stands for any length."""
        return self._found(name, np.float64, shape)

    def wholes(self, name: str, *shape: int | None, below: int | None = None) -> np.ndarray:
        """Return an array of whole numbers of at least 0 (and below a limit)."""
        found = self._found(name, np.int64, shape)
        if found.size and (found.min() < 0 or (below is not None and found.max() >= below)):
            raise self.fault(f"{name!r} has numbers that cannot be")
        return found

    def numbers(self, name: str, *shape: int | None) -> np.ndarray:
        """Return an array of floats or of whole numbers, as it was written."""
        kind = getattr(self._arrays.get(name), "dtype", None)
        return self._found(name, np.int64 if kind == np.int64 else np.float64, shape)

    def whole(self, name: str, below: int | None = None) -> int:
        """Return one whole number of at least 0."""
        return int(self.wholes(name, below=below))

    def number(self, name: str) -> float:
        """Return one finite number."""
        found = float(self.floats(name))
        if not np.isfinite(found):
            raise self.fault(f"{name!r} is {found}")
        return found

    def _found(self, name: str, kind: type[np.generic], shape: tuple[int | None, ...]) -> np.ndarray:
        found = self._arrays.get(name)
        if found is None:
            raise self.fault(f"there is no {name!r}")
        fits = found.ndim == len(shape) and all(k in (None, n) for k, n in zip(shape, found.shape, strict=True))
        if found.dtype != kind or not fits:
            raise self.fault(f"{name!r} is {found.dtype} of shape {found.shape}; expected {kind.__name__} of {shape}")
        return found


def write_arrays(path: Path, document: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Write arrays of numbers, whole or not at all; equal ones give equal bytes."""
    text = json.dumps(document, separators=(",", ":")).encode()
    contents = {_DOCUMENT: np.frombuffer(text, dtype=np.uint8), **arrays}
    with drafts(path) as [draft], zipfile.ZipFile(draft, "w", zipfile.ZIP_STORED) as packed:
        for name, array in contents.items():
            # an entry that is made by hand has no time in it
            with packed.open(zipfile.ZipInfo(f"{name}{_SUFFIX}"), "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.asarray(array), allow_pickle=False)


def read_arrays(path: Path, what: str) -> Arrays:
    """Return what `write_arrays` wrote; ``what`` it should be is for the error message.

    Nothing in the file is believed: entries that are compressed, larger than the file, or no numbers are refused
    before memory is set aside for them.
    """
    content = read_bytes(path)
    try:
        with zipfile.ZipFile(BytesIO(content)) as packed:
            entries = packed.infolist()
            if len(entries) > MOST_ARRAYS or sum(entry.file_size for entry in entries) > len(content):
                raise ValueError("its entries are more than it can hold")
            if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
                raise ValueError("its entries are compressed")
            arrays = {entry.filename.removesuffix(_SUFFIX): _array(packed.read(entry)) for entry in entries}
        document = json.loads(arrays.pop(_DOCUMENT)[: MOST_HEADER + 1].astype(np.uint8).tobytes())
        if not isinstance(document, dict):
            raise ValueError("its document is no mapping")
    except (*_DAMAGE, RecursionError) as error:
        reason = str(error)[:100] or type(error).__name__
        raise FileFormatError(f"{str(path)!r} holds no {what} ({reason}); remove it to start afresh") from None
    return Arrays(path, document, arrays)


def _array(content: bytes) -> np.ndarray:
    """Return one array of numbers; its size is compared with what is there before it is made."""
    header = _HEADER.match(content[: MOST_HEADER + 1])
    if header is None:
        raise ValueError("an array does not begin as NumPy writes arrays of numbers")
    kind, shape = np.dtype(header["kind"].decode()), tuple(map(int, header["shape"].replace(b",", b" ").split()))
    start, count = header.end(), math.prod(shape)
    if count * kind.itemsize != len(content) - start:
        raise ValueError("an array is cut off")
    values = np.frombuffer(content, kind, offset=start) if count else np.zeros(0, kind)
    return values.reshape(shape, order="F" if header["fortran"] == b"True" else "C").copy(order="K")
