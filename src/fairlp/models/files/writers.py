"""Write a Program as a file; the suffix tells the format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...errors import FileFormatError
from ..programs.program import Program


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
    target = Path(path)
    suffixes = [suffix.lower() for suffix in target.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    kind = suffixes[-1] if suffixes else ""
    if kind == ".mps":
        from .mps_writer import write_mps

        return write_mps(program, target, **options)
    if kind == ".lp":
        from .lp_writer import write_lp

        return write_lp(program, target, **options)
    raise FileFormatError(
        f"cannot tell the format of {target.name!r}; expected .mps, .lp, .mps.gz or .lp.gz (or .nl, from a Model)"
    )
