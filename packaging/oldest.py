"""Print the oldest versions of its dependencies that fairlp allows, for pip."""

import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))[
    "project"
]
print("\n".join(one.replace(">=", "==") for one in project["dependencies"]))
