"""Independent calls through joblib: its configuration places them, and its Memory keeps results.

Studies, the library of benchmark instances, the ledger and the experiments of simulations run here.
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import Event, Thread
from time import sleep
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

from fairlp import Mechanism, __version__, solvers
from fairlp.errors import (
    FairlpError,
    FairlpWarning,
    FileFormatError,
    StudyError,
    needed_by,
    require_known,
)
from fairlp.toolkit import home, progress_bar, require_folder

#: Package → how to install it, for packages that are no part of ``fairlp[study]``.
_REMEDIES = {"distributed": 'pip install "dask[distributed]"'}


class StudyNotAvailableError(FairlpError, ImportError):
    """A package that studies need is not installed; the message says how to install it."""


class Failure(NamedTuple):
    """The failure of a call: its error's type and message, and the traceback in its process."""

    message: str
    trace: str


def need(name: str) -> Any:
    """Return a module of an optional package; the error says how to install the package."""
    package = name.partition(".")[0]
    try:
        return importlib.import_module(name)
    except ImportError as error:
        remedy = _REMEDIES.get(package, 'pip install "fairlp[study]"')
        raise StudyNotAvailableError(
            f"studies need {package}, which cannot be imported ({error}): {remedy}"
        ) from None


@contextmanager
def run_on(workers: int | None = None, backend: str | None = None) -> Iterator[None]:
    """Run calls on workers of a joblib back end.

    An argument of None stays as the caller configured it.

    Raises
    ------
    UnknownNameError
        For a back end that joblib does not have.
    StudyError
        For a number of workers that cannot be, and for Dask without a client.
    """
    with needed_by("runs side by side"):
        import joblib

    options: dict[str, Any] = {}
    if workers is not None:
        if not isinstance(workers, int) or workers == 0:
            raise StudyError(
                f"workers is {workers!r}; expected a whole number, or -1 for all cores"
            )
        options["n_jobs"] = workers
    if backend is not None:
        backends = dict.fromkeys([*joblib.parallel.BACKENDS, *joblib.parallel.EXTERNAL_BACKENDS])
        require_known(backend, backends, f"no back end of joblib is called {backend!r}")
        if backend == "dask":
            _require_client()
        options["backend"] = backend
    with joblib.parallel_config(**options):
        yield


def run_calls(
    name: str,
    function: Callable[..., Any],
    calls: Iterable[Sequence[Any]],
    *,
    folder: str | Path | None = None,
    ignore: Sequence[str] = (),
    progress: bool | None = None,
    failures: bool = False,
) -> Generator[tuple[int, Any], None, None]:
    """Yield the position and the value of each call, as the calls end.

    Close the generator to stop early: calls that have not begun are left out.

    Parameters
    ----------
    name : str
        The name on the progress bar.
    function : callable
        A function of a module.
    calls : iterable of sequences
        The arguments of each call.
    folder : str or Path, optional
        Where joblib keeps values, by the arguments, the code of the function and the version of
        fairlp. The folder is made where it is not there; values in it are loaded, not computed.
    ignore : sequence of str
        Parameters that do not tell one call from another.
    progress : bool, optional
        False hides the progress (a bar in a terminal or notebook, lines elsewhere).
    failures : bool
        Yield a :class:`Failure` for a call that raises an error, and go on.

    Yields
    ------
    tuple of int and value
    """
    with needed_by("runs side by side"):
        import joblib

    arguments_of_calls = [tuple(arguments) for arguments in calls]
    if not arguments_of_calls:
        return
    if folder is not None:
        # Values of another version of fairlp may differ, and have a folder of their own.
        memory = joblib.Memory(folder_of_values(folder) / f"fairlp-{__version__}", verbose=0)
        memorized = memory.cache(function, ignore=list(ignore))
        # This writes the code of the function to the folder before several workers compare it.
        memorized.check_call_in_cache(*arguments_of_calls[0])
        function = memorized

    stopped = Event()
    process = os.getpid()

    def tasks() -> Iterator[Any]:
        for position, arguments in enumerate(arguments_of_calls):
            if stopped.is_set():
                return
            yield joblib.delayed(_call)(
                function, position, arguments, failures, __version__, process
            )

    with (
        progress_bar(name, len(arguments_of_calls), 0, progress) as advance,
        _one_thread_without_warnings(),
    ):
        # Each worker has a call: one without would not know of its parent's end.
        workers = min(joblib.effective_n_jobs(None), len(arguments_of_calls))
        results = joblib.Parallel(n_jobs=workers, return_as="generator_unordered")(tasks())
        try:
            for result in results:
                advance()
                yield result
        except GeneratorExit:
            # The caller needs no more: the calls under way end, and a folder keeps them.
            stopped.set()
            with suppress(Exception):
                deque(results, maxlen=0)
            raise


