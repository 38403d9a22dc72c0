"""How many examples Hypothesis tries: few by day, up to eighty times as many with FAIRLP_HYPOTHESIS_PROFILE=nightly."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from fairlp.mechanisms.table import OWN
from fairlp.models.programs.backends import SOLVERS
from profiles import PROFILE, many

#: Each worker of pytest-xdist has a core: more threads in one would only wait for those of the
#: others. The controller reads this before it starts them.
for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ.setdefault(threads, "1")
#: Tests of commands have a current folder of their own.
COMMANDS = ("tests/cli/", "tests/clusters/commands/", "tests/research/commands/")
#: Assertions of the helpers say what failed, as those of tests do.
SUPPORT = {file.stem for file in Path(__file__).parent.glob("support/*.py")}
pytest.register_assert_rewrite(*(SUPPORT - {"profiles"}))
#: Workers of pytest-xdist have a width that nobody asked for.
os.environ.pop("COLUMNS", None)

#: By day the same examples each time, however slow the machine is; what the nightly draws find
#: becomes a test by day.
settings.register_profile("quick", max_examples=many(50), derandomize=True, deadline=None)
settings.register_profile("nightly", max_examples=many(50), deadline=None)
settings.load_profile(PROFILE)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Collect without looking for garbage: thousands of tests stay to the end, and none of them is any.

    Nor is it looked for so often later.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(20_000, 20, 20)
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each file to one worker, so that what its tests share is computed once."""
    from xdist.scheduler import LoadFileScheduling

    return LoadFileScheduling(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the notebooks, the longest tests: at the end one of them would be waited for by all other workers."""
    items.sort(key=lambda item: not item.nodeid.startswith("tests/test_notebooks"))
    for item in items:
        if item.nodeid.startswith(COMMANDS) and isinstance(item, pytest.Function):
            item.fixturenames.insert(0, "current_folder")


@pytest.fixture
def current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let a test run in an empty folder; every test of the command line does."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(autouse=True)
def gone_with_the_test() -> Iterator[None]:
    """Mechanisms and back ends that a test declares are not there for the others."""
    before = [(registry, dict(registry)) for registry in (OWN, SOLVERS.declared)]
    yield
    for registry, content in before:
        registry.clear()
        registry.update(content)
