"""Writers of files, by the suffix: named here, and not imported before they are used.

So programs, proofs and models know no file, as they know no back end (:mod:`.backends`).
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from pkgutil import resolve_name
from types import MappingProxyType
from typing import Any

from ...errors import UnknownNameError, nearest, quoted

#: suffix → "module:function" that takes what is written, the path, and options of its own
WRITERS: dict[str, str] = {
    ".mps": "fairlp.models.files.mps:write_mps",
    ".lp": "fairlp.models.files.lp:write_lp",
    ".nl": "fairlp.models.files.programs:write_nl",
    ".json": "fairlp.models.files.proofs:write_proof",
}


def format_of(path: str | Path) -> str:
    """Return the suffix that tells the format, before that of a compressed file.

    >>> format_of("a/cake.MPS.gz"), format_of("cake.lp"), format_of("cake.gz")
    ('.mps', '.lp', '')
    """
    return Path(Path(path).name.lower().removesuffix(".gz")).suffix


def write(
    subject: Any, path: str | Path, suffix: str, options: Mapping[str, Any] = MappingProxyType({})
) -> Any:
    """Write by the writer of a suffix; raise for an option that it does not have."""
    writer = resolve_name(WRITERS[suffix])
    names = list(inspect.signature(writer).parameters)[2:]
    for name in options:
        if name not in names:
            remedy = nearest(name, names) if names else "files of this kind have no options"
            raise UnknownNameError(
                f"{Path(path).name!r} is written without an option {quoted(name)}; {remedy}"
            )
    return writer(subject, path, **options)
