"""THE table: which family of mechanisms has which name, and the rows of all of them."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, overload

from ..errors import NotDefinedError, UnknownNameError, quoted
from ..registry import Registry

if TYPE_CHECKING:
    import pandas as pd

    from ..models.instances.instance import Instance
    from .mechanism import Mechanism

__all__ = ["OWN", "TABLE", "find", "find_defined"]

_MAX_MIN = "fairlp.mechanisms.max_min.rows"
_PER_SERVER = "fairlp.mechanisms.per_server.rows"
_COMPLAINTS = "fairlp.mechanisms.complaints.rows"
_WHOLE_TASKS = "fairlp.mechanisms.whole_tasks.rows"
_ARRIVALS = "fairlp.mechanisms.arrivals.rows"
_GPU = "fairlp.mechanisms.gpu.rows"

#: name → the module whose ``ROWS`` hold it, in the order of the documentation; it is imported when
#: first asked for
FAMILIES: dict[str, str] = {
    name: family
    for family, names in (
        (_MAX_MIN, "drf edrf asset drfh c-drfh cdrf tsf naive-drf kueue gavel"),
        (_GPU, "oef allox shockwave"),
        (_MAX_MIN, "h-drf-counted h-drf h-drf-collapsed"),
        (_PER_SERVER, "psdsf-rdm psdsf-tdm"),
        (_COMPLAINTS, "njc ceei partial-allocation alpha-fair"),
        (_WHOLE_TASKS, "drf-discrete h-drf-counted-whole h-drf-discrete h-drf-naive drf-milp mnw"),
        (_WHOLE_TASKS, "pdrf sequential-minmax"),
        (_ARRIVALS, "dynamic-drf cautious-lp"),
        (_WHOLE_TASKS, "drfh-first-fit drfh-best-fit slots karma"),
    )
    for name in names.split()
}


@cache
def _rows(family: str) -> dict[str, Mechanism]:
    """Return the rows of a family by name."""
    return {row.name: row for row in importlib.import_module(family).ROWS}


def _ours(name: str) -> Mechanism:
    """Return one of fairlp's rows."""
    return _rows(FAMILIES[name])[name]


class _MechanismTable(Registry["Mechanism"]):
    """name → row; a family is imported when a row of it is asked for."""

    def __getitem__(self, name: str) -> Mechanism:
        row = super().__getitem__(name)
        if getattr(row, "name", None) != name:
            raise UnknownNameError(
                f"the package's entry point {quoted(name)} leads to {row!r}, which is no mechanism of "
                "that name; "
                "decorate the function with @fairlp.mechanism"
            )
        return row


TABLE = _MechanismTable("mechanism", __name__.rpartition(".")[0], FAMILIES, _ours)
#: Mechanisms of one's own, by name: what ``@fairlp.mechanism`` declared in this process.
OWN = TABLE.declared


def find(name: str | Mechanism) -> Mechanism:
    """Return the mechanism of that name, in any case.

    A mechanism itself is registered under its name.

    Parameters
    ----------
    name : str or Mechanism

    Returns
    -------
    Mechanism

    Raises
    ------
    UnknownNameError
        For a name that there is not (the nearest are named), or a function that is not decorated.
    """
    if isinstance(name, str) and name in FAMILIES:
        return _ours(name)
    if not isinstance(name, str) and hasattr(name, "method_names"):
        if name.name not in FAMILIES:
            OWN[name.name] = name
        return name
    return TABLE[TABLE.spelt(name)]


def find_defined(
    name: str | Mechanism, instance: Instance, options: Mapping[str, Any] | None = None
) -> Mechanism:
    """Return the mechanism of that name; raise NotDefinedError when it is not for the instance.

    The message names the mechanisms that are defined. With options, the row is the one that they
    ask for (``whole=True``).
    """
    from ..models.instances.instance import require_instance

    require_instance(instance)
    row = find(name).under(options or {})
    reason = row.undefined(instance)
    if reason:
        others = [other.name for other in TABLE.values() if other.undefined(instance) is None]
        raise NotDefinedError(
            f"{row.name} is not defined here: {reason}; defined are: {', '.join(others)}"
        )
    return row.defined_for(instance)


def listed() -> dict[str, dict[str, str]]:
    """Return every mechanism by name: title, source, methods, options, domain, promises."""
    return {
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


@overload
def table() -> pd.DataFrame: ...


@overload
def table(name: str | Mechanism) -> Mechanism: ...


def table(name: str | Mechanism | None = None) -> pd.DataFrame | Mechanism:
    """Return every mechanism as a DataFrame indexed by name, or one of them.

    Parameters
    ----------
    name : str or Mechanism, optional
        In any case. The mechanism has ``methods``, ``promises``, ``references`` (papers, with
        ``doi`` and ``url``) and ``bibtex``.

    Returns
    -------
    DataFrame or Mechanism
        Columns: title, source, methods, options, defined_for, promises.

    Raises
    ------
    UnknownNameError
        When there is no mechanism of that name.

    Examples
    --------
    >>> import fairlp
    >>> print(fairlp.mechanisms("naive-drf").bibtex)  # doctest: +ELLIPSIS
    @inproceedings{wang2014dominant,
      author = {Wei Wang and Baochun Li and Ben Liang},
    ...
    """
    if name is not None:
        return find(name)
    import pandas as pd

    return pd.DataFrame.from_dict(listed(), orient="index").rename_axis("mechanism")
