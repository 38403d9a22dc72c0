"""What a model is made of, as read-only tables and by name: ``model["g"]``."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ...errors import ModelError, UnknownNameError, nearest
from ..programs.program import Program, Sense
from .entries import Constraint, Subset
from .expressions import Expression, Index, Parameter, Variable

#: What has a name in a model.
_KINDS = ("variable", "parameter", "subset", "constraint", "definition")


class Tables:
    """The state of a model: it is read here, and changed by those of :class:`.declarations.Declarations` alone."""

    name: str
    source: str

    def __init__(self, name: str, source: str = "", indices: tuple[Index, ...] = ()) -> None:
        self.name, self.source = name, source
        self._indices: tuple[Index, ...] = tuple(indices)
        self._parameters: dict[str, Parameter] = {}
        self._variables: dict[str, Variable] = {}
        self._constraints: dict[str, Constraint] = {}
        self._subsets: dict[str, Subset] = {}
        self._definitions: dict[str, Expression] = {}
        self._objective: Expression | None = None
        self._sense: Sense = "min"
        self._levels: str | None = None
        #: What was compiled last, and the parameters and variables that were set since then.
        self._program: Program | None = None
        self._stale: set[str] = set()

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_") and name not in ("name", "source"):
            raise ModelError(
                f"model {self.name!r} takes no {name!r} by assignment, since what was compiled would stay; "
                "declare with .parameter, .variable, .constraint, .maximize and .minimize, change with .set, .replace "
                "and .remove"
            )
        if name in ("name", "source"):
            object.__setattr__(self, "_program", None)  # both stand in it
        object.__setattr__(self, name, value)

    def __getitem__(self, name: str) -> Any:
        """Return the variable, parameter, subset, constraint or definition of that name."""
        kind, own = self.kind_of(name)
        return self._table(kind)[own]

    def kind_of(self, name: str) -> tuple[str, str]:
        """Return what has a name ("variable", "parameter", "subset", "constraint", "definition"), and the name.

        Parameters
        ----------
        name : str

        Returns
        -------
        tuple of (str, str)

        Raises
        ------
        UnknownNameError
            For a name that there is not; the nearest are named.
        ModelError
            For a name of several things.
        """
        found = [kind for kind in _KINDS if name in self._table(kind)]
        if not found:
            known = [known for kind in _KINDS for known in self._table(kind)]
            none = "no variable, no parameter, no subset and no constraint"
            raise UnknownNameError(f"in model {self.name!r} {none} is called {name!r}; {nearest(name, known)}")
        if len(found) > 1:
            both = " or ".join(f"model.{kind}s[{name!r}]" for kind in found)
            raise ModelError(f"{name!r} of model {self.name!r} could be several things; take {both}")
        return found[0], name

    def __contains__(self, name: object) -> bool:
        return any(name in self._table(kind) for kind in _KINDS)

    #: A model is no sequence of its names.
    __iter__ = None

    def _table(self, kind: str) -> dict[str, Any]:
        """Return the table of what is of a kind."""
        found: dict[str, Any] = getattr(self, f"_{kind}s")
        return found

    @property
    def indices(self) -> tuple[Index, ...]:
        """Order of the indices in rows."""
        return self._indices

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """Parameters by name; a view."""
        return MappingProxyType(self._parameters)

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Variables by name; a view."""
        return MappingProxyType(self._variables)

    @property
    def constraints(self) -> Mapping[str, Constraint]:
        """Families of constraints by name; a view."""
        return MappingProxyType(self._constraints)

    @property
    def subsets(self) -> Mapping[str, Subset]:
        """Subsets of combinations of labels by name; a view."""
        return MappingProxyType(self._subsets)

    @property
    def definitions(self) -> Mapping[str, Expression]:
        """Named formulas of the variables that are no constraint, such as the tasks that a share means; a view."""
        return MappingProxyType(self._definitions)

    @property
    def objective(self) -> Expression | None:
        """What is maximised or minimised."""
        return self._objective

    @property
    def levels(self) -> str | None:
        """Name of the constraints that say what the levels of a leximin are; None where the objective is all."""
        return self._levels if self._levels in self._constraints else None

    @property
    def sense(self) -> Sense:
        """``max`` or ``min``."""
        return self._sense
