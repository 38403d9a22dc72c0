"""Studies as data: points, fields that are checked first, files and back, keys of kept runs."""

from __future__ import annotations

import json

import numpy as np
import pytest

import study_functions
from cli_runner import error_line, run
from fairlp import Instance, allocate
from fairlp.cli import ExitCode
from fairlp.errors import StudyError
from fairlp_research import study
from fairlp_research.study.functions import key_of
from study_functions import make

PLAIN = {
    "name": "plain",
    "generator": "uniform-integers",
    "grid": {"users": [2, 3], "resources": [2]},
    "mechanisms": {"a": {"mechanism": "drf"}},
    "statistics": ["summary"],
    "runs": 2,
}
#: Changes of a study that would run code.
CODE = [
    {"generator": "os:system"},
    {"generator": "beside:mine"},
    {"generator": "fairlp.models.files.whole_files:os.system"},
    {"statistics": ["summary", "os:system"]},
    {"statistics": [{"name": "os:system", "label": "a"}]},
    {"statistics": "os:system"},
    {"statistics": {"name": "os:system"}},
    {"mechanisms": {"a": {"mechanism": "drf", "method": "lp", "extra": {"log_file": "written"}}}},
    {"mechanisms": {"a": {"mechanism": "drf", "method": "lp", "log_file": "written"}}},
]


def test_a_grid_is_a_product_or_a_list():
    product = make(grid={"users": range(1, 3), "fail_at": [None, np.float64(11)]})
    assert product.points == make(grid=list(product.points)).points
    assert [tuple(point.values()) for point in product.points] == [
        (1, None),
        (1, 11.0),
        (2, None),
        (2, 11.0),
    ]
    assert make(generator=study_functions.one_user, grid=[{}]).points == ({},)


def test_the_seed_of_a_run_is_that_of_the_documentation():
    experiment = make()
    key_numbers = [int(experiment.keys[0][k : k + 8], 16) for k in range(0, 32, 8)]
    rng = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(*key_numbers, 4)))
    instance = study_functions.noted(rng, users=3)
    assert experiment.instance(point=0, run=4).equals(instance)
    totals = allocate(instance, "asset").totals
    assert experiment.allocations(0, 4)["other"].totals.equals(totals)


def test_the_seeds_of_a_point_never_change():
    """Results in papers rest on these."""
    assert key_of({"users": 1000, "demands": [1, 10]}) == "7f784941b5fa61337a478ce0f639d6f5"
    experiment = make(
        generator="uniform-integers", grid=[{"users": 2, "resources": 2}], statistics=["jain"]
    )
    assert experiment.instance().demands.tolist() == [[5.0, 9.0], [1.0, 4.0]]


# files


@pytest.mark.parametrize("name", ["s.yaml", "s.yml", "s.json"])
def test_a_study_goes_to_a_file_and_back(tmp_path, name):
    experiment = make(
        name="é: no",
        seed=2**70,
        mechanisms={
            "a": {"mechanism": "drf", "method": "lp", "solver": "highs", "time_limit": 1e3}
        },
        statistics=[
            "jain",
            {"name": "jain", "label": "again", "of": ["a"]},
            study_functions.awkward,
        ],
    )
    assert experiment.write(tmp_path / name) == tmp_path / name
    assert study.Study.read(tmp_path / name, allow_code=True) == experiment
    assert study.Study.from_dict(experiment.to_dict(), allow_code=True) == experiment
    assert list(tmp_path.iterdir()) == [tmp_path / name]
    assert "study_functions:awkward" in (tmp_path / name).read_text(encoding="utf-8")


def test_a_function_in_no_module_is_not_written(tmp_path):
    def local(rng, *, users):
        return Instance.from_arrays([[1.0]] * users, [[5.0]])

    experiment = make(generator=local)
    assert experiment.definition()["generator"] == {"function": "local"}
    with pytest.raises(StudyError, match="'local' is in no module"):
        experiment.write(tmp_path / "s.yaml")


@pytest.mark.parametrize("changes", CODE, ids=str)
def test_code_in_a_file_is_refused_and_does_not_run(changes, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "beside.py").write_text("open('beside ran', 'w').close()\n", encoding="utf-8")
    for name in ("s.json", "s.yaml"):
        (tmp_path / name).write_text(json.dumps(PLAIN | changes), encoding="utf-8")
        with pytest.raises(
            StudyError, match=rf"^{name}: .* allow it: allow_code=True, or .*--allow-code"
        ):
            study.Study.read(name)
        assert "--allow-code" in error_line(run("study", name, code=ExitCode.INPUT))
    with pytest.raises(StudyError, match="allow_code=True"):
        study.Study.from_dict(PLAIN | changes)
    assert not list(tmp_path.glob("* ran")) and not (tmp_path / "written").exists()


# keys of kept runs


def key_with(**changes):
    return make(**({"statistics": ["jain"]} | changes)).key


def test_name_grid_and_number_of_runs_are_no_part_of_the_key():
    assert key_with(name="other", grid={"users": [7]}, runs=9) == key_with()


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": 1},
        {"generator": study_functions.uniform_integers, "grid": [{"users": 3, "resources": 2}]},
        {"mechanisms": {"exact": "drf"}},
        {"mechanisms": {"other": {"mechanism": "asset"}, "exact": "drf"}},
        {"statistics": ["summary"]},
        {"statistics": [{"name": "jain", "of": "exact"}]},
    ],
    ids=["seed", "generator", "mechanisms", "order of mechanisms", "statistics", "arguments"],
)
def test_all_else_that_numbers_depend_on_is_part_of_the_key(changes):
    assert key_with(**changes) != key_with()


def functions_of(folder, factor):
    """A statistic of a module's source: the same name with another factor."""
    path = folder / f"own_{factor}.py"
    path.write_text(
        f"def size(instance, allocations):\n    return {{'n': {factor} * len(instance.users)}}\n",
        encoding="utf-8",
    )
    names = {"__name__": "own"}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    return names["size"]


def test_the_source_of_a_function_is_part_of_the_key(tmp_path):
    keys = {key_with(statistics=[functions_of(tmp_path, factor)]) for factor in (1, 2)}
    assert len(keys) == 2
    assert key_with(statistics=[functions_of(tmp_path, 1)]) in keys
