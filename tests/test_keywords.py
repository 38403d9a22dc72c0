"""Keywords that several functions share are those that the functions take, and everybody can see them."""

import inspect
import re
from dataclasses import fields
from pathlib import Path

import pytest

import fairlp
import fairlp_research
from fairlp.auditing.search import CounterexampleOptions, Search
from fairlp.errors import UnknownNameError
from fairlp.formulations.options import (
    AllocateOptions,
    ClockOptions,
    FormulationOptions,
    MechanismOptions,
    SharingOptions,
)
from fairlp.mechanisms.table import TABLE
from fairlp.models.files.lp import write_lp
from fairlp.models.files.mps import write_mps
from fairlp.models.instances.instance import FrameOptions, InstanceData
from fairlp.models.programs.options import SolveOptions, SolverOptions, WriteOptions
from fairlp_research.distributed import CLOCK_OPTIONS
from fairlp_research.simulation.experiments import SimulationOptions, TrackOptions

#: Public functions whose keywords nobody knows beforehand, and what they are.
OPEN = {
    "function fairlp.toolkit.csv_text": "those of pandas",
    "function fairlp.mechanisms.run": "those of fairlp.allocate",
    "function fairlp.plots.style.image": "those of matplotlib's savefig",
    ".of_margin": "the fields of a finding",
    ".start": "the fields of a user's own path",
    ".derived": "the fields of an instance, unchecked",
    ".replace": "the fields of a program",
    ".plot": "those of pandas' plot.bar",
    "function fairlp_research.library.load": "the sizes of the entry that is named",
    ".audited": "those of fairlp.audit and of the instances drawn",
    ".shipped": "those of the instance that ships",
    ".statement": "those of the instances drawn",
    "function fairlp_research.papers.beside": "the fields of an answer of the ledger",
    "function fairlp_research.papers.holds": "the fields of an answer of the ledger",
    "function fairlp_research.papers.integers": "those of Instance.from_arrays",
    "function fairlp_research.papers.picture": "the fields of an answer of the ledger",
}


def keys(keywords):
    return set(keywords.__annotations__)


def parameters(function, skipped):
    return set(list(inspect.signature(function).parameters)[skipped:])


def test_the_keywords_of_a_solve_are_the_options():
    names = {field.name for field in fields(fairlp.Options)}
    assert keys(SolveOptions) == names
    assert keys(SolverOptions) == names - {"method"}


def test_the_keywords_of_allocate_are_the_options_of_all_mechanisms():
    of_mechanisms = {option for row in TABLE.values() for option in row.options}
    assert keys(MechanismOptions) == of_mechanisms | keys(SolverOptions)
    own = parameters(fairlp.allocate, 2) - keys(MechanismOptions)
    assert (
        own
        == {"method", "solver", "merge", "oversized"}
        == keys(AllocateOptions) - keys(MechanismOptions)
    )


def test_the_keywords_of_formulate_are_the_options_of_all_formulations():
    of_formulations = {
        name
        for row in TABLE.values()
        if row.formulation is not None
        for name in parameters(row.formulation, 1)
    }
    assert keys(FormulationOptions) == of_formulations | {"whole"}


def test_the_keywords_of_files_instances_searches_and_clocks():
    writers = parameters(write_mps, 2) | parameters(write_lp, 2)
    assert keys(WriteOptions) == writers
    assert keys(InstanceData) == parameters(fairlp.Instance.from_arrays, 0)
    assert keys(FrameOptions) == {"resources", "units", "eligible", "rates", "name"}
    assert keys(CounterexampleOptions) == {field.name for field in fields(Search) if field.init}
    assert keys(ClockOptions) == set(CLOCK_OPTIONS)
    own_of_track = parameters(fairlp_research.distributed.track, 2)
    assert keys(TrackOptions) == own_of_track - {"until"}
    of_simulate = parameters(fairlp_research.simulation.simulate, 3)
    assert keys(SimulationOptions) == of_simulate - {"progress"}
    assert keys(SharingOptions) <= keys(AllocateOptions)


def test_every_public_function_shows_its_keywords():
    interface = Path(__file__).with_name("public_interface.txt").read_text(encoding="utf-8")
    hidden = {
        line.strip().partition("(")[0]
        for line in interface.splitlines()
        if re.search(r"\*\*\w+: Any", line)
    }
    assert hidden == set(OPEN)


def test_help_lists_the_options_of_a_solve():
    text = str(inspect.signature(fairlp.Model.solve))
    assert "time_limit: 'float | None' = …" in text and "**" not in text
    assert str(inspect.signature(fairlp.Model("m").solve)).startswith(
        "(solver: 'AnySolver' = 'highs', *"
    )


def test_an_option_of_another_format_is_refused_in_words(tmp_path):
    model = fairlp.Model("m")
    model.maximize(model.variable("x", upper=3))
    with pytest.raises(UnknownNameError, match=r"'m.lp' is written without an option 'profile'"):
        model.write(tmp_path / "m.lp", profile="full")
    with pytest.raises(UnknownNameError, match=r"files of this kind have no options"):
        model.write(tmp_path / "m.nl", names="labels")
