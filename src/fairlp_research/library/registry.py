"""The registry of generators: name, difficulty, sizes and model of each."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from fairlp import Instance, Model
from fairlp.errors import InstanceError, named, quoted, require_known

#: Sizes that every entry has.
SIZES = ("small", "medium", "large")


@dataclass(frozen=True)
class Optimum:
    """The optimum of an entry's program, as far as it is known.

    Attributes
    ----------
    value : Fraction, float or None
        A Fraction is exact; a float is a closed form with logarithms or powers, right to rounding;
        None is unknown.
    words : str
        The derivation of the value, or the reason why there is none.
    levels : tuple of Fraction or None
        Where there is a closed form: of a max-min mechanism the levels of the whole leximin by
        user, of others as the words say.
    """

    value: Fraction | float | None
    words: str
    levels: tuple[Fraction, ...] | None = None

    @property
    def is_exact(self) -> bool:
        """Whether the value is a rational number without rounding."""
        return isinstance(self.value, Fraction)

    def __str__(self) -> str:
        return self.words if self.value is None else f"{float(self.value):.12g} ({self.words})"


@dataclass(frozen=True)
class Benchmark:
    """The output of a generator: an instance, its optimum, options of the model or another model.

    ``planted`` holds the allocation and the prices that a planted optimum was built from, for
    checks.
    """

    instance: Instance
    optimum: Optimum | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    model: Callable[[Instance], Model] | None = None
    planted: Mapping[str, Any] = field(default_factory=dict)


#: Random generator and parameters → a benchmark.
Make = Callable[..., Benchmark]


@dataclass(frozen=True)
class Generator:
    """An entry of the registry.

    Attributes
    ----------
    name, family, why : str
    mechanism : str
        The mechanism whose model is solved.
    sizes : mapping
        Size → parameters.
    make : callable
        ``(rng, **parameters)`` → :class:`Benchmark`.
    files : tuple of str
        Files that the parameter ``data``, a folder, must have; none where everything is generated.
    """

    name: str
    family: str
    why: str
    mechanism: str
    sizes: Mapping[str, Mapping[str, Any]]
    make: Make
    files: tuple[str, ...] = ()

    def parameters(self, size: str, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters of a size, with some of them changed.

        Raises
        ------
        UnknownNameError
            For a size or parameter that does not exist.
        InstanceError
            For a value of another type than the default's, or one that is not positive.
        """
        parameters = dict(self.sizes[named(size, SIZES, "size")])
        for name, value in changes.items():
            require_known(name, parameters, f"{self.name!r} has no parameter {name!r}")
            parameters[name] = _checked(self.name, name, value, parameters[name])
        return parameters


#: Families, from those with easy proofs to those with hard ones.
FAMILIES = (
    "shapes",
    "inventories",
    "degenerate",
    "numerics",
    "queues",
    "powers",
    "complaints",
    "fixed points",
    "whole tasks",
)

#: every entry, by name
REGISTRY: dict[str, Generator] = {}


def generator(
    name: str,
    family: str,
    mechanism: str,
    why: str,
    files: tuple[str, ...] = (),
    **parameters: tuple[Any, Any, Any],
) -> Callable[[Make], Make]:
    """Return a decorator that registers ``(rng, **parameters)``, with parameter values by size.

    A generator that reads ``files`` has a further parameter ``data``, the folder of the files.
    """
    if files:
        parameters["data"] = ("", "", "")

    def registered(make: Make) -> Make:
        if name in REGISTRY:
            raise ValueError(f"{name!r} is there already")
        names = list(inspect.signature(make).parameters)[1:]
        has_all_sizes = all(len(values) == len(SIZES) for values in parameters.values())
        if set(parameters) != set(names) or not has_all_sizes:
            raise ValueError(f"{name!r}: expected {', '.join(names)}, each {', '.join(SIZES)}")
        sizes = {
            size: {parameter: values[k] for parameter, values in parameters.items()}
            for k, size in enumerate(SIZES)
        }
        REGISTRY[name] = Generator(name, family, why, mechanism, sizes, make, files)
        return make

    return registered


def ordered() -> list[str]:
    """Return the names of all entries, family by family."""
    return sorted(REGISTRY, key=lambda name: FAMILIES.index(REGISTRY[name].family))


def find(name: str) -> Generator:
    """Return the entry of a name, in any case."""
    return REGISTRY[named(name, ordered(), "instance", "the library")]


def _checked(entry: str, name: str, value: Any, default: Any) -> Any:
    """Return a parameter in its default's type; raise InstanceError for an unfit value.

    It is a positive whole number, a positive number, or a path.
    """
    if isinstance(default, str):
        return str(value)
    if isinstance(default, int):
        expected = "a whole number of at least 1"
        valid = isinstance(value, int | np.integer) and bool(value >= 1)
    else:
        expected = "a finite number above 0"
        valid = isinstance(value, int | float | np.number) and bool(0 < value < np.inf)
    if not valid or isinstance(value, bool):
        raise InstanceError(f"{quoted(entry)}: {name} is {quoted(value)}; expected {expected}")
    return type(default)(value)
