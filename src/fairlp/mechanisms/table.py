"""THE table: which family of mechanisms has which name, and the rows of all of them."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from ..errors import NotDefinedError, UnknownNameError, named

if TYPE_CHECKING:
    import pandas as pd

    from ..models.instances.instance import Instance
    from .mechanism import Mechanism

_MAX_MIN = "fairlp.mechanisms.max_min.rows"
_PER_SERVER = "fairlp.mechanisms.per_server.rows"
_COMPLAINTS = "fairlp.mechanisms.complaints.rows"
_WHOLE_TASKS = "fairlp.mechanisms.whole_tasks.rows"
_ARRIVALS = "fairlp.mechanisms.arrivals.rows"

#: name → the module whose ``ROWS`` hold it, in the order of the documentation; it is imported when first asked for
FAMILIES: dict[str, str] = {
    "drf": _MAX_MIN,
    "edrf": _MAX_MIN,
    "asset": _MAX_MIN,
    "drfh": _MAX_MIN,
    "c-drfh": _MAX_MIN,
    "cdrf": _MAX_MIN,
    "tsf": _MAX_MIN,
    "naive-drf": _MAX_MIN,
    "psdsf-rdm": _PER_SERVER,
    "psdsf-tdm": _PER_SERVER,
    "njc": _COMPLAINTS,
    "ceei": _COMPLAINTS,
    "drf-discrete": _WHOLE_TASKS,
    "drf-milp": _WHOLE_TASKS,
    "pdrf": _WHOLE_TASKS,
    "sequential-minmax": _WHOLE_TASKS,
    "dynamic-drf": _ARRIVALS,
    "cautious-lp": _ARRIVALS,
    "drfh-first-fit": _WHOLE_TASKS,
    "drfh-best-fit": _WHOLE_TASKS,
    "slots": _WHOLE_TASKS,
}


class _Table(Mapping[str, "Mechanism"]):
    """name → row; a family is imported when a row of it is asked for."""

    def __getitem__(self, name: str) -> Mechanism:
        return _rows(FAMILIES[name])[name]

    def __iter__(self) -> Iterator[str]:
        return iter(FAMILIES)

    def __len__(self) -> int:
        return len(FAMILIES)


TABLE: Mapping[str, Mechanism] = _Table()


@cache
def _rows(family: str) -> dict[str, Mechanism]:
    """Return the rows of a family by name."""
    return {row.name: row for row in importlib.import_module(family).ROWS}


def find(name: str) -> Mechanism:
    """Return the mechanism of that name, in any case."""
    return TABLE[named(name, FAMILIES, "mechanism")]


def find_defined(name: str, instance: Instance) -> Mechanism:
    """Return the mechanism of that name; raise, naming those that are defined, when it is not for the instance."""
    row = find(name)
    reason = row.undefined(instance)
    if reason:
        others = [other.name for other in TABLE.values() if other.undefined(instance) is None]
        raise NotDefinedError(f"{name} is not defined here: {reason}; defined are: {', '.join(others)}")
    return row


def refuse_options_of_others(row: Mechanism, options: Mapping[str, Any]) -> None:
    """Raise for an option that only other mechanisms have."""
    from dataclasses import fields

    from ..models.programs.solution import Options

    for name in set(options) - {option.name for option in fields(Options)} - set(row.options):
        owners = [other.name for other in TABLE.values() if name in other.options]
        if owners:
            raise UnknownNameError(f"{row.name!r} has no option {name!r}; it is one of {', '.join(owners)}")


def table() -> pd.DataFrame:
    """Return every mechanism as a DataFrame indexed by name: title, source, methods, options, domain, promises."""
    import pandas as pd

    rows = {
        row.name: {
            "title": row.title,
            "source": row.source,
            "methods": ", ".join(row.method_names),
            "options": ", ".join(row.options),
            "defined_for": ", ".join(map(str, row.domain)) or "any instance",
            "promises": ", ".join(row.promises),
        }
        for row in TABLE.values()
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("mechanism")
