"""The fields of a study, each checked and made plain data before anything runs."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import fairlp
from fairlp import Mechanism, solvers
from fairlp.errors import StudyError, UnknownNameError, nearest, quoted

from . import functions
from .functions import Named, Plain, plain, point_text, words
from .statistics import REGISTRY as STATISTICS

#: Columns of a result, which no parameter may be called.
RESERVED = ("point", "run", "key", "error")
#: Arguments of any statistic that are labels of mechanisms.
_LABEL_ARGUMENTS = ("of", "from")


def points_of(grid: Any) -> tuple[dict[str, Any], ...]:
    """Return the points of a grid: the product of its lists, or the points of a list."""
    if not isinstance(grid, dict | list) or not grid:
        raise StudyError(
            "the grid is empty; expected parameter → list of values, or a list of points "
            "([{}] for a generator without parameters)"
        )
    points = _product(grid) if isinstance(grid, dict) else grid
    positions: dict[tuple[int, ...], int] = {}
    for k, point in enumerate(points):
        if not isinstance(point, dict):
            raise StudyError(
                f"point {k} of the grid is {quoted(point)}; expected a mapping of parameters"
            )
        for name in point:
            if not name.isidentifier() or name in RESERVED:
                raise StudyError(f"point {k}: a parameter cannot be called {name!r}")
        first = positions.setdefault(words(point), k)
        if first != k:
            raise StudyError(
                f"points {first} and {k} of the grid are the same ({point_text(point)})"
            )
    return tuple(points)


def _product(grid: dict[str, Any]) -> list[dict[str, Any]]:
    """Return every combination of the values of each parameter; the last varies fastest."""
    for name, values in grid.items():
        if not isinstance(values, list) or not values:
            raise StudyError(
                f"grid.{name} is {quoted(values)}; expected a list of values, such as [{quoted(values)}]"
            )
    combinations = itertools.product(*grid.values())
    return [dict(zip(grid, values, strict=True)) for values in combinations]


def whole(value: Any, name: str, minimum: int) -> int:
    """Return a whole number of at least ``minimum``."""
    value = plain(value, name)
    if not isinstance(value, int) or isinstance(value, bool) or value < minimum:
        raise StudyError(
            f"{name} is {quoted(value)}; expected a whole number of at least {minimum}"
        )
    return value


def named(function: Named, registry: functions.Registry, kind: str) -> Named:
    """Return the name of a function that exists; a function in no module is returned as it is."""
    existing = functions.find(function, registry, kind)
    if isinstance(function, str):
        return function
    return functions.name_of(existing, registry) or existing


def mechanisms_of(mechanisms: Any) -> dict[str, dict[str, Any]]:
    """Return label → arguments of ``allocate``; raise an error for an unknown name.

    Names of mechanisms, methods and solvers are checked.
    """
    if isinstance(mechanisms, str | Mechanism):
        mechanisms = [mechanisms]
    _refuse_solver_objects(mechanisms)
    table = plain(_mechanism_names(mechanisms), "mechanisms")
    if isinstance(table, list):
        if not all(isinstance(name, str) for name in table):
            raise StudyError(
                f"mechanisms are {quoted(table)}; expected names, or label → arguments of allocate"
            )
        table = dict(zip(table, table, strict=True))
    if not isinstance(table, dict) or not table:
        raise StudyError(
            "there are no mechanisms; expected names, or label → arguments of allocate"
        )
    return {label: _arguments_of_allocate(label, value) for label, value in table.items()}


def _arguments_of_allocate(label: str, value: Any) -> dict[str, Any]:
    """Return the arguments of ``allocate`` for one label."""
    arguments = {"mechanism": value} if isinstance(value, str) else value
    if not isinstance(arguments, dict) or not isinstance(arguments.get("mechanism"), str):
        raise StudyError(
            f"mechanisms.{label} is {quoted(value)}; expected a name, or {{'mechanism': name, …}}"
        )
    fairlp.mechanisms.located(arguments["mechanism"]).method_name(arguments.get("method", "auto"))
    if "solver" in arguments:
        solvers.find(arguments["solver"])
    return arguments


def _refuse_solver_objects(mechanisms: Any) -> None:
    """Raise StudyError for a solver that is no name.

    A study is data, and its file must name the solver.
    """
    for label, arguments in mechanisms.items() if isinstance(mechanisms, Mapping) else ():
        solver = arguments.get("solver", "") if isinstance(arguments, Mapping) else ""
        if not isinstance(solver, str):
            raise StudyError(
                f"mechanisms.{label}.solver is {solver!r}; a study names its solvers: "
                "fairlp.register_solver('its-name', …) here, or, for files of studies as well, an "
                "entry point of your package in the group fairlp.solvers"
            )


def _mechanism_names(mechanisms: Any) -> Any:
    """Return the names in place of mechanism objects.

    Another process finds each mechanism by its name.
    """
    if isinstance(mechanisms, Mechanism):
        return fairlp.mechanisms.located(mechanisms).reference or mechanisms.name
    if isinstance(mechanisms, list | tuple):
        return [_mechanism_names(mechanism) for mechanism in mechanisms]
    if isinstance(mechanisms, Mapping):
        return {
            label: {**value, "mechanism": _mechanism_names(value.get("mechanism"))}
            if isinstance(value, Mapping)
            else _mechanism_names(value)
            for label, value in mechanisms.items()
        }
    return mechanisms


def statistics_of(statistics: Any, labels: Plain) -> tuple[dict[str, Any], ...]:
    """Return statistics as mappings of name, label and arguments.

    ``labels`` are those of the mechanisms.
    """
    if isinstance(statistics, str | Mapping) or callable(statistics):
        statistics = [statistics]
    if not isinstance(statistics, list | tuple):
        raise StudyError(f"statistics are {statistics!r}; expected a list")
    entries: dict[str, dict[str, Any]] = {}
    for k, statistic in enumerate(statistics):
        entry = _statistic_entry(k, statistic, labels)
        if entry["label"] in entries:
            raise StudyError(
                f"two statistics have the label {entry['label']!r}; give one of them another: "
                "label: …"
            )
        entries[entry["label"]] = entry
    if not entries:
        raise StudyError("there are no statistics; expected at least one, such as 'summary'")
    return tuple(entries.values())


def _statistic_entry(k: int, statistic: Any, labels: Plain) -> dict[str, Any]:
    """Return name, label and arguments of one statistic."""
    arguments = dict(statistic) if isinstance(statistic, Mapping) else {"name": statistic}
    if "name" not in arguments:
        raise StudyError(
            f"statistics[{k}] is {statistic!r}; expected a name, or {{'name': name, …}}"
        )
    name = named(arguments.pop("name"), STATISTICS, "statistic")
    label = arguments.pop("label", functions.short_name(name))
    if not isinstance(label, str) or not label:
        raise StudyError(f"the label of statistics[{k}] is {quoted(label)}; expected text")
    arguments = plain(arguments, f"statistics.{label}")
    function = functions.find(name, STATISTICS, "statistic")
    functions.check_arguments(function, 2, arguments, f"statistic {quoted(label)}")

    for argument in _LABEL_ARGUMENTS:
        value = arguments.get(argument)
        mechanisms = value if isinstance(value, list) else [] if value is None else [value]
        for mechanism in mechanisms:
            if not isinstance(mechanism, str) or mechanism not in labels:
                raise UnknownNameError(
                    f"statistic {quoted(label)}: no mechanism of the study has the label {quoted(mechanism)}; "
                    f"{nearest(mechanism, labels)}"
                )
    return {"name": name, "label": label, **arguments}