def _call(
    function: Callable[..., Any],
    position: int,
    arguments: tuple[Any, ...],
    failures: bool,
    version: str,
    process: int,
) -> tuple[int, Any]:
    """Run one call in a worker.

    Its process has set threads and warnings for its own threads.
    """
    try:
        if version != __version__:
            raise StudyError(
                f"this worker has fairlp {__version__}, and the calls come from fairlp {version}"
            )
        if os.getpid() == process:
            return position, function(*arguments)
        _end_with(process)
        with _one_thread_without_warnings():
            return position, function(*arguments)
    except Exception as error:
        if not failures:
            raise
        return position, Failure(f"{type(error).__name__}: {error}", traceback.format_exc())


#: Seconds between two looks whether the process that sent the calls is alive.
_WATCH = 1.0


@cache
def _end_with(process: int) -> None:
    """End this worker when the process that started it and sends the calls is gone.

    A process that is killed cannot end its workers, and these would compute on, or wait for minutes.
    Workers that another process started, as on a cluster, are that one's.
    """
    if os.getppid() == process:
        Thread(target=_end_without, args=(process,), daemon=True).start()


def _end_without(parent: int) -> None:
    """End this process as soon as it has another parent."""
    while os.getppid() == parent:
        sleep(_WATCH)
    os._exit(1)


@contextmanager
def _one_thread_without_warnings() -> Iterator[None]:
    """Let BLAS use one thread, and silence repeated warnings.

    Sums of several threads differ in the last digit.
    """
    with (
        warnings.catch_warnings(action="ignore", category=FairlpWarning),
        solvers.blas_threads(1),
    ):
        yield


def folder_of_values(folder: str | Path) -> Path:
    """Return the path of a folder for finished values; raise FileFormatError for a file.

    The folder may be new.
    """
    target = home(folder)
    if target.is_file():
        raise FileFormatError(f"{str(folder)!r} is a file; expected a folder, which may be new")
    require_folder(target if not target.exists() else None)
    return target.absolute()  # a worker may have another current folder


def send_by_value(module: ModuleType) -> None:
    """Send functions of a module to workers by value.

    Workers cannot import the module by its name.
    """
    with needed_by("functions of modules in other processes"):
        from cloudpickle import register_pickle_by_value

    if module.__name__ in sys.modules:
        register_pickle_by_value(module)


def source_of(function: Callable[..., Any]) -> str:
    """Return the source of a user's function, by which a folder keeps its values.

    The functions that it calls are no part of its source.

    Raises
    ------
    StudyError
        For a function whose source does not say what it computes: a lambda, a function that uses
        variables of an enclosing function, a partial or another object.
    """
    name = getattr(function, "__name__", type(function).__name__)
    if isinstance(function, FunctionType) and name != "<lambda>" and function.__closure__ is None:
        try:
            return inspect.getsource(function)
        except (OSError, TypeError):
            pass
    raise StudyError(
        f"runs with {name!r} cannot be kept in a folder, since its source does not say all that it "
        "computes; write it with def, in a module, script or notebook, without variables of an "
        "enclosing function, or run without a folder"
    )


def sources_of_mechanism(mechanism: Mechanism) -> list[str]:
    """Return the sources of a user's mechanism, or none for one of fairlp.

    The version of fairlp stands for the latter.
    """
    return [source_of(function) for function in mechanism.functions]


def _require_client() -> None:
    """Raise an error where no Dask cluster is connected."""
    try:
        need("distributed").get_client()
    except ValueError:
        raise StudyError(
            "the back end 'dask' needs a cluster: first from dask.distributed import Client; "
            "client = Client('tcp://scheduler:8786') (or Client() for a cluster on this machine)"
        ) from None
