"""Run a study: the runs that are missing, through joblib, each kept as soon as it is finished."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from ...errors import FairlpError, FairlpWarning, FileFormatError, StudyError, require_known
from ...models.files.whole_files import home, require_folder
from ...progress import progress_bar
from . import storage
from .functions import need, shown
from .result import Result
from .work import Ran, do

if TYPE_CHECKING:
    from .definition import Study

#: Runs a worker in one batch, for back ends of joblib that give nothing back before a whole batch
#: is done.
_RUNS_A_BATCH = 8


def run(
    study: Study,
    path: str | Path | None,
    *,
    workers: int | None,
    backend: str,
    progress: bool | None,
    on_error: str,
) -> Result:
    """Do the runs that are not done yet, and return all; see :meth:`fairlp.study.Study.run`."""
    require_known(on_error, ("raise", "record"), f"on_error={on_error!r}")
    if workers is not None and (not isinstance(workers, int) or workers == 0):
        raise StudyError(f"workers is {workers!r}; expected a whole number, or -1 for all cores")
    need("pyarrow")
    _check_backend(backend)
    how = _How(study, workers, backend, progress, on_error)
    definition = study.definition(recognised=path is not None)
    if path is None:
        return how.result(definition, how.complete({}, None))
    target = _checked(path)
    number = {key: k for k, key in enumerate(study.keys)}
    done = {}
    if target.exists():
        table, told = storage.read(target)
        storage.same(told, storage.stamp(definition), target)
        done = storage.finished(table, number)
        if not how.missing(done):
            if told["definition"]["runs"] == study.runs:
                return Result.of(table, told, target, allow_code=True)
            return how.result(definition, done)
    with storage.Journal(target.with_name(f"{target.name}.journal"), definition) as journal:
        done |= journal.finished(number)
        done = how.complete(done, journal)
        surplus = any(number >= study.runs for _, number in done)
        storage.write(target, storage.table(definition, how.wanted(done)))
        if not surplus:  # runs beyond those that are wanted now wait for the day that they are
            journal.remove()
    return Result.read(target, allow_code=True)  # the functions of this study ran already


@dataclass(frozen=True)
class _How:
    """A study with the way to run it."""

    study: Study
    workers: int | None
    backend: str
    progress: bool | None
    on_error: str

    def missing(self, done: storage.Finished) -> list[tuple[int, int]]:
        """Return points and numbers of the runs to do, run 0 of every point first: so the bar tells of all points."""

        def is_missing(key: str, run: int) -> bool:
            found = done.get((key, run))
            return found is None or (found.error is not None and self.on_error == "raise")

        keys = self.study.keys
        return [
            (p, r)
            for r in range(self.study.runs)
            for p, key in enumerate(keys)
            if is_missing(key, r)
        ]

    def wanted(self, done: storage.Finished) -> list[Ran]:
        """Return the outcomes of the runs that the study has."""
        return [outcome for (_, number), outcome in done.items() if number < self.study.runs]

    def result(self, definition: dict[str, Any], done: storage.Finished) -> Result:
        """Return a result that is in no file, or not as it is there."""
        return Result.of(
            storage.table(definition, self.wanted(done)), storage.stamp(definition), allow_code=True
        )

    def complete(self, done: storage.Finished, journal: storage.Journal | None) -> storage.Finished:
        """Return what is done already with what was missing; an error of a run ends it when all under way is kept."""
        todo = self.missing(done)
        done = dict(done)
        keys, failed, stopped = self.study.keys, None, Event()
        total = self.study.runs * len(keys)
        with progress_bar(self.study.name, total, total - len(todo), self.progress) as advance:
            for outcome in self.outcomes(todo, stopped):
                advance()
                if outcome.error is not None and self.on_error == "raise":
                    failed = failed or outcome
                    stopped.set()
                    continue
                key = keys[outcome.point]
                done[key, outcome.run] = outcome
                if journal is not None:
                    journal.append(key, outcome)
        if failed is not None:
            raise self.failure(failed)
        return done

    def failure(self, outcome: Ran) -> StudyError:
        """Return the error of a run that failed, with where it was in the worker."""
        point = shown(self.study.points[outcome.point])
        error = StudyError(
            f"run {outcome.run} of point {outcome.point} ({point}) of study {self.study.name!r} "
            f"failed: {outcome.error}"
        )
        error.add_note(f"In the worker:\n{outcome.trace}")
        return error

    def outcomes(self, todo: list[tuple[int, int]], stopped: Event) -> Iterator[Ran]:
        """Yield outcomes of runs as they come, in any order; once it is stopped only of those that are under way."""
        if not todo:
            return
        try:
            with _quiet(), _one_thread():
                yield from self.in_parallel(todo, stopped)
        except FairlpError:
            raise
        except Exception as error:
            raise StudyError(
                f"the back end {self.backend!r} failed: {type(error).__name__}: {error} (with a "
                "path, finished runs "
                "are kept and the study goes on from them)"
            ) from error

    def in_parallel(self, todo: list[tuple[int, int]], stopped: Event) -> Iterator[Ran]:
        """Yield what joblib gives back."""
        joblib = need("joblib")
        limited = getattr(
            joblib.parallel.BACKENDS.get(self.backend), "supports_inner_max_num_threads", False
        )
        more = {"inner_max_num_threads": 1} if limited else {}
        with joblib.parallel_config(
            backend=self.backend, n_jobs=1 if self.workers is None else self.workers, **more
        ):
            try:
                parallel = joblib.Parallel(return_as="generator_unordered")
            except (
                ValueError
            ):  # a back end that gives nothing back before all is done: some runs at a time
                with joblib.Parallel() as parallel:
                    tasks, size = (
                        self.tasks(todo, stopped),
                        _RUNS_A_BATCH * joblib.effective_n_jobs(),
                    )
                    while batch := list(islice(tasks, size)):
                        yield from parallel(batch)
                return
            with closing(parallel(self.tasks(todo, stopped))) as outcomes:
                yield from outcomes

    def tasks(self, todo: list[tuple[int, int]], stopped: Event) -> Iterator[Any]:
        """Yield one task a run: joblib puts quick ones together itself, by how long they take."""
        from joblib import delayed

        work = replace(self.study.work, process=os.getpid())
        for point, number in todo:
            if stopped.is_set():
                return
            yield delayed(do)(work, point, self.study.points[point], number)


@contextmanager
def _quiet() -> Iterator[None]:
    """Say once in the documentation, not in every run, what fairlp warns of; and nothing of runs that were stopped."""
    with warnings.catch_warnings(action="ignore", category=FairlpWarning):
        warnings.filterwarnings(
            "ignore", ".*tasks (have been successfully executed|which were still)", UserWarning
        )
        yield


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let BLAS use one thread in this process, as in workers: sums of parts may differ in the last digit."""
    import scipy.linalg  # noqa: F401  (what is not loaded yet cannot be limited)

    with need("threadpoolctl").threadpool_limits(1, user_api="blas"):
        yield


def _check_backend(backend: str) -> None:
    joblib = need("joblib")
    known = dict.fromkeys([*joblib.parallel.BACKENDS, *joblib.parallel.EXTERNAL_BACKENDS])
    require_known(backend, known, f"no back end of joblib is called {backend!r}")
    if backend == "dask":
        try:
            need("distributed").get_client()
        except ValueError:
            raise StudyError(
                "backend='dask' needs a cluster: first from dask.distributed import Client; "
                "client = Client('tcp://scheduler:8786') (or Client() for one on this machine)"
            ) from None


def _checked(path: str | Path) -> Path:
    """Return the path of the file to write, when it can be written."""
    target = home(path)
    if target.suffix.lower() != ".parquet":
        raise FileFormatError(
            f"cannot write {str(path)!r}: the result of a study is a .parquet file"
        )
    require_folder(target)
    if target.is_dir():
        raise FileFormatError(f"cannot write {str(path)!r}: it is a folder; expected a file")
    return target
