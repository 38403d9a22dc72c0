"""The registry: what each generator is called, why what it makes is hard, its sizes, and which model it is for."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from ...errors import InstanceError, named, require_known
from ...models.instances.instance import Instance
from ...models.notation.model import Model

#: Sizes that every entry has.
SIZES = ("small", "medium", "large")


@dataclass(frozen=True)
class Optimum:
    """What is known of the optimum of an entry's program.

    Attributes
    ----------
    value : Fraction, float or None
        A Fraction is exact; a float is a closed form with logarithms or powers, right to rounding;
        None is unknown.
    words : str
        How it is known, or why it is not.
    levels : tuple of Fraction or None
        Where there is a closed form: of a max-min mechanism the levels of the whole leximin by
        user, of others what their words say.
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
class Made:
    """What a generator gives: an instance, what it knows of the optimum, options of the model, or a model of its own.

    ``more`` is what the optimum was made of, for whoever checks it.
    """

    instance: Instance
    optimum: Optimum | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    model: Callable[[Instance], Model] | None = None
    more: Mapping[str, Any] = field(default_factory=dict)


#: What makes an instance, from random numbers and parameters.
Make = Callable[..., Made]


@dataclass(frozen=True)
class Generator:
    """An entry of the registry.

    Attributes
    ----------
    name, family, why : str
    mechanism : str
        Whose model it is meant for.
    sizes : mapping
        Size → parameters.
    make : callable
        ``(rng, **parameters)`` → :class:`Made`.
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

    def parameters(self, size: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters of a size, those that were given put in their places.

        Raises
        ------
        UnknownNameError
            For a size or parameter that there is not.
        InstanceError
            For a value of another kind than the default's, or one that is not positive.
        """
        known = dict(self.sizes[named(size, SIZES, "size")])
        for name, value in given.items():
            require_known(name, known, f"{self.name!r} has no parameter {name!r}")
            known[name] = _checked(self.name, name, value, known[name])
        return known


#: Families, from easy to hard to prove anything about.
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
    """Return what registers a function ``(rng, **parameters)`` under a name, with each parameter at each size.

    What is made from ``files`` has besides the parameter ``data``, the folder that has them.
    """
    if files:
        parameters["data"] = ("", "", "")

    def registered(make: Make) -> Make:
        if name in REGISTRY:
            raise ValueError(f"{name!r} is there already")
        wanted = list(inspect.signature(make).parameters)[1:]
        if set(parameters) != set(wanted) or any(
            len(values) != len(SIZES) for values in parameters.values()
        ):
            raise ValueError(f"{name!r}: expected {', '.join(wanted)}, each {', '.join(SIZES)}")
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
    """Return a parameter as its default's kind: a positive whole number, a positive number, or a path."""
    if isinstance(default, int):
        expected, fine = (
            "a whole number of at least 1",
            isinstance(value, int | np.integer) and bool(value >= 1),
        )
    elif isinstance(default, float):
        number = isinstance(value, int | float | np.number)
        expected, fine = "a finite number above 0", number and bool(0 < value < np.inf)
    else:
        expected, fine = "a path", True
    if not fine or isinstance(value, bool):
        raise InstanceError(f"{entry!r}: {name} is {value!r}; expected {expected}")
    return str(value) if isinstance(default, str) else type(default)(value)
