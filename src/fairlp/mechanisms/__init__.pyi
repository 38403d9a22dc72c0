"""The names of ``fairlp.mechanisms``, and where each lives (``__init__.py`` reads it)."""

from .allocation import tasks_of as tasks_of
from .mechanism import run as run
from .references import load_function as load_function, located as located, module_of as module_of
from .table import (
    OWN as OWN,
    TABLE as TABLE,
    find as find,
    find_defined as find_defined,
    table as table,
)
from .whole_tasks.placement import POLICIES as POLICIES, SLOTS as SLOTS, Servers as Servers

__all__ = [
    "OWN",
    "POLICIES",
    "SLOTS",
    "TABLE",
    "Servers",
    "find",
    "find_defined",
    "load_function",
    "located",
    "module_of",
    "run",
    "table",
    "tasks_of",
]
