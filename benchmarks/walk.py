"""Which files a call goes through, in order, and how often it moves from one to another (docs/architecture.md).

python benchmarks/walk.py
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fairlp

HOME = Path(fairlp.__file__).parent


def walk(function: Callable[[], Any]) -> tuple[list[str], int]:
    """Return the files of fairlp in the order in which they are first entered, and the moves between them."""
    files: list[str] = []
    moves = 0
    last = ""

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal moves, last
        # a file is told by the end of its path: pytest imports modules of src beside an installed wheel
        _, is_of_fairlp, name = Path(frame.f_code.co_filename).as_posix().rpartition("/fairlp/")
        own_module = frame.f_globals.get("__name__", "").startswith("fairlp.")
        if event == "call" and frame.f_code.co_name != "<module>" and is_of_fairlp and own_module:
            if name != last:
                moves, last = moves + bool(last), name
            if name not in files:
                files.append(name)

    others = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(others)
    return files, moves


def walks() -> Iterator[tuple[str, list[str], int]]:
    """Yield the two walks of the architecture page: a name, the files, and the moves between them."""
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "ghodsi.yaml"
        fairlp.examples.ghodsi().write(written)

        def export() -> None:
            fairlp.formulate(fairlp.read(written), "drf").write(Path(folder) / "drf.mps")

        def allocate() -> None:
            fairlp.allocate(fairlp.examples.wang_figure_1(), "drfh", method="lp")

        for name, call in (("YAML to MPS", export), ("allocate by an LP", allocate)):
            call()  # what is imported once is no part of the walk
            yield name, *walk(call)


def main() -> None:
    """Print the walks."""
    for name, files, moves in walks():
        print(f"{name}: {len(files)} files, {moves} moves between them")
        for number, file in enumerate(files, 1):
            print(f"  {number:2} {file}")


if __name__ == "__main__":
    main()
