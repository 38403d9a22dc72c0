"""What has a name, by name: the tables of a model, and the values and duals of a solution."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from ...errors import (
    FairlpError,
    Hinted,
    ModelError,
    NoArgumentError,
    NoAttributeError,
    quoted,
    require_known,
)

_Value = TypeVar("_Value")


class NamedView(Hinted, Mapping[str, _Value]):
    """A mapping that is only read; what is not in it, and other uses of it, are refused in words.

    Parameters
    ----------
    entries : mapping
        What has the names; the view shows what is added to it.
    title : str
        How users write the view, for messages.

    Examples
    --------
    >>> variables = NamedView({"x": 3}, "model.variables")
    >>> variables
    x: 3
    >>> variables("x")
    Traceback (most recent call last):
        ...
    fairlp.errors.NoArgumentError: model.variables is not called; write model.variables['x']
    """

    def __init__(self, entries: Mapping[str, Any], title: str) -> None:
        self._entries = entries
        self._title = title

    def __getitem__(self, name: str) -> _Value:
        self._require(name)
        value: _Value = self._entries[name]
        return value

    def _require(self, name: Any) -> None:
        """Raise for a name that there is not; of an object that has the name, say which it is."""
        own_name = getattr(name, "name", None)
        if isinstance(own_name, str) and own_name in self._entries:
            raise ModelError(f"{self._title} is read by name; write {self._bracket(own_name)}")
        if isinstance(name, tuple) and name and name[0] in self:
            labels = ", ".join(map(quoted, name[1:]))
            raise ModelError(
                f"{self._title} is read by name, then by label; write "
                f"{self._bracket(name[0])}[{labels}]"
            )
        require_known(name, self._entries, f"{self._title} has no {quoted(name)}")

    def _bracket(self, name: object) -> str:
        return f"{self._title}[{quoted(name)}]"

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._entries

    def get(self, name: str, default: Any = None) -> Any:
        """Return what has the name, or the default.

        Parameters
        ----------
        name : str
        default : object

        Returns
        -------
        object
        """
        try:
            return self[name]
        except FairlpError:
            return default

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        lines = [f"{name}: {self[name]!r}" for name in self]
        return "\n".join(lines) or f"no {self._title.rpartition('.')[2]}"

    def _ipython_key_completions_(self) -> list[str]:
        """Return the names, which IPython completes in brackets."""
        return list(self)

    def __call__(self, *names: Any) -> NoReturn:
        """Refuse a call: ``model.variables()``."""
        name = names[0] if names else next(iter(self), "name")
        raise NoArgumentError(
            f"{self._title} is not called; write {self._bracket(getattr(name, 'name', name))}"
        )

    def __setitem__(self, name: str, value: object) -> NoReturn:
        raise NoArgumentError(
            f"{self._title} is only read; write model.variable('x', n), model.constraint('name', "
            "relation) or model.replace('name', relation)"
        )

    def __delitem__(self, name: str) -> NoReturn:
        raise NoArgumentError(f"{self._title} is only read; write model.remove({quoted(name)})")

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in self.__dict__.get("_entries", ()):
                raise NoAttributeError(
                    f"{self._title} has no attribute {quoted(name)}; write {self._bracket(name)}"
                )
            return super().__getattr__(name)
