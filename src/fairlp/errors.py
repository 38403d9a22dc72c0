"""Every error and warning that fairlp raises, one small tree.

Each message says what was wrong, where (user, server or resource by name), what was expected, and
what to do.
"""

from __future__ import annotations

import difflib
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import wraps
from numbers import Number
from types import FrameType, FunctionType
from typing import TYPE_CHECKING, Any, TypeVar

#: Letters of a name that are compared and suggested: how alike two are takes the square of their
#: length to say.
_MOST_LETTERS = 200
#: Letters of a name that a message quotes, and of all names that it lists.
_MOST_SHOWN = 60
_MOST_LISTED = 600
#: Letters of the longest message.
MOST_LETTERS = 800
#: Letters for the words that stand in place of those that are cut from a message.
_LEFT_OUT = 60
#: Bits of a whole number that a message shows.
_MOST_BITS = 200
#: Entries of a list or mapping that a message shows.
_FEW = 4


#: How NumPy writes a number, text or flag of its own, and an array. Here as in every other regular
#: expression of fairlp that sees a stranger's text, no letter is tried in more ways than one.
_OF_NUMPY = re.compile(
    r"""\bnp\.[a-z]+\d*_?\(([^()'"\\]*+(?:'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+")?+[^()'"\\]*+)\)"""
    r"|\bnp\.(True|False)_",
    re.DOTALL,
)
_ARRAY = re.compile(r"\barray\(\[(?:[^()]|\([^()]*+\))*+\)")


#: Characters that a terminal obeys, and others that end lines or turn their direction.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


class FairlpError(Exception):
    """Base of every error that fairlp raises on purpose."""

    def __str__(self) -> str:
        return without_numpy(bounded(super().__str__()))

    def _render_traceback_(self) -> list[str]:
        """Return what IPython shows: the line that called fairlp, and the error."""
        frames = [
            frame for frame in traceback.walk_tb(self.__traceback__) if not _is_ours(frame[0])
        ]
        called = traceback.StackSummary.extract(frames[-1:])
        return [*called.format(), *traceback.format_exception_only(self)]


def bounded(message: str, most: int = MOST_LETTERS) -> str:
    """Return a message, cut in its middle where it is very long; its end has the remedy.

    >>> bounded("short"), len(bounded("a" * 100_000)) <= MOST_LETTERS
    ('short', True)
    """
    if len(message) <= most:
        return message
    tail = most // 4
    head = most - tail - _LEFT_OUT
    return (
        f"{message[:head]} … (cut: {len(message) - head - tail:,} characters are left out) … "
        f"{message[-tail:]}"
    )


def without_numpy(message: str) -> str:
    """Return a message that shows NumPy's values as Python writes them, and no whole arrays.

    >>> import numpy as np
    >>> without_numpy(f"no user {np.int64(99)!r}; expected {np.arange(3)!r}")
    'no user 99; expected an array'
    """
    return _ARRAY.sub("an array", _OF_NUMPY.sub(r"\1\2", message))


class InstanceError(FairlpError, ValueError):
    """The users, servers or resources do not describe an allocation problem."""


class FileFormatError(FairlpError, ValueError):
    """A file could not be read: it is truncated, wrongly encoded, or of another schema."""


class ModelError(FairlpError, ValueError):
    """A model is wrong: indices do not match, a shape is off, a coefficient is not finite."""


class UnknownNameError(FairlpError, LookupError, ValueError):
    """A mechanism, method, solver, option or label that does not exist, with the nearest."""


class NotDefinedError(FairlpError, ValueError):
    """A mechanism was asked of an instance that it is not defined for."""


class StudyError(FairlpError, ValueError):
    """A study is not well defined, a run of it failed, or a file holds another one."""


class TooLargeError(FairlpError, MemoryError):
    """A request beyond memory or time; the message names another way."""


class SolverError(FairlpError, RuntimeError):
    """A solver refused the model, or failed."""


class SolverNotAvailableError(SolverError):
    """The solver is not installed; the message says how to install it."""


class PackageNotAvailableError(FairlpError, ImportError):
    """A package that fairlp comes with was left out; the message says how to install it."""


class UnsupportedError(SolverError):
    """The solver cannot do what the model or the options ask for."""


class NoSolutionError(SolverError):
    """An answer was asked for that the solver did not give."""


class NotConvergedError(SolverError):
    """An iterative method ended before its certificate held."""


class NoProgressError(SolverError):
    """A round of a path stopped no user, so that rounds would never end."""


class FairlpWarning(UserWarning):
    """Base of every warning that fairlp gives."""


class OversizedTaskWarning(FairlpWarning):
    """A user's task fits no single server, so only fractions of it can run.

    Shown once for each line of code that allocates, also in a loop over instances: see `warn_once`.
    """


class SkippedMechanismWarning(FairlpWarning):
    """A comparison left out a mechanism that is not defined for the instance."""


#: Lines of code for which a warning of a class was shown: class, file, line.
_SHOWN: set[tuple[type[Warning], str, int]] = set()


