"""The method on arrays of other libraries: NumPy's answers, on a device of its own, with only numbers brought back."""

from __future__ import annotations

import itertools
import warnings

import array_api_strict
import numpy as np
import pytest
from test_faces import KINDS, instance

import fairlp
from fairlp.errors import NotConvergedError
from fairlp.solvers.interior_point import backend, blocks, method
from fairlp.solvers.interior_point.method import Home, home
from fairlp.solvers.interior_point.structure import Structure
from fairlp.solvers.leximin.rounds import LevelRounds
from profiles import by_day

#: Of users × servers: the first leaves a system of users, the second one of servers.
SHAPES = {"UsersLast": (30, 20), "ServersLast": (60, 4)}
#: Answers differ by what their certificates allow.
EQUAL = 1e-9
#: The standard and nothing else, on a device whose arrays NumPy cannot see.
STRICT = Home(
    array_api_strict, array_api_strict.Device("device1"), array_api_strict.Device("CPU_DEVICE")
)
LIBRARIES = {"strict": "array_api_strict", "torch:cpu": "torch"}


@pytest.fixture(params=LIBRARIES)
def device(request, monkeypatch):
    """Name of a device, the strict one's for these tests only."""
    if request.param == "torch:cpu":
        pytest.importorskip("torch")
        pytest.importorskip("array_api_compat")
    monkeypatch.setattr(method, "home", lambda name: STRICT if name == "strict" else home(name))
    return request.param


@pytest.fixture
def seen(monkeypatch):
    """Libraries whose arrays the method worked on, systems that were left, and whether another solver was asked."""
    found = {"libraries": set(), "sides": set(), "faces": 0, "others": 0}
    inside = [False]  # the optimum is sharpened on the processor
    init, solve = blocks.NormalEquations.__init__, method._solve

    def equations(self, *given):
        init(self, *given)
        if not inside[0]:
            return
        found["sides"].add(type(self.side).__name__)
        arrays = (self.theta, self.slack_ratio, self.own, self.side.diagonal, self.side.factor.unit)
        found["libraries"].update(type(array).__module__.partition(".")[0] for array in arrays)

    def solved(problem, *given):
        found["faces"] += problem.face is not None
        inside[0] = True
        try:
            return solve(problem, *given)
        finally:
            inside[0] = False

    def another(ask):
        def asked(*given):
            found["others"] += 1
            return ask(*given)

        return asked

    monkeypatch.setattr(blocks.NormalEquations, "__init__", equations)
    monkeypatch.setattr(method, "_solve", solved)
    monkeypatch.setattr(backend, "on_columns", another(backend.on_columns))
    monkeypatch.setattr(backend, "solve_on", another(backend.solve_on))
    return found


def shared(given, mechanism, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fairlp.errors.FairlpWarning)
        return fairlp.allocate(given, mechanism, method="interior-point", **options)


@pytest.mark.parametrize(("kind", "side"), by_day(itertools.product(KINDS, SHAPES), 5))
def test_rounds_are_those_of_numpy(device, seen, kind, side):
    given = instance(kind, *SHAPES[side], 3)
    found = shared(given, "drfh", device=device)
    assert (
        seen["libraries"] == {LIBRARIES[device]}
        and seen["sides"] == {side}
        and found.residual <= EQUAL
    )
    # each is within that of the optimum
    np.testing.assert_allclose(found.levels, shared(given, "drfh").levels, rtol=2 * EQUAL)


@pytest.mark.parametrize("kind", ["zeros", "two of five", "chain"])
def test_rounds_on_the_face_are_on_the_device_too(device, seen, kind, monkeypatch):
    monkeypatch.setattr(LevelRounds, "as_one_server", lambda *given: False)
    found = shared(instance(kind, 30, 20, 3), "drfh", device=device)
    assert len(found.rounds) >= 2 and seen["faces"] >= len(found.rounds) - 1


@pytest.mark.parametrize(("kind", "side"), by_day(itertools.product(KINDS, SHAPES), 5))
def test_proportional_fairness_is_that_of_numpy(device, seen, kind, side):
    problem = Structure.of(
        fairlp.formulate(instance(kind, *SHAPES[side], 3), "ceei").compile()
    ).problem
    found = method.solve(problem, device=device)
    assert (
        seen["libraries"] == {LIBRARIES[device]}
        and seen["sides"] == {side}
        and found.error <= EQUAL
    )
    logarithms = [
        problem.rows.weight @ np.log(problem.region.totals(point.at.x)[problem.rows.user])
        for point in (found, method.solve(problem))
    ]
    assert logarithms[0] == pytest.approx(logarithms[1], rel=EQUAL)


