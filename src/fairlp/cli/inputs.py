"""From what was typed to an Instance: a file, a folder, a trace, or the name of a worked example."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import FileFormatError, UnknownNameError, nearest
from ..models.files.whole_files import home

if TYPE_CHECKING:
    from ..models.instances.instance import Instance
    from ..operations.reports.subject import Subject

_NODES = "openb_node_list_all_node.csv"
#: Tables of tasks in the Alibaba trace, the preferred one first (a third of its GPU tasks name their GPU models).
_TASKS = ("openb_pod_list_gpuspec33.csv", "openb_pod_list_default.csv")


def load_instance(text: str) -> Instance:
    """Return the instance that ``text`` names; a file or folder goes before a worked example of the same name.

    Raises
    ------
    UnknownNameError
        When it is neither; the nearest examples are named.
    FileFormatError
        When the file or folder does not hold an instance.
    """
    path = home(text)
    if text and path.exists():
        if (path / _NODES).exists():
            return _alibaba(path)
        from ..models.files.instances import read

        return read(path)
    from ..examples import EXAMPLES, load

    if any(text.casefold() == name.casefold() for name in EXAMPLES):
        return load(text)
    raise UnknownNameError(
        f"there is no file or folder {text!r}, and no worked example of that name; {nearest(text, EXAMPLES)}"
    )


def _alibaba(folder: Path) -> Instance:
    from ..models.files.traces import read_alibaba_gpu

    there = sorted(path.name for path in folder.glob("openb_pod_list_*.csv"))
    if not there:
        raise FileFormatError(
            f"{str(folder)!r} has {_NODES} but no openb_pod_list_*.csv; expected {' or '.join(_TASKS)}"
        )
    tasks = next((name for name in _TASKS if name in there), there[0])
    return read_alibaba_gpu(folder / _NODES, folder / tasks)


def load_subject(text: str, scheduler: str | None = None) -> Subject:
    """Return what a report is about: what a scheduler's tools print, or an instance as `load_instance` takes it."""
    from ..operations.reports.subject import is_dump, subject_of

    if scheduler is not None or (text and is_dump(text)):
        return subject_of(text, scheduler=scheduler)
    return subject_of(load_instance(text))
