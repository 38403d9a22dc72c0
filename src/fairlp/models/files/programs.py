"""Read MPS and LP files from anywhere into a Program, and write a Program as one; the suffix tells the format."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from ...errors import FileFormatError
from ..programs.program import Program
from .source import Source
from .whole_files import home, read_bytes, unpacked

_EXPECTED: Final = "expected .mps, .lp, .mps.gz or .lp.gz"
#: Control characters other than tab and the ends of lines: no text has them.
_CONTROL: Final = bytes(set(range(32)) - set(b"\t\n\r")) + b"\x7f"


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

    source = _open(home(path))
    if _kind(source.path) == ".mps":
        from .mps_reader import parse_mps

        return restored(source, parse_mps(source))
    from .lp_reader import parse_lp

    return restored(source, parse_lp(source))


def write_program(program: Program, path: str | Path, **options: Any) -> list[Path]:
    """Write a program as MPS or LP, compressed when the name ends in ``.gz``.

    Parameters
    ----------
    program : Program
    path : str or Path
        ``x.mps``, ``x.lp``, ``x.mps.gz`` or ``x.lp.gz``.
    **options
        ``profile="portable"`` (default), ``"full"`` or ``"fixed"`` for MPS, ``constant="column"`` (default) or
        ``"term"`` for LP, ``names="labels"`` (default) or ``"numbers"`` for both; see
        :func:`fairlp.models.files.mps_writer.write_mps` and :func:`fairlp.models.files.lp_writer.write_lp`.

    Returns
    -------
    list of Path
        The files written: the model and, when labels had to be changed to fit the format, ``<path>.names.json``.

    Raises
    ------
    FileFormatError
        For another suffix.
    """
    target = home(path)
    kind = _kind(target)
    if kind == ".mps":
        from .mps_writer import write_mps

        return write_mps(program, target, **options)
    if kind == ".lp":
        from .lp_writer import write_lp

        return write_lp(program, target, **options)
    raise FileFormatError(
        f"cannot tell the format of {target.name!r}; expected .mps, .lp, .mps.gz or .lp.gz (or .nl, from a Model)"
    )


def _open(path: Path) -> Source:
    """Return the file's text, unpacked, with one kind of line ends; raise when it is not text."""
    if _kind(path) not in (".mps", ".lp"):
        raise FileFormatError(f"cannot tell the format of {path.name!r}; {_EXPECTED}")
    content = read_bytes(path)
    if path.suffix.lower() == ".gz":
        content = unpacked(content, path)
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


def _kind(path: Path) -> str:
    """Return the suffix that tells the format, before that of a compressed file."""
    return Path(path.name.lower().removesuffix(".gz")).suffix
