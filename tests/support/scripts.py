"""Scripts of benchmarks/, loaded as modules."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from paths import ROOT

BENCHMARKS = ROOT / "benchmarks"


@contextmanager
def benchmark(name: str) -> Iterator[ModuleType]:
    """Load a script for as long as the context lasts, under a name that no module of ours has."""
    spec = importlib.util.spec_from_file_location(f"benchmark_{name}", BENCHMARKS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look for it there
    sys.path.insert(0, str(BENCHMARKS))  # for what scripts share
    try:
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path.remove(str(BENCHMARKS))
        del sys.modules[spec.name]
        sys.modules.pop("measure", None)