def warn_once(warning: FairlpWarning, stacklevel: int) -> None:
    """Warn, but not again of this class for the same line of code, unless a filter asks for all.

    Python compares texts, which name users, and forgets them whenever pandas changes the filters: a
    loop over instances would show hundreds.

    Parameters
    ----------
    warning : FairlpWarning
    stacklevel : int
        As for :func:`warnings.warn`: 1 is the caller.
    """
    frame = sys._getframe(stacklevel)
    place = (type(warning), frame.f_code.co_filename, frame.f_lineno)
    matching = (
        action
        for action, text, category, *_ in warnings.filters
        if issubclass(place[0], category) and (text is None or text.match(str(warning)))
    )
    is_for_all = next(matching, "default") in ("always", "all", "error")
    if place not in _SHOWN or is_for_all:
        _SHOWN.add(place)
        warnings.warn(warning, stacklevel=stacklevel + 1)


def _is_ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).startswith(("fairlp.", "fairlp_"))


def warn_caller(message: str) -> None:
    """Warn, with a `FairlpWarning` of the line that calls fairlp, however deep it is called."""
    depth = 2
    while _is_ours(sys._getframe(depth)):
        depth += 1
    warnings.warn(message, FairlpWarning, stacklevel=depth + 1)


def named(name: object, names: Iterable[str], kind: str, owner: str = "") -> str:
    """Return the name of the list that is meant: the same, or the only one but for its case.

    Raises
    ------
    UnknownNameError
        When the list has none, giving the nearest; also for an object that is no text. ``kind`` is
        what the name is of ("method"), and ``owner`` that which has the list ("mechanism 'drf'").

    Examples
    --------
    >>> named("DRFH", ["drf", "drfh"], "mechanism")
    'drfh'
    """
    known_names = list(names)
    if not isinstance(name, str):
        raise UnknownNameError(
            f"a {kind} is asked for by name, not {type(name).__name__}; {nearest('', known_names)}"
        )
    if name in known_names:
        return name
    matches = [other for other in known_names if other.casefold() == name.casefold()]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise UnknownNameError(
            f"{quoted(name)} could be {' or '.join(map(repr, matches))}; write the {kind} as one of them"
        )
    shown = quoted(name)
    message = f"{owner} has no {kind} {shown}" if owner else f"no {kind} is called {shown}"
    raise UnknownNameError(f"{message}; {nearest(name, known_names)}")


