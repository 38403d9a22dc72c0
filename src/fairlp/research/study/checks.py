"""The parts of a study: from what was given to plain data, each name and argument checked before anything runs."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from ...errors import StudyError, UnknownNameError, nearest
from ...mechanisms.mechanism import Mechanism
from ...mechanisms.own import OwnMechanism, located
from ...models.programs.backends import find_backend
from . import functions
from .functions import Named, Plain, plain, shown, words
from .statistics import REGISTRY as STATISTICS

#: Columns of a result that a parameter may not be called.
RESERVED = ("point", "run", "key", "error")
#: Arguments of any statistic that are labels of mechanisms.
_LABELS = ("of", "from")


def points_of(grid: Any) -> tuple[dict[str, Any], ...]:
    """Return the points of a grid: the product of its lists, or the points that are listed."""
    if not isinstance(grid, dict | list) or not grid:
        raise StudyError(
            "the grid is empty; expected parameter → list of values, or a list of points "
            "([{}] for a generator without parameters)"
        )
    if isinstance(grid, dict):
        for name, values in grid.items():
            if not isinstance(values, list) or not values:
                raise StudyError(
                    f"grid.{name} is {values!r}; expected a list of values, such as [{values!r}]"
                )
        points = [
            dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())
        ]
    else:
        points = grid
    seen: dict[tuple[int, ...], int] = {}
    for k, point in enumerate(points):
        if not isinstance(point, dict):
            raise StudyError(
                f"point {k} of the grid is {point!r}; expected a mapping of parameters"
            )
        for name in point:
            if not name.isidentifier() or name in RESERVED:
                raise StudyError(f"point {k}: a parameter cannot be called {name!r}")
        first = seen.setdefault(words(point), k)
        if first != k:
            raise StudyError(f"points {first} and {k} of the grid are the same ({shown(point)})")
    return tuple(points)


def whole(value: Any, name: str, least: int) -> int:
    """Return a whole number of at least ``least``."""
    value = plain(value, name)
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise StudyError(f"{name} is {value!r}; expected a whole number of at least {least}")
    return value


def named(given: Named, registry: functions.Registry, kind: str) -> Named:
    """Return a function by its name where it has one, checked to be there."""
    found = functions.find(given, registry, kind)
    return given if isinstance(given, str) else functions.name_of(found, registry) or found


def mechanisms_of(given: Any) -> dict[str, dict[str, Any]]:
    """Return label → arguments of ``allocate``; names that do not exist are errors."""
    if isinstance(given, str | Mechanism):
        given = [given]
    _refuse_objects(given)
    table = plain(_by_name(given), "mechanisms")
    if isinstance(table, list):
        if not all(isinstance(name, str) for name in table):
            raise StudyError(
                f"mechanisms are {table!r}; expected names, or label → arguments of allocate"
            )
        table = dict(zip(table, table, strict=True))
    if not isinstance(table, dict) or not table:
        raise StudyError(
            "there are no mechanisms; expected names, or label → arguments of allocate"
        )
    found = {}
    for label, arguments in table.items():
        how = {"mechanism": arguments} if isinstance(arguments, str) else arguments
        if not isinstance(how, dict) or not isinstance(how.get("mechanism"), str):
            raise StudyError(
                f"mechanisms.{label} is {arguments!r}; expected a name, or {{'mechanism': name, …}}"
            )
        located(how["mechanism"]).method_name(how.get("method", "auto"))
        if "solver" in how:
            find_backend(how["solver"])
        found[label] = how
    return found


def _refuse_objects(given: Any) -> None:
    """Raise for solvers that are no names: a study is data, and a file of it must say which solver it was."""
    for label, how in given.items() if isinstance(given, Mapping) else ():
        solver = how.get("solver", "") if isinstance(how, Mapping) else ""
        if not isinstance(solver, str):
            raise StudyError(
                f"mechanisms.{label}.solver is {solver!r}; a study names its solvers: "
                "fairlp.register_solver('its-name', …) here, or, for files of studies as well, an "
                "entry point of your "
                "package in the group fairlp.solvers"
            )


def _by_name(given: Any) -> Any:
    """Return the same with mechanisms of one's own by what another process finds them by, or their name."""
    if isinstance(given, OwnMechanism):
        located(given)
        return given.reference or given.name
    if isinstance(given, Mechanism):
        return given.name
    if isinstance(given, list | tuple):
        return [_by_name(one) for one in given]
    if isinstance(given, Mapping):
        return {
            label: {**how, "mechanism": _by_name(how.get("mechanism"))}
            if isinstance(how, Mapping)
            else _by_name(how)
            for label, how in given.items()
        }
    return given


def statistics_of(given: Any, labels: Plain) -> tuple[dict[str, Any], ...]:
    """Return statistics as mappings of name, label and arguments; ``labels`` are those of the mechanisms."""
    if isinstance(given, str | Mapping) or callable(given):
        given = [given]
    if not isinstance(given, list | tuple):
        raise StudyError(f"statistics are {given!r}; expected a list")
    found = {}
    for k, entry in enumerate(given):
        how = dict(entry) if isinstance(entry, Mapping) else {"name": entry}
        if "name" not in how:
            raise StudyError(
                f"statistics[{k}] is {entry!r}; expected a name, or {{'name': name, …}}"
            )
        name = named(how.pop("name"), STATISTICS, "statistic")
        label = how.pop("label", functions.short_name(name))
        if not isinstance(label, str) or not label:
            raise StudyError(f"the label of statistics[{k}] is {label!r}; expected text")
        if label in found:
            raise StudyError(
                f"two statistics have the label {label!r}; give one of them another: label: …"
            )
        arguments = plain(how, f"statistics.{label}")
        function = functions.find(name, STATISTICS, "statistic")
        functions.check_arguments(function, 2, arguments, f"statistic {label!r}")
        for argument in _LABELS:
            for wanted in _listed(arguments.get(argument)):
                if not isinstance(wanted, str) or wanted not in labels:
                    raise UnknownNameError(
                        f"statistic {label!r}: no mechanism of the study has the label {wanted!r}; "
                        f"{nearest(wanted, labels)}"
                    )
        found[label] = {"name": name, "label": label, **arguments}
    if not found:
        raise StudyError("there are no statistics; expected at least one, such as 'summary'")
    return tuple(found.values())


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]
