"""What the standard lacks, on every library; and what is said where a device is not there."""

from __future__ import annotations

import importlib
from types import SimpleNamespace

import array_api_strict
import numpy as np
import pytest
from test_array_api import STRICT
from test_faces import instance

import fairlp
from fairlp.errors import SolverNotAvailableError, UnknownNameError, UnsupportedError
from fairlp.solvers.interior_point import region
from fairlp.solvers.interior_point.blocks import _Cholesky
from fairlp.solvers.interior_point.method import Home, home


class Same:
    """NumPy's arrays, where they are."""

    there = back = staticmethod(np.array)


@pytest.fixture(params=["numpy", "strict", "torch:cpu"])
def library(request):
    """A home of arrays."""
    if request.param == "torch:cpu":
        pytest.importorskip("torch")
        return home("torch:cpu")
    return STRICT if request.param == "strict" else Same


def test_sums_and_minima_of_users_with_no_row_one_and_more(library):
    rng = np.random.default_rng(0)
    user = rng.integers(9, size=30)
    user[user == 4] = 5
    values = rng.normal(size=30)
    grouped = region.Grouped(library.there(user), 9)
    sums, lowest = (
        library.back(of(library.there(values))) for of in (grouped.sums, grouped.lowest)
    )
    for n in range(9):
        assert sums[n] == pytest.approx(values[user == n].sum(), abs=1e-12)
        assert lowest[n] == values[user == n].min(initial=np.inf)


@pytest.mark.parametrize("resources", [1, 2, 3])
def test_blocks_and_numbers_along_a_diagonal(library, resources):
    rng = np.random.default_rng(1)
    blocks, matrix = (
        rng.normal(size=(4, resources, resources)),
        rng.normal(size=(4 * resources,) * 2),
    )
    expected = matrix.copy()
    for i in range(4):
        part = slice(i * resources, (i + 1) * resources)
        expected[part, part] += blocks[i]
    found = library.back(region.add_blocks(library.there(matrix), library.there(blocks)))
    np.testing.assert_array_equal(found, expected)
    numbers = rng.normal(size=4 * resources)
    found = library.back(region.add_diagonal(library.there(matrix), library.there(numbers)))
    np.testing.assert_array_equal(found, matrix + np.diag(numbers))


def test_a_factor_solves_and_one_that_does_not_exist_is_none(library):
    rng = np.random.default_rng(2)
    root = rng.normal(size=(6, 6))
    matrix, right = root @ root.T + np.eye(6), rng.normal(size=6)
    solved = library.back(region.factored(library.there(matrix))(library.there(right)))
    np.testing.assert_allclose(matrix @ solved, right, rtol=1e-9, atol=1e-9)
    assert region.factored(library.there(-matrix)) is None
    many = np.stack([matrix, 2 * matrix])
    lower = library.back(region.cholesky(library.there(many)))
    np.testing.assert_allclose(lower @ lower.swapaxes(1, 2), many)
    many[1] *= -1
    assert region.cholesky(library.there(many)) is None


def test_what_else_fails_is_not_taken_for_a_matrix_that_is_not_definite(monkeypatch):
    def full(_):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(array_api_strict.linalg, "cholesky", full)
    with pytest.raises(RuntimeError, match="out of memory"):
        region.factored(STRICT.there(np.eye(2)))


def test_a_matrix_that_is_not_quite_definite_is_shifted(library):
    almost = library.there(np.array([[1.0, 1.0 + 1e-13], [1.0 + 1e-13, 1.0]]))
    one = library.there(np.ones(2))
    assert np.isfinite(library.back(_Cholesky(almost, one).solve(one))).all()


def test_the_least_of_nothing_is_the_start(library):
    assert region.least(library.there(np.zeros(0)), -1.0) == -1.0
    assert region.least(library.there(np.array([3.0, 2.0])), 5.0) == 2.0
    assert np.isnan(region.least(library.there(np.array([np.nan])), 0.0))


