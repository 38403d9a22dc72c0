"""Print the tables of ``docs/solvers.md``: ``python -m fairlp.conformance [SOLVER ...]``."""

from __future__ import annotations

import sys
import warnings

from ..models.programs import backends
from ..models.programs.protocols import Capability
from . import check, summary

_BY_TANGENTS = (Capability.LOG, Capability.POWER)


def capability_rows() -> list[str]:
    """Return the table of declared capabilities as Markdown; t: by tangents, a series of LPs."""
    rows = [
        "| solver | " + " | ".join(c.value for c in Capability) + " |",
        "| --- |" + " :-: |" * len(Capability),
    ]
    for name in backends.backend_names():
        capabilities = backends.find_backend(name).capabilities
        marks = ["✓" if c in capabilities else "t" if c in _BY_TANGENTS else "" for c in Capability]
        rows.append(f"| `{name}` | " + " | ".join(marks) + " |")
    return rows


def outcome_rows(names: list[str]) -> list[str]:
    """Run the suite and return the table of outcomes as Markdown."""
    rows = [
        "| solver | version | passed | failed | undecided | unable | seconds |",
        "| --- | --- |" + " --: |" * 5,
    ]
    for name in names:
        back_end = backends.find_backend(name)
        if not back_end.available()[0]:
            continue
        table = check(name)
        counts = " | ".join(map(str, summary(table).values()))
        rows.append(
            f"| `{name}` | {back_end.version()} | {counts} | {table['seconds'].sum():.1f} |"
        )
        undecided = table.index[table["outcome"] == "undecided"].tolist()
        if undecided:
            rows[-1] += f" <!-- undecided: {', '.join(undecided)} -->"
    return rows


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(
        "\n".join([*capability_rows(), "", *outcome_rows(sys.argv[1:] or backends.backend_names())])
    )