def require_known(
    name: Any, names: Collection[Any], message: str, error: type[FairlpError] = UnknownNameError
) -> None:
    """Raise unless a name is in the collection; the error has the message and the nearest names."""
    try:
        is_known = name in names
    except (TypeError, ValueError):  # a list or an array, which is no name
        is_known = False
    if not is_known:
        raise error(f"{message}; {nearest(name, names)}")


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: ``1 round``, ``2 rounds``."""
    return f"{count} {noun}{'s' * (count != 1)}"


def quoted(value: Any) -> str:
    """Return a label or value for a message: as Python writes it, short, an array by its shape.

    >>> import numpy as np
    >>> quoted(np.int64(99)), quoted(("ann", np.str_("s1"))), quoted(np.zeros((2, 3)))
    ('99', "('ann', 's1')", 'an array of shape (2, 3)')
    >>> quoted("x" * 99)[-4:], quoted(list(range(9)))
    ("xx…'", '[0, 1, 2, 3, …]')
    """
    if isinstance(value, str):
        return repr(value[:_MOST_SHOWN] + "…" * (len(value) > _MOST_SHOWN))
    shape = getattr(value, "shape", None)
    if shape == () and hasattr(value, "item"):
        if type(value).__name__ == "MaskedConstant":
            return "masked"
        number = value.item()
        # the item of a long double is one, too
        return str(value) if type(number) is type(value) else quoted(number)
    if isinstance(shape, tuple):
        kind = type(value).__name__.removeprefix("nd")
        return f"{'an' if kind[0] in 'aeiouAEIOU' else 'a'} {kind} of shape {shape}"
    if type(value) in (tuple, list):
        entries = [quoted(entry) for entry in value[:_FEW]] + ["…"] * (len(value) > _FEW)
        inner = ", ".join(entries)
        if isinstance(value, list):
            return f"[{inner}]"
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if type(value) is dict:
        entries = [f"{quoted(key)}: {quoted(value[key])}" for key in list(value)[:_FEW]]
        return f"{{{', '.join(entries + ['…'] * (len(value) > _FEW))}}}"
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return f"a whole number of {value.bit_length()} bits"
    if isinstance(value, Fraction):
        parts = (value.numerator, value.denominator)
        return (
            "a fraction of long numbers"
            if max(map(int.bit_length, parts)) > _MOST_BITS
            else str(value)
        )
    text = " ".join(repr(value).split())
    if " at 0x" in text:
        return f"a {type(value).__name__}"
    return text if len(text) <= _MOST_SHOWN * 2 else f"{text[: _MOST_SHOWN * 2]}…"


def nearest(name: object, names: Iterable[object]) -> str:
    """Return the names nearest to ``name``, as the end of an error message.

    >>> nearest("drhf", ["drf", "drfh", "tsf"])
    "did you mean 'drfh' or 'drf'?"
    >>> nearest("xyz", ["drf", "tsf"])
    "known: 'drf', 'tsf'"
    >>> nearest("0", [0, 1])
    "did you mean the number 0, not the text '0'?"
    """
    cut_names: list[str] = []
    in_message: dict[str, str] = {}
    text = name if isinstance(name, str) else quoted(name)
    for known_name in names:
        is_text = isinstance(known_name, str)
        cut_name = str(known_name)
        if cut_name == text and is_text != isinstance(name, str):
            return f"did you mean {_with_kind(known_name)}, not {_with_kind(name)}?"
        if len(cut_name) > _MOST_LETTERS:
            cut_name = f"{cut_name[:_MOST_LETTERS]}…"
        cut_names.append(cut_name)
        in_message[cut_name] = repr(cut_name) if is_text else cut_name
    folded_name = text[:_MOST_LETTERS].casefold()
    folded_names = {other.casefold(): other for other in cut_names}
    matches = difflib.get_close_matches(folded_name, folded_names, n=6, cutoff=0.6)
    close = [folded_names[match] for match in matches]
    if close:
        # first those in which only the order of letters differs
        close.sort(key=lambda other: sorted(other.casefold()) != sorted(folded_name))
        return f"did you mean {' or '.join(in_message[other] for other in close[:3])}?"
    listed = cut_names[:30]
    while len(listed) > 1 and sum(map(len, listed)) > _MOST_LISTED:
        listed.pop()
    return f"known: {', '.join(in_message[other] for other in listed)}" + (
        ", …" if cut_names[len(listed) :] else ""
    )


def _with_kind(name: object) -> str:
    """Return a name with what it is, for names that look alike: a number or a text."""
    if isinstance(name, str):
        return f"the text {quoted(name)}"
    kind = "number" if isinstance(name, Number) else type(name).__name__
    return f"the {kind} {quoted(name)}"


# Calls and names that Python would refuse in its own words: what to write in their place.

#: What Python says of a keyword that a function does not have.
_UNEXPECTED = re.compile(r"got an unexpected keyword argument '(\w+)'")
_Function = TypeVar("_Function", bound=Callable[..., Any])


def worded(function: _Function) -> _Function:
    """Return a function whose error for another tool's keyword says what to write here.

    >>> @worded
    ... def solve(verbose=False): ...
    >>> solve(msg=False)
    Traceback (most recent call last):
        ...
    TypeError: solve() got an unexpected keyword argument 'msg'; write model.solve(verbose=True)
    """

    @wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        try:
            return function(*arguments, **keywords)
        except TypeError as error:
            from .hints import HINTS

            unexpected = _UNEXPECTED.search(str(error))
            if unexpected is None or unexpected[1] not in HINTS:
                raise
            raise TypeError(f"{error}; {HINTS[unexpected[1]]}") from error

    return call  # type: ignore[return-value]


class Hinted:
    """An object that answers the names of other tools with what to write here.

    So do its public methods, where they are called with keywords that they do not take.
    """

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        for name, member in list(vars(cls).items()):
            if isinstance(member, FunctionType) and not name.startswith("_"):
                setattr(cls, name, worded(member))

    if not TYPE_CHECKING:  # else every attribute would be known to type checkers

        def __getattr__(self, name: str) -> Any:
            from .hints import HINTS

            problem = f"{type(self).__name__!r} object has no attribute {quoted(name)}"
            hint = f"; {HINTS[name]}" if name in HINTS else ""
            raise AttributeError(problem + hint, name=name, obj=self)


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
    "PackageNotAvailableError",
    "SkippedMechanismWarning",
    "SolverError",
    "SolverNotAvailableError",
    "StudyError",
    "TooLargeError",
    "UnknownNameError",
    "UnsupportedError",
]


#: Modules whose packages have other names.
_PACKAGES = {"yaml": "pyyaml", "attr": "attrs", "rpds": "rpds-py"}


@contextmanager
def needed_by(purpose: str) -> Iterator[None]:
    """Import packages that an installation may lack; the error names the purpose and the remedy.

    >>> with needed_by("the pictures of this page"):
    ...     import no_such_package
    Traceback (most recent call last):
    fairlp.errors.PackageNotAvailableError: the pictures of this page: no_such_package is not installed; ...
    """
    try:
        yield
    except ModuleNotFoundError as error:
        module = str(error.name).partition(".")[0]
        package = _PACKAGES.get(module, module)
        raise PackageNotAvailableError(
            f"{purpose}: {module} is not installed; pip install {package}"
        ) from error


def first_line(error: Exception) -> str:
    r"""Return the first line of a foreign error's message, or its kind if it has none.

    >>> first_line(ValueError("\n no luck \n")), first_line(KeyError())
    ('no luck', 'KeyError')
    """
    return str(error).strip().partition("\n")[0].rstrip() or type(error).__name__


def __dir__() -> list[str]:
    return __all__
