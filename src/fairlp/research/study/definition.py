"""``Study``: a Monte Carlo experiment as data, checked before anything runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from ...errors import FileFormatError, StudyError, UnknownNameError, require_known
from ...mechanisms.own import OwnMechanism, located
from ...models.files.whole_files import home, require_folder, write_text
from ...models.programs.backends import carried
from . import functions
from .checks import mechanisms_of, named, points_of, statistics_of, whole
from .functions import Named, Plain, key_of, plain, shown
from .generators import REGISTRY as GENERATORS
from .statistics import REGISTRY as STATISTICS

if TYPE_CHECKING:
    from ...mechanisms.allocation import Allocation
    from ...models.instances.instance import Instance
    from .result import Result
    from .work import Work

#: What a study may hold, in the order of a file.
_PARTS = ("name", "generator", "grid", "mechanisms", "statistics", "runs", "seed")


@dataclass(frozen=True)
class Study:
    """A Monte Carlo experiment as data: the same study gives the same numbers on any number of workers.

    Parameters
    ----------
    name : str
    generator : str or callable
        What makes the instances: a name of :func:`fairlp.study.generators`, ``module:function``, or
        a function ``(rng, **parameters) -> Instance`` that draws from ``rng`` only.
    grid : mapping of lists, or list of mappings
        The points: every combination of the values of each parameter (the last varies fastest), or
        each point given.
    mechanisms : mapping or list of str
        Label → a mechanism's name, or the arguments of :func:`fairlp.allocate` (``{"mechanism":
        "drf", "method": "lp"}``). A list of names labels each by its name.
    statistics : list
        Names of :func:`fairlp.study.statistics`, ``module:function``, or functions ``(instance,
        allocations, **arguments) -> mapping of numbers``; with arguments as ``{"name": …, "label":
        …, argument: …}``. Columns of the result are ``label.key``; the label is the function's name
        where none is given. Arguments ``of`` and ``from`` are labels of mechanisms.
    runs : int
        Runs of each point.
    seed : int
        Run r of a point draws from ``SeedSequence(seed, spawn_key=(*words of the point, r))``:
        nothing else matters, not the other points, not the number of runs, not the mechanisms.

    Raises
    ------
    UnknownNameError
        For a generator, mechanism, statistic, parameter or label that does not exist; the nearest
        names are given.
    StudyError
        For anything else that cannot be run; the message says what and where.

    Examples
    --------
    >>> from fairlp import study
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
        def keep(part: str, value: Any) -> None:
            object.__setattr__(self, part, value)

        if not isinstance(self.name, str) or not self.name.strip():
            raise StudyError(f"the name of a study is text, not {self.name!r}")
        keep("runs", whole(self.runs, "runs", 1))
        keep("seed", whole(self.seed, "seed", 0))
        keep("generator", named(self.generator, GENERATORS, "generator"))
        keep("grid", plain(self.grid, "grid"))
        keep("points", points_of(self.grid))
        labelled = mechanisms_of(self.mechanisms)
        keep("mechanisms", labelled)
        keep("statistics", statistics_of(self.statistics, labelled))
        generator = functions.find(self.generator, GENERATORS, "generator")
        for k, point in enumerate(self.points):
            what = f"point {k} ({shown(point)}): generator {functions.short_name(self.generator)!r}"
            functions.check_arguments(generator, 1, point, what)

    def run(
        self,
        path: str | Path | None = None,
        *,
        workers: int | None = None,
        backend: str = "loky",
        progress: bool | None = None,
        on_error: Literal["raise", "record"] = "raise",
    ) -> Result:
        """Do the runs that are not done yet, and return all of them.

        Parameters
        ----------
        path : str or Path, optional
            A ``.parquet`` file. Each finished run is kept in ``path.journal`` beside it until the
            file is written, so that a study that was killed goes on where it was; a complete file
            is returned as it is; a file or journal of another study is an error.
        workers : int, optional
            Processes or threads (default 1; -1 for all cores). On a Dask cluster its own number
            counts.
        backend : str
            A back end of joblib: ``loky`` (processes), ``threading``, ``sequential``,
            ``multiprocessing``, or ``dask`` after ``dask.distributed.Client(...)``.
        progress : bool, optional
            A progress bar on standard error; by default in a terminal or notebook only.
        on_error : {"raise", "record"}
            What a run that fails does: end the study (what was finished stays in the journal), or
            leave its message in the column ``error``.

        Returns
        -------
        Result

        Raises
        ------
        StudyError
            When a run fails (the point and run are named), when the file is of another study, or
            the back end fails.
        UnknownNameError
            For a back end that does not exist.
        """
        from .engine import run

        return run(
            self, path, workers=workers, backend=backend, progress=progress, on_error=on_error
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
        """Return what each mechanism gives in one run, by label.

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
        """What stands for each point in seeds and files, 32 hexadecimal digits."""
        return tuple(key_of(point) for point in self.points)

    @cached_property
    def work(self) -> Work:
        """What a worker needs to do any run of any point."""
        from .work import Work

        found = []
        for entry in self._entries:
            arguments = dict(entry)
            name, label = arguments.pop("name"), arguments.pop("label")
            found.append((label, functions.find(name, STATISTICS, "statistic"), arguments))
        generator = functions.find(self.generator, GENERATORS, "generator")
        mechanisms = {label: self._ready(how) for label, how in self._labelled.items()}
        return Work(generator, mechanisms, tuple(found), self.seed)

    def to_dict(self) -> dict[str, Any]:
        """Return the study as plain data; :meth:`from_dict` gives it back.

        Returns
        -------
        dict
            What JSON can hold.

        Raises
        ------
        StudyError
            When a function is in no module, as a lambda or one of a notebook; it is named.
        """
        found = self.definition(recognised=False)
        used = (how["mechanism"] for how in found["mechanisms"].values())
        for part in (found["generator"], *used, *(entry["name"] for entry in found["statistics"])):
            if isinstance(part, dict):
                raise StudyError(
                    f"function {part['function']!r} is in no module that can be imported, so study "
                    f"{self.name!r} "
                    "cannot be written; put it into a .py file"
                )
        return {
            "fairlp_study": 1,
            **found,
            "statistics": [_brief(entry) for entry in found["statistics"]],
        }

    def definition(self, *, recognised: bool = True) -> dict[str, Any]:
        """Return what makes this study itself, as plain data; functions in no module by name, and code if wanted.

        Parameters
        ----------
        recognised : bool
            Tell functions by their code too, so that an edited one is another.

        Returns
        -------
        dict
        """

        def name(function: Named) -> Any:
            if isinstance(function, str):
                return function
            return (
                functions.fingerprint(function)
                if recognised
                else {"function": functions.short_name(function)}
            )

        statistics = [{**entry, "name": name(entry["name"])} for entry in self._entries]
        found = {part: getattr(self, part) for part in _PARTS}
        found["mechanisms"] = {
            label: self._recognised(how, recognised) for label, how in self._labelled.items()
        }
        return {**found, "generator": name(self.generator), "statistics": statistics}

    @property
    def _labelled(self) -> dict[str, dict[str, Any]]:
        """Label → arguments of ``allocate``, as which the mechanisms are kept."""
        return cast("dict[str, dict[str, Any]]", self.mechanisms)

    @staticmethod
    def _ready(how: Plain) -> dict[str, Any]:
        """Return the arguments of ``allocate``, with what is one's own as itself, so that it travels."""
        ready, row = dict(how), located(how["mechanism"])
        if isinstance(row, OwnMechanism):
            ready["mechanism"] = row
        if "solver" in how:
            ready["solver"] = carried(how["solver"])
        return ready

    @staticmethod
    def _recognised(how: Plain, recognised: bool) -> dict[str, Any]:
        """Return arguments as they are written, with what a mechanism of one's own is recognised by, if wanted."""
        row = located(how["mechanism"])
        if not isinstance(row, OwnMechanism):
            return dict(how)
        if recognised:
            faster = {
                name: functions.fingerprint(function)["code"]
                for name, function in row.faster.items()
            }
            return {
                **how,
                **functions.fingerprint(row.function),
                **({"methods": faster} if faster else {}),
            }
        return dict(how) if row.reference else {**how, "mechanism": {"function": row.name}}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], *, allow_code: bool = False) -> Study:
        """Return the study of plain data, as :meth:`to_dict` gives it or as one writes it by hand.

        Parameters
        ----------
        document : mapping
        allow_code : bool
            Take functions of modules (``module:function``), which import the module and run, and
            options by a solver's own names (``extra``) and log files, which write files. Only for
            data that you trust: without it nothing but fairlp runs.

        Returns
        -------
        Study

        Raises
        ------
        StudyError
            For what is no study, or needs ``allow_code``.
        UnknownNameError
            For a key that a study does not have.
        """
        if not isinstance(document, Mapping):
            raise StudyError(
                f"a study is a mapping, not {type(document).__name__}; its keys: "
                f"{', '.join(_PARTS)}"
            )
        given = dict(document)
        version = given.pop("fairlp_study", 1)
        if version != 1:
            raise StudyError(f"fairlp_study is {version!r}; this fairlp reads studies of version 1")
        for key in given:
            require_known(key, _PARTS, f"a study has no {key!r}")
        if not allow_code:
            functions.refuse_code(given)
        missing = [part for part in _PARTS[:4] if part not in given]
        if missing:
            raise StudyError(
                f"the study has no {missing[0]!r}; expected name, generator, grid and mechanisms"
            )
        return cls(**given)

    @classmethod
    def read(cls, path: str | Path, *, allow_code: bool = False) -> Study:
        """Return the study of a ``.json`` or ``.yaml`` file; ``allow_code`` is as of :meth:`from_dict`.

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
        from ...models.files.instances import read_document

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
        from ...models.files.instances import yaml_text

        target, document = home(path), self.to_dict()
        kind = target.suffix.lower()
        if kind not in (".json", ".yaml", ".yml"):
            raise FileFormatError(
                f"cannot tell the format of {str(path)!r}; expected .json, .yaml or .yml"
            )
        require_folder(target)
        text = (
            json.dumps(document, indent=1, ensure_ascii=False) + "\n"
            if kind == ".json"
            else yaml_text(document)
        )
        return write_text(target, text)

    @property
    def _entries(self) -> tuple[dict[str, Any], ...]:
        return cast("tuple[dict[str, Any], ...]", self.statistics)


def _brief(entry: dict[str, Any]) -> str | dict[str, Any]:
    """Return a statistic as one would write it: without the label that it has by itself."""
    if entry["label"] != functions.short_name(entry["name"]):
        return entry
    brief = {key: value for key, value in entry.items() if key != "label"}
    return brief if len(brief) > 1 else str(entry["name"])
