"""What a worker does: one run of one point, from nothing but the study's data."""

from __future__ import annotations

import numbers
import os
import traceback
import warnings
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..._version import __version__
from ...errors import FairlpWarning, StudyError, UnknownNameError, nearest
from ...models.instances.instance import Instance
from .functions import Function, Plain, keywords, short_name, words

if TYPE_CHECKING:
    from ...mechanisms.allocation import Allocation

#: Whole numbers beyond this do not fit a column of 64-bit integers.
LARGEST_WHOLE = 2**63 - 1


class Ran(NamedTuple):
    """What came of a run: numbers by column, or what went wrong (and where, for whoever wants to know)."""

    point: int
    run: int
    values: dict[str, float]
    error: str | None = None
    trace: str = ""


@dataclass(frozen=True)
class Work:
    """Everything that a run needs, apart from its point and number.

    Attributes
    ----------
    generator : callable
    mechanisms : mapping
        Label → arguments of ``allocate``.
    statistics : tuple of (label, callable, arguments)
    seed : int
    version : str
        The fairlp of the process that began the study; a worker with another one refuses.
    process : int
        That process, which deals with warnings for all of its threads.
    """

    generator: Function
    mechanisms: Any
    statistics: tuple[tuple[str, Function, dict[str, Any]], ...]
    seed: int
    version: str = __version__
    process: int = 0

    def instance(self, point: Plain, run: int) -> Instance:
        """Return the instance of a run; its random numbers depend on the seed, the point and the run alone."""
        seed = np.random.SeedSequence(self.seed, spawn_key=(*words(point), run))
        made = self.generator(np.random.default_rng(seed), **keywords(point))
        if not isinstance(made, Instance):
            raise StudyError(
                f"generator {short_name(self.generator)!r} returned {type(made).__name__}; "
                "expected an Instance"
            )
        return made

    def allocations(self, instance: Instance) -> dict[str, Allocation]:
        """Return what each mechanism gives, by label."""
        from ...api import allocate

        return _Allocations(
            {label: allocate(instance, **how) for label, how in self.mechanisms.items()}
        )

    def values(self, instance: Instance, allocations: dict[str, Allocation]) -> dict[str, float]:
        """Return the numbers of all statistics, by column."""
        found = {}
        for label, function, arguments in self.statistics:
            numbers_of = function(instance, allocations, **keywords(arguments))
            if not isinstance(numbers_of, Mapping):
                raise StudyError(
                    f"statistic {label!r} returned {type(numbers_of).__name__}; expected a mapping "
                    "of names to numbers"
                )
            for key, value in numbers_of.items():
                found[f"{label}.{key}"] = _number(value, f"{key!r} of statistic {label!r}")
        return found


def do(work: Work, index: int, point: Plain, run: int) -> Ran:
    """Do one run; an error is an outcome too, so that what other runs found is not lost with it."""
    try:
        if work.version != __version__:
            raise StudyError(
                f"this worker has fairlp {__version__}, the study was begun with {work.version}"
            )
        quiet = warnings.catch_warnings(action="ignore", category=FairlpWarning)
        with nullcontext() if work.process == os.getpid() else quiet:
            instance = work.instance(point, run)
            return Ran(index, run, work.values(instance, work.allocations(instance)))
    except Exception as error:
        return Ran(index, run, {}, f"{type(error).__name__}: {error}", traceback.format_exc())


class _Allocations(dict[str, Any]):
    """Allocations by label; a label that does not exist is an error that names the nearest."""

    def __missing__(self, label: object) -> Any:
        raise UnknownNameError(
            f"no mechanism of the study has the label {label!r}; {nearest(label, self)}"
        )


def _number(value: Any, what: str) -> float:
    """Return a number as Python's own int or float, which files hold exactly."""
    if isinstance(value, np.ndarray | np.generic) and np.ndim(value) == 0:
        value = value.item()
    if isinstance(
        value, numbers.Integral
    ):  # truth values too: 0 or 1, so that their mean is a frequency
        whole = int(value)
        return whole if abs(whole) <= LARGEST_WHOLE else float(whole)
    if isinstance(value, numbers.Real):
        return float(value)
    raise StudyError(f"{what} is {value!r} ({type(value).__name__}); expected a number")
