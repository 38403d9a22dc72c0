"""CPU seconds from the shell to the end of small commands, beside those of Python itself and of NumPy and pandas.

python benchmarks/start_up.py [RUNS]
"""

from __future__ import annotations

import compileall
import os
import statistics
import subprocess
import sys
from pathlib import Path

import fairlp

RUNS = 9
MAIN = "from fairlp.cli import main; main()"
LINES = ("--version", "--help", "mechanisms", "allocate ghodsi")
COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "import fairlp": ["-c", "import fairlp"],
    'python -c "import numpy"': ["-c", "import numpy"],
    'python -c "import numpy, pandas"': ["-c", "import numpy, pandas"],
    **{
        f"fairlp {line}": ["-c", MAIN, *line.split()]
        for line in ("--version", "--help", "mechanisms", "allocate ghodsi")
    },
}


def cpu_seconds(arguments: list[str]) -> float:
    """Return the user and system time of one process of Python."""
    before = os.times()
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
    after = os.times()
    return (
        after.children_user + after.children_system - before.children_user - before.children_system
    )


def main() -> None:
    """Print the median of several runs of each, taken in turns."""
    compileall.compile_dir(Path(fairlp.__file__).parent, quiet=1)  # as an installation does
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(runs):
        for name, arguments in COMMANDS.items():
            seconds[name].append(cpu_seconds(arguments))
    for name, found in seconds.items():
        print(f"{statistics.median(found):6.3f}  {name}")


if __name__ == "__main__":
    main()