@pytest.mark.parametrize("kind", ["zeros", "few pairs"])
def test_proportional_fairness_is_certified(device, seen, kind):
    found = fairlp.formulate(instance(kind, 30, 20, 3), "ceei").solve(
        "interior-point", device=device
    )
    assert (
        seen["libraries"] == {LIBRARIES[device]}
        and not seen["others"]
        and found.verify().is_optimal
    )


@pytest.mark.parametrize("mechanism", ["drfh", "ceei"])
def test_task_limits_where_few_pairs_exist(device, seen, mechanism):
    few, limited = instance("few pairs", 30, 20, 4), instance("limits", 30, 20, 4)
    given = few.replace(task_limits=limited.task_limits)
    found = shared(given, mechanism, device=device)
    assert seen["libraries"] == {LIBRARIES[device]}
    np.testing.assert_allclose(found.totals, shared(given, mechanism).totals, rtol=1e-7)


def test_what_a_task_gives_may_differ_by_server(device):
    given = instance("limits", 12, 7, 5)
    found = shared(given, "psdsf-tdm", device=device)
    np.testing.assert_allclose(found.totals, shared(given, "psdsf-tdm").totals, rtol=EQUAL)


def test_a_device_changes_no_array_of_the_problem(device):
    problem = Structure.of(
        fairlp.formulate(instance("few pairs", 30, 20, 3), "drfh").compile()
    ).problem
    before = problem.region.capacities.copy()
    first = method.solve(problem, device=device)
    assert problem.region.user is not None and type(first.at.x) is np.ndarray
    assert (
        first.at.x.shape == problem.region.user.shape
        and (problem.region.capacities == before).all()
    )
    again = method.solve(problem, start=first.at, device=device)
    assert again.error <= EQUAL and again.iterations <= 2
    again.at.x[:] = 0.0  # an array of its own, which can be written


def test_without_convergence_another_solver_needs_no_device(device, seen, monkeypatch):
    monkeypatch.setattr(method, "MOST_ITERATIONS", 3)
    model = fairlp.formulate(instance("zeros", 10, 8, 3), "drfh")
    found = model.solve("interior-point", device=device)
    assert seen["others"] == 1 and found.method.startswith("HiGHS") and found.status.is_optimal


def test_a_vertex_is_found_without_a_device(device, seen):
    model = fairlp.formulate(instance("zeros", 10, 8, 3), "drfh")
    found = model.solve("interior-point-vertex", device=device)
    assert (
        seen["others"] == 1
        and seen["libraries"] == {LIBRARIES[device]}
        and found.method.endswith("vertex")
    )


def test_the_limit_of_time_holds_on_a_device(device):
    problem = Structure.of(fairlp.formulate(instance("zeros", 10, 8, 3), "drfh").compile()).problem
    assert method.solve(problem, deadline=-1.0, device=device) is None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(method, "MOST_ITERATIONS", 2)
        with pytest.raises(NotConvergedError):
            method.solve(problem, device=device)


@pytest.mark.parametrize("kind", ["zeros", "few pairs", "limits"])
def test_only_numbers_are_copied_between_iterations(monkeypatch, kind):
    problem = Structure.of(fairlp.formulate(instance(kind, 30, 20, 3), "drfh").compile()).problem
    strange, numbers, asarray, solve = [], [], array_api_strict.asarray, method._solve
    array = type(array_api_strict.zeros(1))
    inside = False

    def watched(given, *more, **options):
        if inside and not isinstance(given, (array, float, int, np.generic)):
            strange.append(given)
        return asarray(given, *more, **options)

    def solved(*given):
        nonlocal inside
        inside = True
        try:
            return solve(*given)
        finally:
            inside = False

    def counted(convert):
        def number(self):
            numbers.append(self.size)
            return convert(self)

        return number

    def refused(self, *_, **__):
        pytest.fail("an array was read on the host")

    monkeypatch.setattr(method, "home", lambda name: STRICT)
    monkeypatch.setattr(array_api_strict, "asarray", watched)
    monkeypatch.setattr(method, "_solve", solved)
    monkeypatch.setattr(array, "__float__", counted(array.__float__))
    monkeypatch.setattr(array, "__bool__", counted(array.__bool__))
    to_device, dlpack = array.to_device, array.__dlpack__
    monkeypatch.setattr(
        array,
        "to_device",
        lambda *given, **more: (refused if inside else to_device)(*given, **more),
    )
    monkeypatch.setattr(
        array, "__dlpack__", lambda *given, **more: (refused if inside else dlpack)(*given, **more)
    )
    found = method.solve(problem, device="strict")
    assert found.error <= EQUAL and not strange
    assert set(numbers) == {1} and len(numbers) <= 200 * (found.iterations + 1)
