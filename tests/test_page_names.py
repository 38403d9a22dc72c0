"""Every name in backticks on a page of the documentation is there: in the code, in a command, as a file."""

from __future__ import annotations

import dataclasses
import re

import pytest

import fairlp
from page_names import defined_on, fault, names_on, pages
from pages import text_of

#: Why a name is on a page although nothing of the repository has it: reason → names.
OF_OTHERS = {
    "programs that users start": [
        "coverage", "kubectl", "mypy", "pdflatex", "pip", "python3", "scontrol", "sinfo", "squeue",
        "sshare", "venv", "viprchk",
    ],
    "options of those programs": [
        "--exclusive", "--freemps", "--mps", "--no-compile", "--no-deps",
    ],
    "JuMP": [
        "Bin", "Dict", "Int", "lp_sensitivity_report(m)", "set_normalized_coefficient", "set_parameter_value",
        "termination_status(m)", 'write_to_file(m, "m.mps")',
    ],
    "PuLP": [
        'cat="Integer"', 'LpVariable.dicts("x", pairs)', 'LpVariable.dicts("x", w, 0, 9)', "lpDot(…)", "lpSum(…)",
        "m.solve(HiGHS())", "x.fixValue()",
    ],
    "back ends of joblib": ["loky", "sequential"],
    "fields that fairlp reads past": ["PreferNoSchedule", "PriorityDecayHalfLife"],
    "what a line of a table says": ["vcores of nodes", "PS-DSF (…)"],
    "codes of MPS files": ["SC"],
    "names that fairlp makes of other names": [
        "C0000001", "R0000001", "batch_on", "cap.a_b", "capacity.server3.cpu", "cost_weight",
        "name_below", "psdsf-tdm-distributed", "set_x_off", "set_x_on", "x_least", "x_off", "x_on",
    ],
    "a queue of an example": ["root.science.physics"],
    "an agreement of terminals": ["NO_COLOR"],
    "a user in a counterexample": ["liar"],
    "a parameter of tests": ["chosen_seed"],
}  # fmt: skip
KNOWN = {name for names in OF_OTHERS.values() for name in names}


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_every_name_of_a_page_is_there(page):
    own_names = defined_on(page)
    faults = [
        f"{page.name}, line {name.line}: `{name.text}`: {reason}"
        for name in names_on(page)
        if name.text not in KNOWN | own_names and (reason := fault(name.text))
    ]
    assert not faults, "\n".join(faults)


def test_names_of_others_stand_on_a_page_and_are_nowhere_in_the_code():
    on_pages = {name.text for page in pages() for name in names_on(page)}
    assert on_pages >= KNOWN
    assert not [name for name in KNOWN if not fault(name)]


def test_most_names_of_the_pages_are_looked_up():
    names = [name.text for page in pages() for name in names_on(page)]
    assert len(names) > 2000


def test_the_page_of_an_own_back_end_has_every_field_of_a_program():
    rows = re.search(r"^\| field \|.*?\n\n", text_of("own-back-end.md"), re.M | re.S)[0]
    on_page = [
        name for line in rows.splitlines() for name in re.findall(r"`(\w+)`", line.split(" | ")[0])
    ]
    fields = [field.name for field in dataclasses.fields(fairlp.Program)]
    assert sorted(on_page) == sorted(fields)
    assert "**the integers**" in next(line for line in rows.splitlines() if "`integrality`" in line)


@pytest.mark.parametrize(
    "name",
    [
        "fairlp.alocate",
        "fairlp.plots.plot_everything",
        "fairlp_research.simulation.experiments.distance_of",
        "simulation.experiments.distance_of",
        "Allocation.picked",
        "Allocation.certified()",
        'model.to_gams("m.gms")',
        "solution.gaps",
        "ServersByGuesses",
        "fairlp.allocate(instance, 'drfh', hole=True)",
        "hole=True",
        "h-drf-countd",
        "best-responses-first",
        "FIXED_POINT",
        "whole_number_copies",
        "models/instances/whole_numbers.py",
        "whole_numbers.py",
        "tests/test_nothing.py",
        "docs/nothing.md",
        "fairlp alocate",
        "fairlp allocate INSTANCE --hole",
        "--hole NAME",
        "python benchmarks/nothing.py",
        "python benchmarks/growth.py --nothing",
        "python -m fairlp.conformity",
        "mechanisms/per_servers",
        "certifies_it()",
        "found.certifies_it()",
        '"highs-quick"',
        "cvxpy:CLARIBEL",
        "fairlp[plots]",
        "caps are kept",
    ],
)
def test_a_name_that_is_gone_is_seen(name):
    assert fault(name)


@pytest.mark.parametrize(
    "name",
    [
        "fairlp.allocate",
        'Allocation.certify(exact=True).write("proof.json")',
        'model.replace("most", x <= 2), model.remove("most")',
        "fairlp_research.simulation.experiments.distances",
        "ServersByCuts",
        "by_cuts.py",
        "src/fairlp/",
        "tests/auditing/",
        "h-drf-counted",
        "whole=True",
        "fairlp report DUMP",
        "--exit-code",
        "python benchmarks/growth.py --limit 10",
        "mechanisms/per_server",
        "certify()",
        "found.witness",
        "cvxpy:CLARABEL",
        "fairlp[plot]",
        "caps kept",
        "Σ_n d̂[n,r]·g[n,i] ≤ c[i,r]",
    ],
)
def test_a_name_that_is_there_is_found(name):
    assert fault(name) == ""
