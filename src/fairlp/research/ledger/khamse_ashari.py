"""Khamse-Ashari et al., Per-Server Dominant-Share Fairness: its examples, tables and figures."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import examples
from ...api import allocate
from ...auditing import audit
from ...auditing.promises import count_broken, counterexample
from ...errors import UnknownNameError
from ...models.instances.instance import Instance
from ...models.instances.problem import quotients
from ..simulation import experiments
from .checking import FEW, FEW_LIES, MANY, MANY_LIES, uncheckable
from .registry import Run, entry
from .verdicts import Answer, Chart, Line, Number, Verdict, beside, compare, in_words, named, pairs, picture

#: PS-DSF where servers divide resources, and where they divide time.
RDM, TDM = "psdsf-rdm", "psdsf-tdm"
#: Properties of Table I, by the paper's letters.
LETTERS = {
    "SI": "sharing incentive",
    "EF": "envy-free",
    "SP": "strategy-proof",
    "PO": "Pareto-optimal",
    "BF": "bottleneck",
}


@entry("003", "Figure 1", "PS-DSF 3, 3, 6 tasks; C-DRFH 2.609, 3.130, 6.261; TSF 2, 2, 8")
def figure_1(run: Run) -> Answer:
    """Three mechanisms on the servers of the figure."""
    instance = examples.khamse_ashari_figure_1()
    printed: dict[str, list[Any]] = {RDM: [3, 3, 6], "c-drfh": ["≈2.609", "≈3.130", "≈6.261"], "tsf": [2, 2, 8]}
    numbers: list[Number] = []
    for name, values in printed.items():
        numbers += pairs(named(f"{name}, user", values), allocate(instance, name).totals)
    return compare(numbers)


@entry(
    "003", "Figure 1, tasks alone", "γ = 6, 6 and 12 tasks on the whole cluster; all of user 3's 6 tasks on server 2"
)
def figure_1_alone(run: Run) -> Answer:
    """Tasks alone without placement constraints, and where user 3 runs."""
    instance = examples.khamse_ashari_figure_1()
    alone = allocate(instance, "tsf").gamma
    on_second = allocate(instance, RDM).tasks_array[2, 1]
    return beside({**named("γ", [6, 6, 12]), "user 3 on server 2": 6}, [*alone, on_second])


@entry("003", "§III-A, example", "PS-DSF 3.6, 3.6, 8, 8; users 3 and 4 only on server 2")
def section_3a(run: Run) -> Answer:
    """Figs. 2 and 3."""
    found = allocate(examples.khamse_ashari_section_3a(), RDM)
    printed = named("user", ["3.6", "3.6", 8, 8]) | named("on server 1, user", ["3.6", "3.6", 0, 0])
    return beside(printed, [*found.totals, *found.tasks_array[:, 0]])


@entry(
    "003", "§III-A, shares", "Virtual dominant shares 0.6, 0.6, 8/12 and 12/12 on server 1; 8/12 and 8/12 on server 2"
)
def shares_3a(run: Run) -> Answer:
    """Levels x/γ of the allocation."""
    instance = examples.khamse_ashari_section_3a()
    totals, alone = allocate(instance, RDM).totals.to_numpy(), instance.gamma()
    level = quotients(totals[:, None], alone)
    printed = named("server 1, user", ["0.6", "0.6", "8/12", "12/12"]) | named("server 2, user", ["8/12", "8/12"])
    why = "user 4 could run 9 tasks alone on server 1, so that 8 are 8/9"
    return beside(printed, [*level[:, 0], *level[2:, 1]], otherwise=why, witness=in_words(instance))


def _marks(run: Run, mechanism: str, promised: str, missing: str, differently: str = "") -> Answer:
    """Return one column of Table I: promised properties on random instances, missing ones by counterexamples."""
    instances, lies = run.of(FEW, MANY), run.of(FEW_LIES, MANY_LIES)
    numbers: list[Number] = []
    said: list[str] = []
    wrong: list[str] = []
    witness, by_one = "", "broken by an instance"
    for letters in promised.split():
        name = LETTERS[letters]
        audited, broken, *_ = count_broken(mechanism, name, lies if letters == "SP" else instances, run.seed)
        known = _breaking(mechanism, name)
        if known is not None:
            witness = witness or f"{letters}: {in_words(known)}"
        kept = not broken and known is None
        numbers.append(Number(letters, "yes", kept, kept))
        found = f"broken on {broken} of {audited}" if broken or kept else by_one
        (said if kept else wrong).append(f"{letters} {found}")
    for letters in missing.split():
        known = _breaking(mechanism, LETTERS[letters])
        numbers.append(Number(letters, "no", known is None, known is not None))
        (wrong if known is None else said).append(f"{letters} {'not broken' if known is None else by_one}")
    if not wrong:
        differently = "each promise kept on random instances, each missing one broken by an instance that ships"
    return Answer(
        Verdict.DIFFERS if wrong else Verdict.EQUAL,
        "; ".join([*wrong, *said]),
        differently,
        tuple(numbers),
        size=f"{instances} instances a property, {lies} with lies",
        witness=witness,
    )


def _breaking(mechanism: str, name: str) -> Instance | None:
    """Return the instance that ships as one that breaks a property, if an audit finds that it does."""
    try:
        instance = counterexample(mechanism, name)
    except UnknownNameError:
        return None
    assert instance is not None
    broken = audit(instance, allocate(instance, mechanism), name, tries=100).holds.iloc[0] is False
    return instance if broken else None


@entry("003", "Table I, C-DRFH", "EF, SP and PO; not SI, not BF")
def table_1_drfh(run: Run) -> Answer:
    """The column of C-DRFH."""
    return _marks(run, "c-drfh", "EF SP PO", "SI BF")


@entry("003", "Table I, TSF", "SI, EF, SP and PO; not BF")
def table_1_tsf(run: Run) -> Answer:
    """The column of TSF."""
    why = "by §III-B's definition, an equal part of every server, eligible or not, TSF lacks the sharing incentive"
    return _marks(run, "tsf", "SI EF SP PO", "BF", why)


@entry("003", "Table I, PS-DSF", "SI, EF and BF; SP and PO with a star: where time is divided")
def table_1_psdsf(run: Run) -> Answer:
    """The column of PS-DSF where resources are divided: the starred marks are missing ones."""
    return _marks(run, RDM, "SI EF BF", "SP PO")


@entry("003", "Table I, PS-DSF with time division", "All of SI, EF, SP, PO and BF")
def table_1_time(run: Run) -> Answer:
    """The starred marks."""
    return _marks(run, TDM, "SI EF SP PO BF", "")


@entry("003", "Figure 2", "Two servers and four users, for §III-A")
def figure_2(run: Run) -> Answer:
    """Users 1 and 2 need the network, which server 2 has not."""
    alone = examples.khamse_ashari_section_3a().gamma()
    checks = {"users 1 and 2 run on server 1 only": (alone[:2, 1] == 0).all() and (alone[:, 0] > 0).all()}
    return picture(checks, "the data of the example; its numbers stand under §III-A")


@entry("003", "Figure 3", "The PS-DSF allocation of Fig. 2: server 2 is used up by users 3 and 4")
def figure_3(run: Run) -> Answer:
    """Memory of server 1, and CPUs and memory of server 2 are used up."""
    used = allocate(examples.khamse_ashari_section_3a(), RDM).utilization
    checks = {
        "CPUs and memory of server 2 used up": np.allclose(used.loc["server2", ["cpu", "memory"]], 1),
        "a resource of server 1 used up": np.isclose(used.loc["server1"].max(), 1),
    }
    return picture(checks, "the tasks stand under §III-A, example")


uncheckable("003", "Table II", "Algorithm I", "the text of an algorithm; see the entry of Algorithm I")


@entry("003", "Figure 4", "Two users, three channels: 1.5 and 1 Mb/s; the second channel is shared equally")
def figure_4(run: Run) -> Answer:
    """The rates stand in the figure only; those that ship agree with the text."""
    found = allocate(examples.khamse_ashari_figure_4(), TDM)
    time = found.tasks_array / examples.khamse_ashari_figure_4().gamma()
    printed = named("rate of user", [1500, 1000]) | named("part of channel 2, user", ["1/2", "1/2"])
    printed |= {"channel 1 to user 1": 1, "channel 3 to user 2": 1}
    answer = beside(printed, [*found.totals, *time[:, 1], time[0, 0], time[1, 2]])
    if answer.verdict is Verdict.DIFFERS:
        return answer
    why = "the rates are printed in the picture only; ours were chosen to give what the text says, so it is no test"
    return Answer(Verdict.PICTURE, answer.ours, why, answer.numbers)


uncheckable(
    "003",
    "§IV, scenario 2",
    "With coprocessors γ may be given, and PS-DSF is defined all the same",
    "no numbers, and left to future work; fairlp takes given rates (`rates=`)",
)


@entry("003", "Figure 5", "Four classes of 120 servers, weights 2, 2, 1, 1, users 3 and 4 on classes C and D only")
def figure_5(run: Run) -> Answer:
    """What of the figure the text says in numbers."""
    instance = examples.khamse_ashari_table_3()
    printed = {"servers": 120, **named("weight", [2, 2, 1, 1])}
    printed |= named("CPUs of", [1, "1/2", "1/2", "1/2"]) | named("memory of", [1, "1/2", "1/4", "3/4"])
    values = [instance.counts.sum(), *instance.weights, *instance.capacities[:, 0], *instance.capacities[:, 1]]
    return compare(
        pairs(printed, values), "how many servers a class has stands in the picture: 8, 68, 33 and 11 fit Table III"
    )


@entry("003", "Table III", "Tasks alone: 80, 340, 82.5, 55; 40, 170, 41.25, 41.25; 0, 0, 82.5, 27.5; 0, 0, 27.5, 27.5")
def table_3(run: Run) -> Answer:
    """The demands are not printed; those that ship give the table."""
    alone = examples.khamse_ashari_table_3().gamma()
    rows: list[list[Any]] = [
        [80, 340, "82.5", 55],
        [40, 170, "41.25", "41.25"],
        [0, 0, "82.5", "27.5"],
        [0, 0, "27.5", "27.5"],
    ]
    printed = {
        f"user {n} on {name}": value for n, row in enumerate(rows, 1) for name, value in zip("ABCD", row, strict=True)
    }
    return beside(printed, alone.flat, "the demands are not printed; these, not the only ones, give it")


@entry("003", "Table IV, PS-DSF", "40, 170, 0, 0; 20, 85, 0, 0; 0, 0, 82.5, 0; 0, 0, 0, 27.5")
def table_4(run: Run) -> Answer:
    """Tasks of PS-DSF by class."""
    found = allocate(examples.khamse_ashari_table_3(), RDM).tasks_array
    rows: list[list[Any]] = [[40, 170, 0, 0], [20, 85, 0, 0], [0, 0, "82.5", 0], [0, 0, 0, "27.5"]]
    printed = {f"user {n} on {name}": v for n, row in enumerate(rows, 1) for name, v in zip("ABCD", row, strict=True)}
    return beside(printed, found.flat)


@entry("003", "Table IV, TSF", "Totals 35 + 170, 22.5 + 85, 58.33 and 8.05 + 27.5")
def table_4_tsf(run: Run) -> Answer:
    """Totals of TSF; where tasks run is not unique."""
    totals = allocate(examples.khamse_ashari_table_3(), "tsf").totals
    largest = (totals / [205, 107.5, 58.33, 35.55] - 1).abs().max()
    why = f"by {100 * largest:.1g} % at most; levels of the printed totals are not quite equal, as those of TSF are"
    return beside(named("user", ["≈205", "≈107.5", "≈58.33", "≈35.55"]), totals, otherwise=why)


@entry(
    "003",
    "§V, full resources",
    "The CPUs of classes A and B and the memory of all classes are fully utilised under all three mechanisms",
)
def fully_utilised(run: Run) -> Answer:
    """The smallest utilisation of what is said to be full."""
    instance = examples.khamse_ashari_table_3()
    used = {name: allocate(instance, name).utilization for name in (RDM, "tsf", "c-drfh")}
    full = {f"CPUs of A and B, {name}": table.loc[["A", "B"], "cpu"].min() for name, table in used.items()}
    full |= {f"memory, {name}": table["memory"].min() for name, table in used.items()}
    demands = instance.demands.copy()
    demands[1, 0] = 2 / 15  # the most that Table III leaves open
    most = allocate(instance.replace(demands=demands), RDM).utilization.loc[["A", "B"], "cpu"].max()
    why = f"user 2's CPU is not printed; with the most that Table III allows {most:.3g} of the CPUs are in use"
    return beside(dict.fromkeys(full, 1), full.values(), otherwise=why, witness=in_words(instance))


@entry(
    "003",
    "Figure 6",
    "CPU of C and D: PS-DSF uses more than TSF and C-DRFH; it converges promptly when user 4 leaves and returns",
)
def figure_6(run: Run) -> Answer:
    """The distributed procedure for 300 s, and what is in use while user 4 is there and while it is away."""
    tracked = experiments.leaving_user()
    windows = {"all four": tracked.average(10, 100), "without user 4": tracked.average(110, 250)}
    used: dict[tuple[str, str, str], Any] = {
        (server, when, name): table.loc[(server, "cpu"), name]
        for server in "CD"
        for when, table in windows.items()
        for name in (RDM, "tsf", "c-drfh")
    }
    checks: dict[str, object] = {
        f"more on {server}, {when}": used[server, when, RDM]
        >= max(used[server, when, "tsf"], used[server, when, "c-drfh"])
        for server in "CD"
        for when in windows
    }
    checks["converged within 2 s"] = (tracked.changes["seconds"] <= 2).all()
    lines = tuple(
        Line(f"{name}, class {server}", (0.0, 1.0), tuple(used[server, when, name] for when in windows))
        for server in "CD"
        for name in (RDM, "tsf", "c-drfh")
    )
    chart = Chart(
        "Khamse-Ashari et al., Fig. 6: CPUs in use", "0: all four users, 1: user 4 away", "fraction in use", lines
    )
    why = "demands that Table III leaves open (CPU of users 2 and 4) decide what of class D is in use: results.md"
    return picture(checks, why, chart=chart)
