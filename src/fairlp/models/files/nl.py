"""Write a Model as ``.nl``, the files of AMPL's solvers, with Pyomo's own writer: logarithms have a place there."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import FileFormatError
from .whole_files import drafts, home, require_folder

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
    target = home(path)
    if target.suffix.lower() != ".nl":
        raise FileFormatError(f"cannot write {target.name!r} as .nl; expected a name that ends in .nl")
    require_folder(target)
    concrete = model.to_pyomo()  # which says what to do without Pyomo
    from pyomo.opt import WriterFactory

    files = [target, target.with_suffix(".row"), target.with_suffix(".col")]
    with drafts(*files) as places, ExitStack() as stack:
        streams = [stack.enter_context(open(place, "w", encoding="utf-8", newline="\n")) for place in places]
        WriterFactory("nl_v2").write(concrete, *streams, symbolic_solver_labels=True)
    return files
