"""``Study``: a Monte Carlo experiment as data, checked before anything runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import fairlp
from fairlp import solvers
from fairlp.errors import StudyError, UnknownNameError, quoted, require_known
from fairlp.toolkit import home

from ..runner import source_of, sources_of_mechanism
from . import functions
from .checks import mechanisms_of, named, points_of, statistics_of, whole
from .functions import Named, Plain, key_of, plain, point_text
from .generators import REGISTRY as GENERATORS
from .statistics import REGISTRY as STATISTICS

if TYPE_CHECKING:
    from fairlp import Allocation, Instance

    from .result import Result
    from .runs import Work

#: Fields of a study, in the order of a file.
_FIELDS = ("name", "generator", "grid", "mechanisms", "statistics", "runs", "seed")
#: Fields without a default.
_NEEDED = _FIELDS[:4]


@dataclass(frozen=True)
class Study:
    """A Monte Carlo experiment as data, with the same numbers on any number of workers.

    Parameters
    ----------
    name : str
    generator : str or callable
        A name of :func:`fairlp_research.study.generators`, ``module:function``, or a function ``(rng,
        **parameters) -> Instance`` that draws from ``rng`` only.
    grid : mapping of lists, or list of mappings
        The points: every combination of the values of each parameter (the last varies fastest), or
        the points of the list.
    mechanisms : mapping or list of str
        Label → a mechanism's name, or the arguments of :func:`fairlp.allocate` (``{"mechanism":
        "drf", "method": "lp"}``). A list of names labels each by its name.
    statistics : list
        Names of :func:`fairlp_research.study.statistics`, ``module:function``, or functions ``(instance,
        allocations, **arguments) -> mapping of numbers``; with arguments as ``{"name": …, "label":
        …, argument: …}``. Columns of the result are ``label.key``; the label is the function's name
        unless there is another. Arguments ``of`` and ``from`` are labels of mechanisms.
    runs : int
        Runs of each point.
    seed : int
        Run r of a point draws from ``SeedSequence(seed, spawn_key=(*words of the point, r))``:
        other points, the number of runs and the mechanisms do not matter.

    Raises
    ------
    UnknownNameError
        For a generator, mechanism, statistic, parameter or label that does not exist; the message
        has the nearest names.
    StudyError
        For any other field that cannot be run; the message names it.

    Examples
    --------
    >>> from fairlp_research import study
    >>> experiment = study.Study(
    ...     name="small",
    ...     generator="uniform-integers",
    ...     grid={"users": [5], "resources": [2], "demands": [[1, 10], [10, 20]]},
    ...     mechanisms=["drf", "asset"],
    ...     statistics=["jain"],
    ...     runs=3,
    ... )
    >>> len(experiment.points)
    2
    >>> experiment.instance(point=1, run=0)
    <Instance 'uniform-integers': 5 users, 1 server, resources resource1, resource2>
    """

    name: str
    generator: Named
    grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]]
    mechanisms: Mapping[str, str | Mapping[str, Any]] | Sequence[str]
    statistics: Sequence[Named | Mapping[str, Any]] = ("summary",)
    runs: int = 100
    seed: int = 0
    #: the points in order, each a mapping of parameters
    points: tuple[dict[str, Any], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise StudyError(f"the name of a study is text, not {self.name!r}")
        self._set("runs", whole(self.runs, "runs", 1))
        self._set("seed", whole(self.seed, "seed", 0))
        self._set("generator", named(self.generator, GENERATORS, "generator"))
        self._set("grid", plain(self.grid, "grid"))
        self._set("points", points_of(self.grid))
        self._set("mechanisms", mechanisms_of(self.mechanisms))
        self._set("statistics", statistics_of(self.statistics, self._arguments))
        generator = functions.find(self.generator, GENERATORS, "generator")
        name = functions.short_name(self.generator)
        for k, point in enumerate(self.points):
            description = f"point {k} ({point_text(point)}): generator {name!r}"
            functions.check_arguments(generator, 1, point, description)

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def run(
        self,
        *,
        folder: str | Path | None = None,
        workers: int | None = None,
        backend: str | None = None,
        progress: bool | None = None,
        on_error: Literal["raise", "record"] = "raise",
    ) -> Result:
        """Do all runs, apart from those that a folder has already.

        Parameters
        ----------
        folder : str or Path, optional
            Where joblib keeps each finished run, so that a study that was stopped goes on. Runs are
            found again by generator, point, mechanisms, statistics, seed, the source of your own
            functions, and the version of fairlp; so studies may share a folder. Values in it are
            pickles: use only a folder that you trust.
        workers : int, optional
            Processes or threads, -1 for all cores; by default as ``joblib.parallel_config`` says,
            or 1.
        backend : str, optional
            A back end of joblib: ``loky`` (processes), ``threading``, ``sequential``, or ``dask``
            after ``dask.distributed.Client(...)``; by default as ``joblib.parallel_config`` says,
            or ``loky``.
        progress : bool, optional
            False hides the progress (a bar in a terminal or notebook, lines elsewhere).
        on_error : {"raise", "record"}
            A run that fails ends the study (a folder keeps the finished runs), or leaves its
            message in the column ``error``. A folder does not keep it: the next study tries again.

        Returns
        -------
        Result

        Raises
        ------
        StudyError
            When a run fails (point, run and seed are named), when a function cannot be recognised
            in a folder, or when the back end fails.
        UnknownNameError
            For a back end that does not exist.
        """
        from .runs import run_study

        return run_study(
            self,
            folder=folder,
            workers=workers,
            backend=backend,
            progress=progress,
            on_error=on_error,
        )

    def instance(self, point: int = 0, run: int = 0) -> Instance:
        """Return the instance of one run.

        Parameters
        ----------
        point, run : int
            Positions, from 0: of the point of the grid, and of the run there.

        Returns
        -------
        Instance

        Raises
        ------
        StudyError
            For a point that the grid does not have.
        """
        if not 0 <= point < len(self.points):
            raise StudyError(
                f"there is no point {point}; study {self.name!r} has {len(self.points)}, from 0 on"
            )
        return self.work.instance(self.points[point], run)

    def allocations(self, point: int = 0, run: int = 0) -> dict[str, Allocation]:
        """Return the allocation of each mechanism in one run, by label.

        Parameters
        ----------
        point, run : int
            Positions, from 0: of the point of the grid, and of the run there.

        Returns
        -------
        dict of str to Allocation
        """
        return self.work.allocations(self.instance(point, run))

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The key of each point in seeds and results, 32 hexadecimal digits."""
        return tuple(key_of(point) for point in self.points)

    @cached_property
    def work(self) -> Work:
        """The data that a worker needs for any run of any point."""
        from .runs import Work

        statistics = []
        for entry in self._entries:
            arguments = dict(entry)
            name = arguments.pop("name")
            label = arguments.pop("label")
            statistics.append((label, functions.find(name, STATISTICS, "statistic"), arguments))
        generator = functions.find(self.generator, GENERATORS, "generator")
        mechanisms = {label: _portable(options) for label, options in self._arguments.items()}
        return Work(generator, mechanisms, tuple(statistics), self.seed)

    @cached_property
    def key(self) -> str:
        """The key under which a folder keeps runs.

        It covers all that their numbers depend on, apart from point and run.

        Raises
        ------
        StudyError
            For a function of yours that its source does not describe.
        """
        definition = self.definition()
        document = [definition[name] for name in ("generator", "mechanisms", "statistics", "seed")]
        functions_of_user = [] if self.generator in GENERATORS else [self.work.generator]
        functions_of_user += [
            function
            for entry, (_, function, _) in zip(self._entries, self.work.statistics, strict=True)
            if entry["name"] not in STATISTICS
        ]
        sources = [source_of(function) for function in functions_of_user]
        for options in self._arguments.values():
            sources += sources_of_mechanism(fairlp.mechanisms.located(options["mechanism"]))
        # The order within the text matters, since columns have it.
        return hashlib.sha256(json.dumps([document, sources]).encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Return the study as plain data; :meth:`from_dict` gives it back.

        Returns
        -------
        dict
            Values that JSON can hold.

        Raises
        ------
        StudyError
            When a function is in no module, as a lambda or one of a notebook; it is named.
        """
        definition = self.definition()
        mechanisms = [options["mechanism"] for options in definition["mechanisms"].values()]
        statistics = [entry["name"] for entry in definition["statistics"]]
        for name in (definition["generator"], *mechanisms, *statistics):
            if isinstance(name, dict):
                raise StudyError(
                    f"function {name['function']!r} is in no module that can be imported, so study "
                    f"{self.name!r} cannot be written; put it into a .py file"
                )
        brief = [_without_default_label(entry) for entry in definition["statistics"]]
        return {"fairlp_study": 1, **definition, "statistics": brief}

    def definition(self) -> dict[str, Any]:
        """Return the study as plain data, with ``{"function": name}`` for functions in no module.

        Returns
        -------
        dict
        """
        fields = {name: getattr(self, name) for name in _FIELDS}
        statistics = [{**entry, "name": _plain_name(entry["name"])} for entry in self._entries]
        mechanisms = {label: _plain_options(value) for label, value in self._arguments.items()}
        return {
            **fields,
            "generator": _plain_name(self.generator),
            "mechanisms": mechanisms,
            "statistics": statistics,
        }

    @property
    def _arguments(self) -> dict[str, dict[str, Any]]:
        """Label → arguments of ``allocate``: the form of the mechanisms after ``__post_init__``."""
        return cast("dict[str, dict[str, Any]]", self.mechanisms)

    @property
    def _entries(self) -> tuple[dict[str, Any], ...]:
        """Name, label and arguments of each statistic: their form after ``__post_init__``."""
        return cast("tuple[dict[str, Any], ...]", self.statistics)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], *, allow_code: bool = False) -> Study:
        """Return the study of plain data, of :meth:`to_dict` or written by hand.

        Parameters
        ----------
        document : mapping
        allow_code : bool
            Accept functions of modules (``module:function``), which import the module and run, and
            options by a solver's own names (``extra``) and log files, which write files. Only for
            data that you trust: without it only fairlp runs.

        Returns
        -------
        Study

        Raises
        ------
        StudyError
            For data that is no study, or needs ``allow_code``.
        UnknownNameError
            For a key that a study does not have.
        """
        if not isinstance(document, Mapping):
            raise StudyError(
                f"a study is a mapping, not {type(document).__name__}; its keys: "
                f"{', '.join(_FIELDS)}"
            )
        fields = dict(document)
        version = fields.pop("fairlp_study", 1)
        if version != 1:
            raise StudyError(f"fairlp_study is {version!r}; this fairlp reads studies of version 1")
        for name in fields:
            require_known(name, _FIELDS, f"a study has no {name!r}")
        if not allow_code:
            functions.refuse_code(fields)
        missing = [name for name in _NEEDED if name not in fields]
        if missing:
            raise StudyError(
                f"the study has no {quoted(missing[0])}; expected name, generator, grid and mechanisms"
            )
        return cls(**fields)

    @classmethod
    def read(cls, path: str | Path, *, allow_code: bool = False) -> Study:
        """Return the study of a ``.json`` or ``.yaml`` file.

        ``allow_code`` is as of :meth:`from_dict`.

        Parameters
        ----------
        path : str or Path
        allow_code : bool

        Returns
        -------
        Study

        Raises
        ------
        StudyError, UnknownNameError
            As of :meth:`from_dict`, with the file's name.
        """
        from fairlp.toolkit import read_document  # which asks for YAML

        document = read_document(home(path))
        try:
            return cls.from_dict(document, allow_code=allow_code)
        except (UnknownNameError, StudyError) as error:
            raise type(error)(f"{path}: {error}") from None

    def write(self, path: str | Path) -> Path:
        """Write the study as ``.json`` or ``.yaml``; :meth:`read` gives it back.

        Parameters
        ----------
        path : str or Path

        Returns
        -------
        Path
            The file written.

        Raises
        ------
        FileFormatError
            For another ending of the name.
        StudyError
            As of :meth:`to_dict`.
        """
        from fairlp.toolkit import write_document

        return write_document(path, self.to_dict())


def _portable(options: Plain) -> dict[str, Any]:
    """Return arguments of ``allocate`` for other processes.

    A user's mechanisms and solvers are objects there.
    """
    portable = dict(options)
    mechanism = fairlp.mechanisms.located(options["mechanism"])
    if mechanism.functions:
        portable["mechanism"] = mechanism
    if "solver" in options:
        portable["solver"] = solvers.carried(options["solver"])
    return portable


def _plain_name(function: Named) -> str | dict[str, str]:
    """Return the name of a function as plain data."""
    return function if isinstance(function, str) else {"function": functions.short_name(function)}


def _plain_options(options: Plain) -> dict[str, Any]:
    """Return arguments of ``allocate`` as plain data."""
    mechanism = fairlp.mechanisms.located(options["mechanism"])
    if mechanism.reference is None:
        return {**options, "mechanism": {"function": mechanism.name}}
    return dict(options)


def _without_default_label(entry: dict[str, Any]) -> str | dict[str, Any]:
    """Return a statistic as people write it: without a label that is the name of its function."""
    if entry["label"] != functions.short_name(entry["name"]):
        return entry
    brief = {name: value for name, value in entry.items() if name != "label"}
    return brief if len(brief) > 1 else str(entry["name"])
