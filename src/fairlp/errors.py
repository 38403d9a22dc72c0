"""Every error and warning that fairlp raises, one small tree.

Each message says what was wrong, where (user, server or resource by name), what was expected, and
what to do.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable
from typing import Any

#: Letters of a name that are compared and shown: how alike two are takes the square of their length
#: to say.
_MOST_LETTERS = 200


class FairlpError(Exception):
    """Base of every error that fairlp raises on purpose."""


class InstanceError(FairlpError, ValueError):
    """The users, servers or resources do not describe an allocation problem."""


class FileFormatError(FairlpError, ValueError):
    """A file could not be read: it is truncated, wrongly encoded, or of another schema."""


class ModelError(FairlpError, ValueError):
    """A model was written wrongly: indices do not match, a shape is off, a coefficient is not finite."""


class UnknownNameError(FairlpError, LookupError, ValueError):
    """A mechanism, method, solver, option or label that does not exist; the nearest names are given."""


class NotDefinedError(FairlpError, ValueError):
    """A mechanism was asked of an instance that it is not defined for."""


class StudyError(FairlpError, ValueError):
    """A study is not well defined, a run of it failed, or a file holds another one; point and run are named."""


class TooLargeError(FairlpError, MemoryError):
    """Something was asked for that memory or time would not hold; the message names another way to it."""


class SolverError(FairlpError, RuntimeError):
    """A solver refused the model, or failed."""


class SolverNotAvailableError(SolverError):
    """The solver is not installed; the message says how to install it."""


class UnsupportedError(SolverError):
    """The solver cannot do what the model or the options ask for."""


class NoSolutionError(SolverError):
    """An answer was asked for that the solver did not give."""


class NotConvergedError(SolverError):
    """An iterative method ended before its certificate held."""


class FairlpWarning(UserWarning):
    """Base of every warning that fairlp gives."""


class OversizedTaskWarning(FairlpWarning):
    """A user's task fits no single server, so only fractions of it can run."""


class SkippedMechanismWarning(FairlpWarning):
    """A comparison left out a mechanism that is not defined for the instance."""


def named(name: object, known: Iterable[str], what: str, of: str = "") -> str:
    """Return the known name that is meant: the same, or the only one that differs from it in upper and lower case.

    Raises
    ------
    UnknownNameError
        When there is none, giving the nearest; also for what is no text. ``what`` says what is
        named ("method"), and ``of`` whose it is ("mechanism 'drf'").

    Examples
    --------
    >>> named("DRFH", ["drf", "drfh"], "mechanism")
    'drfh'
    """
    names = list(known)
    if not isinstance(name, str):
        raise UnknownNameError(
            f"a {what} is asked for by name, not {type(name).__name__}; {nearest('', names)}"
        )
    meant = (
        [name]
        if name in names
        else [other for other in names if other.casefold() == name.casefold()]
    )
    if len(meant) == 1:
        return meant[0]
    if meant:
        raise UnknownNameError(
            f"{name!r} could be {' or '.join(map(repr, meant))}; write the {what} as one of them"
        )
    wrong = f"{of} has no {what} {name!r}" if of else f"no {what} is called {name!r}"
    raise UnknownNameError(f"{wrong}; {nearest(name, names)}")


def require_known(
    name: Any, known: Collection[Any], words: str, error: type[FairlpError] = UnknownNameError
) -> None:
    """Raise unless a name is known: the words, and which known names are nearest."""
    if name not in known:
        raise error(f"{words}; {nearest(name, known)}")


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: ``1 round``, ``2 rounds``."""
    return f"{count} {noun}{'s' * (count != 1)}"


def nearest(name: object, known: Iterable[object]) -> str:
    """Return the known names nearest to ``name``, as the end of an error message.

    >>> nearest("drhf", ["drf", "drfh", "tsf"])
    "did you mean 'drfh' or 'drf'?"
    >>> nearest("xyz", ["drf", "tsf"])
    "known: 'drf', 'tsf'"
    """
    names = [
        text if len(text := str(k)) <= _MOST_LETTERS else f"{text[:_MOST_LETTERS]}…" for k in known
    ]
    asked = str(name)[:_MOST_LETTERS].casefold()
    spelt = {other.casefold(): other for other in names}
    close = [spelt[one] for one in difflib.get_close_matches(asked, spelt, n=6, cutoff=0.6)]
    if close:
        close.sort(
            key=lambda other: sorted(other.casefold()) != sorted(asked)
        )  # letters that changed places
        close = close[:3]
        return "did you mean " + " or ".join(repr(c) for c in close) + "?"
    shown = ", ".join(repr(k) for k in names[:30])
    return f"known: {shown}" + (", …" if len(names) > 30 else "")


__all__ = [
    "FairlpError",
    "FairlpWarning",
    "FileFormatError",
    "InstanceError",
    "ModelError",
    "NoSolutionError",
    "NotConvergedError",
    "NotDefinedError",
    "OversizedTaskWarning",
    "SkippedMechanismWarning",
    "SolverError",
    "SolverNotAvailableError",
    "StudyError",
    "TooLargeError",
    "UnknownNameError",
    "UnsupportedError",
]


def first_line(error: Exception) -> str:
    r"""Return the first line of what an error of somebody else's says, or its kind where it says nothing.

    >>> first_line(ValueError("\n no luck \n")), first_line(KeyError())
    ('no luck', 'KeyError')
    """
    return str(error).strip().partition("\n")[0].rstrip() or type(error).__name__


def __dir__() -> list[str]:
    return __all__
