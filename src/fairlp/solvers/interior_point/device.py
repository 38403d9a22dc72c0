"""Devices that the interior-point method can compute on, the way of a problem there, and of its point back."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np

from ...errors import SolverNotAvailableError, UnknownNameError
from .arrays import Array
from .iterate import ABSENT, Face, Problem, Step, UserRows
from .region import Region

#: Names of devices, of each kind.
_EXAMPLES = ("cpu", "cuda", "cuda:1", "torch:cpu", "cupy")
_INSTALL = 'pip install "fairlp[cuda]", or leave `device` out to compute with NumPy'

Data = TypeVar("Data", Region, UserRows, Face, Step)


@dataclass(frozen=True)
class Home:
    """A library of arrays, and one of its devices.

    Attributes
    ----------
    xp : namespace
        Its functions under the names of the array API standard.
    device, host : Any
        Its names of the device, and of the one whose memory NumPy shares.
    """

    xp: Any
    device: Any
    host: Any = "cpu"

    def there(self, array: np.ndarray) -> Array:
        """Return a copy on the device."""
        return self.xp.asarray(array, device=self.device, copy=True)

    def back(self, array: Array) -> np.ndarray:
        """Return a copy in NumPy."""
        from array_api_compat import to_device

        return np.array(np.from_dlpack(to_device(array, self.host)))


def home(name: str | None) -> Home | None:
    """Return the device of that name, None for NumPy.

    Parameters
    ----------
    name : str or None
        None and "cpu": NumPy; "cuda" or "cuda:1": that GPU, by PyTorch, or else by CuPy; "torch:cpu", "torch:cuda:1":
        any device of PyTorch's that has double precision; "cupy": CuPy's current GPU.

    Raises
    ------
    UnknownNameError
        When there is no such kind of device.
    SolverNotAvailableError
        When the library or the device is not there.
    """
    if name is None or name == "cpu":
        return None
    kind, _, rest = name.partition(":")
    choices: dict[str, dict[str, str | None]] = {
        "cuda": {"torch": name, "cupy": None},
        "torch": {"torch": rest or "cpu"},
        "cupy": {"cupy": None},
    }
    if kind not in choices:
        raise UnknownNameError(f"no device {name!r}; expected one of {', '.join(map(repr, _EXAMPLES))}")
    libraries = choices[kind]
    for library, device in libraries.items():
        try:
            importlib.import_module(library)
            xp = importlib.import_module(f"array_api_compat.{library}")
        except ImportError:
            continue
        try:
            float(xp.zeros(1, dtype=xp.float64, device=device)[0])
        except Exception as error:  # whatever comes from somebody else's driver
            words = str(error).partition("\n")[0]
            raise SolverNotAvailableError(
                f"device {name!r}: {library} cannot use it here ({type(error).__name__}: {words}); {_INSTALL}"
            ) from error
        return Home(xp, device)
    missing = " or ".join(libraries)
    raise SolverNotAvailableError(f"device {name!r} needs {missing} and array-api-compat; {_INSTALL}")


class Moved:
    """A problem on a device.

    Where its pairs have places, they are spread out to servers × users there, and brought together on the way back.
    """

    def __init__(self, problem: Problem, there: Home) -> None:
        self.home, self.user, self.shape = there, problem.region.user, problem.region.shape[:2]
        region, face = problem.region, problem.face
        allowed = region.allowed if self.user is None else self._spread(region.there, False)
        if face is not None:
            face = self._put(replace(face, x=self._spread(face.x, ABSENT)))
        dense = Region(region.demands, region.capacities, allowed, region.contribution)
        self.problem = Problem(self._put(dense), self._put(problem.rows), face)

    def there(self, step: Step) -> Step:
        """Return a point on the device."""
        return self._put(replace(step, x=self._spread(step.x, ABSENT), z=self._spread(step.z, 1.0)))

    def back(self, step: Step) -> Step:
        """Return a point of the device's in NumPy."""
        arrays = {f.name: self.home.back(getattr(step, f.name)) for f in fields(Step) if f.name != "t"}
        if self.user is not None:
            arrays |= {name: np.take_along_axis(arrays[name], self.user, axis=1) for name in "xz"}
        return Step(**arrays, t=step.t)

    def _put(self, data: Data) -> Data:
        """Return a dataclass with its arrays on the device."""
        values = {f.name: getattr(data, f.name) for f in fields(data)}
        moved = {name: self.home.there(one) for name, one in values.items() if isinstance(one, np.ndarray)}
        return type(data)(**{**values, **moved})

    def _spread(self, values: np.ndarray, nothing: float) -> np.ndarray:
        """Return numbers of places as servers × users."""
        if self.user is None:
            return values
        spread = np.full(self.shape, nothing, dtype=values.dtype)
        np.put_along_axis(spread, self.user, values, axis=1)
        return spread