# --- devices ---------------------------------------------------------------------------------------------------------


def test_numpy_is_the_processor():
    assert home(None) is home("cpu") is None


@pytest.mark.parametrize("name", ["gpu", "Cuda:0", "pytorch:cpu", ""])
def test_a_device_of_no_kind(name):
    with pytest.raises(UnknownNameError, match=r"no device .*'cuda', "):
        home(name)


@pytest.fixture
def installed(monkeypatch):
    """Put fake libraries in place of PyTorch, CuPy and array-api-compat."""
    real, given = importlib.import_module, {}

    def import_module(name, *more):
        if name.partition(".")[0] in ("torch", "cupy", "array_api_compat"):
            if name in given:
                return given[name]
            raise ModuleNotFoundError(name)
        return real(name, *more)

    monkeypatch.setattr(importlib, "import_module", import_module)
    return given


@pytest.mark.parametrize("name", ["cuda", "cuda:1", "torch", "torch:cpu", "cupy"])
def test_a_library_that_is_missing_is_named_with_what_to_install(installed, name):
    with pytest.raises(SolverNotAvailableError, match=r'pip install "fairlp\[cuda\]"'):
        home(name)
    installed["torch"] = installed["cupy"] = None  # array-api-compat is still missing
    with pytest.raises(SolverNotAvailableError, match="array-api-compat"):
        home(name)


def with_devices(*devices):
    def zeros(shape, *, dtype, device):
        if device not in devices:
            raise RuntimeError(f"no {device} here\nand more")
        return np.zeros(shape)

    return SimpleNamespace(zeros=zeros, float64=np.float64)


def test_a_device_that_is_missing_is_named_in_the_librarys_words(installed):
    installed.update({"torch": None, "array_api_compat.torch": with_devices("cpu")})
    with pytest.raises(
        SolverNotAvailableError,
        match=r"'cuda:3': torch .*\(RuntimeError: no cuda:3 here\); .*NumPy",
    ):
        home("cuda:3")


@pytest.mark.parametrize(
    ("name", "library", "device"),
    [
        ("cuda", "torch", "cuda"),
        ("cuda:1", "torch", "cuda:1"),
        ("torch", "torch", "cpu"),
        ("torch:cuda:1", "torch", "cuda:1"),
        ("cuda", "cupy", None),
        ("cupy", "cupy", None),
    ],
)
def test_which_device_of_which_library(installed, name, library, device):
    namespace = with_devices(device)
    installed.update({library: None, f"array_api_compat.{library}": namespace})
    assert home(name) == Home(namespace, device)


@pytest.mark.parametrize("mechanism", ["drfh", "c-drfh", "ceei", "psdsf-tdm"])
def test_a_missing_device_ends_an_allocation(mechanism):
    given = instance("zeros", 5, 4, 0)
    with pytest.raises(UnknownNameError, match="no device 'gpu'"):
        fairlp.allocate(given, mechanism, method="interior-point", device="gpu")
    with pytest.raises(SolverNotAvailableError, match="leave `device` out"):
        fairlp.allocate(given, mechanism, method="interior-point", device="torch:cuda:9999")


def test_other_methods_and_solvers_know_of_no_device():
    given = instance("zeros", 5, 4, 0)
    with pytest.raises(UnsupportedError, match="cannot honour the option 'device'"):
        fairlp.allocate(given, "drfh", method="lp", device="cuda")
    with pytest.raises(UnknownNameError, match="no option 'device'"):
        fairlp.allocate(given, "psdsf-tdm", method="sweeps", device="cuda")
    with pytest.raises(UnknownNameError, match="no option 'seed'"):
        fairlp.allocate(given, "drfh", method="interior-point", seed=1)


def test_a_namespace_is_found_once():
    array = array_api_strict.zeros(1)
    assert region.namespace(np.zeros(1)) is np
    assert region.namespace(array) is region.namespace(array) is array_api_strict
