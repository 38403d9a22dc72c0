"""Names of one kind: fairlp's own, those declared in this process, those of packages.

``fairlp.solvers()`` is such a table, and ``fairlp.solvers`` also the package of back ends: a module
that can be called serves as both. (Python binds a submodule to its package's attribute when it is
first imported, which would hide a function of the same name.)
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .errors import FairlpWarning, UnknownNameError, named, quoted

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    import pandas as pd

    class Listing(ModuleType):
        """A module that returns its table when it is called, for type checkers."""

        def __call__(self) -> pd.DataFrame:
            """Return the table."""
            raise NotImplementedError

        table = __call__


T = TypeVar("T")


class Registry(Mapping[str, T], Generic[T]):
    """Name → object; one of a package that cannot be loaded is not listed, with a warning.

    Parameters
    ----------
    kind : str
        What is named: "mechanism".
    group : str
        Of the entry points by which packages bring their own.
    builtin : mapping
        Name → where fairlp's own are; ``load`` makes one of a name.
    load : callable
    missing : type of error
        For what a package brings and cannot be loaded.
    """

    def __init__(
        self,
        kind: str,
        group: str,
        builtin: Mapping[str, Any],
        load: Callable[[str], T],
        missing: type[Exception] = UnknownNameError,
    ) -> None:
        self.kind = kind
        self.group = group
        self.builtin = builtin
        self.load = load
        self.missing = missing
        #: What was declared in this process.
        self.declared: dict[str, T] = {}
        self._loaded: dict[str, bool] = {}

    @cached_property
    def brought(self) -> Mapping[str, EntryPoint]:
        """Entry points of installed packages, by name."""
        from importlib.metadata import entry_points

        return {
            point.name: point
            for point in entry_points(group=self.group)
            if point.name not in self.builtin
        }

    @property
    def names(self) -> list[str]:
        """All names, without loading anything."""
        return list(dict.fromkeys((*self.builtin, *self.declared, *self.brought)))

    def spelt(self, name: object) -> str:
        """Return the name that is meant, in any case."""
        return named(name, self.names, self.kind)

    def require_own_name(self, name: object, reserved: Iterable[str] = ()) -> None:
        """Raise unless a name may be a user's own: neither fairlp's nor reserved."""
        if not isinstance(name, str) or not name.strip() or set(name) & set(":,\n"):
            raise UnknownNameError(
                f"a {self.kind} cannot be called {quoted(name)}; expected text without ':' and ','"
            )
        if name.casefold() in {other.casefold() for other in (*self.builtin, *reserved)}:
            raise UnknownNameError(
                f"{quoted(name)} is one of fairlp's {self.kind}s; call yours something else"
            )

    def __getitem__(self, name: str) -> T:
        if name in self.builtin:
            return self.load(name)
        if name in self.declared or name not in self.brought:
            return self.declared[name]
        try:
            loaded: T = self.brought[name].load()
        except Exception as error:  # of a foreign package
            raise self.missing(
                f"{self.kind} {quoted(name)} of an installed package cannot be loaded: "
                f"{type(error).__name__}: {error}"
            ) from error
        return loaded

    def __iter__(self) -> Iterator[str]:
        return (name for name in self.names if name not in self.brought or self._loads(name))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _loads(self, name: str) -> bool:
        """Whether a package's object can be loaded; a warning gives the reason once, if not."""
        if name not in self._loaded:
            try:
                self._loaded[name] = self[name] is not None
            except (UnknownNameError, self.missing) as error:
                warnings.warn(f"left out: {error}", FairlpWarning, stacklevel=4)
                self._loaded[name] = False
        return self._loaded[name]


def make_callable(module: ModuleType, function: Callable[..., Any]) -> None:
    """Make ``module(...)`` call ``function(...)``."""

    class CallableModule(ModuleType):
        def __call__(self, *args: Any, **keywords: Any) -> Any:
            return function(*args, **keywords)

    CallableModule.__call__.__doc__ = function.__doc__
    module.__class__ = CallableModule
