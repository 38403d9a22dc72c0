"""Write a Model as ``.nl``, the files of AMPL's solvers, with Pyomo's own writer: logarithms have a place there."""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import FileFormatError

if TYPE_CHECKING:
    from ..notation.model import Model


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
        ``x.nl``, ``x.row`` and ``x.col``: the names, a line each, in the order of the file. The objective's name is
        the last line of ``x.row``.

    Raises
    ------
    FileFormatError
        For another suffix, or a folder that is not there.

    Examples
    --------
    >>> import fairlp, tempfile
    >>> from fairlp import examples
    >>> model = fairlp.formulate(examples.ghodsi(), "drf")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [file.name for file in write_nl(model, f"{folder}/drf.nl")]
    ['drf.nl', 'drf.row', 'drf.col']
    """
    target = Path(path)
    if target.suffix.lower() != ".nl":
        raise FileFormatError(f"cannot write {target.name!r} as .nl; expected a name that ends in .nl")
    if not target.absolute().parent.is_dir():
        raise FileFormatError(f"cannot write {str(target)!r}: there is no folder {str(target.parent)!r}; make it first")
    concrete = model.to_pyomo()  # which says what to do without Pyomo
    from pyomo.opt import WriterFactory

    place = Path(os.path.realpath(target))
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=".") as folder:
        names = [target.name, target.with_suffix(".row").name, target.with_suffix(".col").name]
        files = [Path(folder, name) for name in names]
        with ExitStack() as stack:
            streams = [stack.enter_context(open(file, "w", encoding="utf-8", newline="\n")) for file in files]
            WriterFactory("nl_v2").write(concrete, *streams, symbolic_solver_labels=True)
        for file in files[1:]:
            os.replace(file, place.with_name(file.name))
        os.replace(files[0], place)
    return [target.with_name(name) for name in names]
