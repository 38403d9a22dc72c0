"""Khamse-Ashari et al., Per-Server Dominant-Share Fairness: its examples, tables and figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import compress, product
from typing import Any, Literal

import numpy as np

from fairlp import (
    Instance,
    allocate,
    audit,
    auditing,
    counterexample,
    examples,
    per_server as check,
)
from fairlp.errors import NotConvergedError, UnknownNameError
from fairlp.toolkit import quotients, tolerances

from ..simulation import experiments
from .registry import FEW, FEW_LIES, MANY, MANY_LIES, CheckAnswer, Paper, Run, integers, kept, over
from .verdicts import (
    AUDIT,
    VERIFIED,
    Agreement,
    Chart,
    ItemAnswer,
    Number,
    beside,
    compare,
    in_words,
    line,
    named,
    on_instance,
    pairs,
    picture,
    shown,
)

PAPER = Paper(
    "003",
    "J. Khamse-Ashari, I. Lambadaris, G. Kesidis, B. Urgaonkar and Y. Zhao, Per-Server "
    "Dominant-Share "
    "Fairness, ICC 2017",
    ("khamse-ashari-2017", "khamse-ashari", "ps-dsf"),
)

#: PS-DSF where servers divide resources, and where they divide time.
RDM = "psdsf-rdm"
TDM = "psdsf-tdm"
#: Properties of Table I, by the paper's letters.
LETTERS = {
    "SI": "sharing incentive",
    "EF": "envy-free",
    "SP": "strategy-proof",
    "PO": "Pareto-optimal",
    "BF": "bottleneck",
}


@PAPER.item("Figure 1", "PS-DSF 3, 3, 6 tasks; C-DRFH 2.609, 3.130, 6.261; TSF 2, 2, 8")
def figure_1(run: Run) -> ItemAnswer:
    """Three mechanisms on the servers of the figure."""
    instance = examples.khamse_ashari_figure_1()
    printed = named(f"{RDM}, user", [3, 3, 6]) | named(
        "c-drfh, user", ["≈2.609", "≈3.130", "≈6.261"]
    )
    printed |= named("tsf, user", [2, 2, 8])
    totals = [allocate(instance, name).totals for name in (RDM, "c-drfh", "tsf")]
    return beside(printed, np.concatenate(totals))


@PAPER.item(
    "Figure 1, tasks alone",
    "γ = 6, 6 and 12 tasks on the whole cluster; all of user 3's 6 tasks on server 2",
)
def figure_1_alone(run: Run) -> ItemAnswer:
    """Tasks alone without placement constraints, and where user 3 runs."""
    instance = examples.khamse_ashari_figure_1()
    alone = allocate(instance, "tsf").gamma
    on_second = allocate(instance, RDM).tasks_array[2, 1]
    return beside({**named("γ", [6, 6, 12]), "user 3 on server 2": 6}, [*alone, on_second])


PAPER.audited(
    "§II-A, DRF",
    "DRF has the sharing incentive, is envy-free and Pareto-optimal, and fair for a single resource and a bottleneck",
    "edrf",
    "sharing incentive",
    "envy-free",
    "Pareto-optimal",
    "single-resource",
    "bottleneck",
)
PAPER.audited(
    "§II-A, DRF and lies",
    "DRF is strategy-proof",
    "edrf",
    "strategy-proof",
    lies=True,
    why="no lie that was tried pays",
)


@PAPER.item("§III-A, example", "PS-DSF 3.6, 3.6, 8, 8; users 3 and 4 only on server 2")
def section_3a(run: Run) -> ItemAnswer:
    """Figs. 2 and 3."""
    allocation = allocate(examples.khamse_ashari_section_3a(), RDM)
    printed = named("user", ["3.6", "3.6", 8, 8]) | named("on server 1, user", ["3.6", "3.6", 0, 0])
    return beside(printed, [*allocation.totals, *allocation.tasks_array[:, 0]])


@PAPER.item(
    "§III-A, shares",
    "Virtual dominant shares 0.6, 0.6, 8/12 and 12/12 on server 1; 8/12 and 8/12 on server 2",
)
def shares_3a(run: Run) -> ItemAnswer:
    """Levels x/γ of the allocation."""
    instance = examples.khamse_ashari_section_3a()
    level = _levels(instance, allocate(instance, RDM).tasks_array)
    printed = named("server 1, user", ["0.6", "0.6", "8/12", "12/12"]) | named(
        "server 2, user", ["8/12", "8/12"]
    )
    why = "user 4 could run 9 tasks alone on server 1, so that 8 are 8/9"
    return beside(printed, [*level[:, 0], *level[2:, 1]], otherwise=why, witness=in_words(instance))


@PAPER.item(
    "§III-A, s₃,₁ and s₄,₁",
    "The virtual dominant shares of users 3 and 4 on the second server are s[3,1] = s[4,1] = 8/12",
)
def misprinted_indices(run: Run) -> ItemAnswer:
    """Levels x/γ of users 3 and 4 on the first server, which these indices name."""
    instance = examples.khamse_ashari_section_3a()
    level = _levels(instance, allocate(instance, RDM).tasks_array)
    why = (
        f"s[3,2] and s[4,2] are meant: {shown(level[2:, 1])}; two sentences before, s[4,1] is 12/12"
    )
    return beside({"s[3,1]": "8/12", "s[4,1]": "8/12"}, level[2:, 0], otherwise=why)


def _marks(
    run: Run, mechanism: str, promised: str, missing: str, differently: str = ""
) -> ItemAnswer:
    """Return one column of Table I, by audits of random instances and by counterexamples.

    Promised properties are audited; missing ones have counterexamples.
    """
    instances = run.of(FEW, MANY)
    lies = run.of(FEW_LIES, MANY_LIES)
    numbers = []
    as_printed: list[str] = []
    not_as_printed: list[str] = []
    witness = ""
    by_one = "broken by an instance"
    for letters in promised.split():
        name = LETTERS[letters]
        audited, broken, *_ = auditing.count_broken(
            mechanism, name, lies if letters == "SP" else instances, run.seed
        )
        counterexample_instance = _breaking(mechanism, name)
        if counterexample_instance is not None:
            witness = witness or f"{letters}: {in_words(counterexample_instance)}"
        is_kept = not broken and counterexample_instance is None
        numbers.append(Number(letters, "yes", is_kept, is_kept))
        remark = f"broken on {broken} of {audited}" if broken or is_kept else by_one
        (as_printed if is_kept else not_as_printed).append(f"{letters} {remark}")
    for letters in missing.split():
        counterexample_instance = _breaking(mechanism, LETTERS[letters])
        numbers.append(
            Number(
                letters, "no", counterexample_instance is None, counterexample_instance is not None
            )
        )
        (not_as_printed if counterexample_instance is None else as_printed).append(
            f"{letters} {'not broken' if counterexample_instance is None else by_one}"
        )
    if not not_as_printed:
        differently = (
            "each promise kept on random instances, each missing one broken by an instance that "
            "ships"
        )
    return ItemAnswer(
        Agreement.DIFFERS if not_as_printed else Agreement.EQUAL,
        "; ".join([*not_as_printed, *as_printed]),
        differently,
        tuple(numbers),
        size=f"{instances} instances a property, {lies} with lies",
        witness=witness,
    )


def _breaking(mechanism: str, name: str) -> Instance | None:
    """Return the shipped counterexample to a property, if an audit confirms it; else None."""
    try:
        instance = counterexample(mechanism, name)
    except UnknownNameError:
        return None
    assert instance is not None
    broken = audit(instance, allocate(instance, mechanism), name, tries=100).holds.iloc[0] is False
    return instance if broken else None


@PAPER.item("Table I, C-DRFH", "EF, SP and PO; not SI, not BF")
def table_1_drfh(run: Run) -> ItemAnswer:
    """The column of C-DRFH."""
    return _marks(run, "c-drfh", "EF SP PO", "SI BF")


@PAPER.item("Table I, TSF", "SI, EF, SP and PO; not BF", "tsf")
def table_1_tsf(run: Run) -> ItemAnswer:
    """The column of TSF."""
    why = (
        "by §III-B's definition, an equal part of every server, eligible or not, TSF lacks the "
        "sharing incentive"
    )
    return _marks(run, "tsf", "SI EF SP PO", "BF", why)


@PAPER.item("Table I, PS-DSF", "SI, EF and BF; SP and PO with a star: where time is divided")
def table_1_psdsf(run: Run) -> ItemAnswer:
    """The column of PS-DSF where resources are divided: the starred marks are missing ones."""
    return _marks(run, RDM, "SI EF BF", "SP PO")


@PAPER.item("Table I, PS-DSF with time division", "All of SI, EF, SP, PO and BF")
def table_1_time(run: Run) -> ItemAnswer:
    """The starred marks."""
    return _marks(run, TDM, "SI EF SP PO BF", "")


@PAPER.item("Figure 2", "Two servers and four users, for §III-A")
def figure_2(run: Run) -> ItemAnswer:
    """Users 1 and 2 need the network, which server 2 has not."""
    alone = examples.khamse_ashari_section_3a().gamma()
    checks = {
        "users 1 and 2 run on server 1 only": (alone[:2, 1] == 0).all() and (alone[:, 0] > 0).all()
    }
    return picture(checks, "the data of the example; its numbers stand under §III-A")


@PAPER.item(
    "Figure 3", "The PS-DSF allocation of Fig. 2: server 2 is used up by users 3 and 4", "psdsf-rdm"
)
def figure_3(run: Run) -> ItemAnswer:
    """Memory of server 1, and CPUs and memory of server 2 are used up."""
    used = allocate(examples.khamse_ashari_section_3a(), RDM).utilization
    checks = {
        "CPUs and memory of server 2 used up": np.allclose(
            used.loc["server2", ["cpu", "memory"]], 1
        ),
        "a resource of server 1 used up": np.isclose(used.loc["server1"].max(), 1),
    }
    return picture(checks, "the tasks stand under §III-A, example")


PAPER.uncheckable(
    "Table II",
    "Algorithm I",
    "the text of an algorithm; see the entry of Algorithm I. The paper calls its subroutine one of an Algorithm II, "
    "which there is not, and refers to Table III as Table IV",
)


@PAPER.item(
    "Figure 4", "Two users, three channels: 1.5 and 1 Mb/s; the second channel is shared equally"
)
def figure_4(run: Run) -> ItemAnswer:
    """The rates stand in the figure only; those that ship agree with the text."""
    allocation = allocate(examples.khamse_ashari_figure_4(), TDM)
    time = allocation.tasks_array / examples.khamse_ashari_figure_4().gamma()
    printed = named("rate of user", [1500, 1000]) | named("part of channel 2, user", ["1/2", "1/2"])
    printed |= {"channel 1 to user 1": 1, "channel 3 to user 2": 1}
    answer = beside(printed, [*allocation.totals, *time[:, 1], time[0, 0], time[1, 2]])
    if answer.verdict is Agreement.DIFFERS:
        return answer
    why = (
        "the rates are printed in the picture only; ours were chosen to give what the text says, "
        "so it is no test"
    )
    return ItemAnswer(Agreement.PICTURE, answer.ours, why, answer.numbers)


@PAPER.item(
    "§IV, scenario 1",
    "x[n] cannot be raised without lowering some x[m,i] with x[m]/γ[m,i] ≤ x[n]·γ[n,i]",
)
def misprinted_product(run: Run) -> ItemAnswer:
    """Fig. 4 with all of channel 2 for user 1: whose tasks the printed condition protects."""
    instance = examples.khamse_ashari_figure_4()
    rates = instance.gamma()
    tasks = rates * [[1, 1, 0], [0, 0, 1]]
    totals = tasks.sum(axis=1)
    as_printed = all(
        totals[m] / rates[m, i] <= totals[n] * rates[n, i]
        for m, i in np.argwhere(tasks > 0)
        for n in np.flatnonzero(rates[:, i])
    )
    by_time = quotients(tasks, rates).sum(axis=0)
    nothing_to_raise = as_printed and np.allclose(by_time, 1)
    is_fixed = check.check(instance, tasks, "tdm").holds
    ours = (
        f"with all of channel 2 user 1 has {totals[0]:g} kb/s, user 2 {totals[1]:g}: the printed "
        "condition protects every bit, Definition 5 does not"
    )
    why = "x[n]/γ[n,i] is meant, as in Definition 5; a product hangs on the unit of rates"
    return on_instance(instance, nothing_to_raise and not is_fixed, ours, why)


@PAPER.item(
    "Figure 5",
    "Four classes of 120 servers, weights 2, 2, 1, 1, users 3 and 4 on classes C and D only",
)
def figure_5(run: Run) -> ItemAnswer:
    """What of the figure the text says in numbers."""
    instance = examples.khamse_ashari_table_3()
    printed = {"servers": 120, **named("weight", [2, 2, 1, 1])}
    printed |= named("CPUs of", [1, "1/2", "1/2", "1/2"]) | named(
        "memory of", [1, "1/2", "1/4", "3/4"]
    )
    values = [
        instance.counts.sum(),
        *instance.weights,
        *instance.capacities[:, 0],
        *instance.capacities[:, 1],
    ]
    return compare(
        pairs(printed, values),
        "how many servers a class has stands in the picture: 8, 68, 33 and 11 fit Table III",
    )


@PAPER.item(
    "Table III",
    "Tasks alone: 80, 340, 82.5, 55; 40, 170, 41.25, 41.25; 0, 0, 82.5, 27.5; 0, 0, 27.5, 27.5",
)
def table_3(run: Run) -> ItemAnswer:
    """The demands are not printed; those that ship give the table."""
    alone = examples.khamse_ashari_table_3().gamma()
    rows = (
        [80, 340, "82.5", 55],
        [40, 170, "41.25", "41.25"],
        [0, 0, "82.5", "27.5"],
        [0, 0, "27.5", "27.5"],
    )
    return beside(
        _on_classes(rows),
        alone.flat,
        "the demands are not printed; these, not the only ones, give it",
    )


@PAPER.item("Table IV, PS-DSF", "40, 170, 0, 0; 20, 85, 0, 0; 0, 0, 82.5, 0; 0, 0, 0, 27.5")
def table_4(run: Run) -> ItemAnswer:
    """Tasks of PS-DSF by class."""
    tasks = allocate(examples.khamse_ashari_table_3(), RDM).tasks_array
    printed = _on_classes([[40, 170, 0, 0], [20, 85, 0, 0], [0, 0, "82.5", 0], [0, 0, 0, "27.5"]])
    return beside(printed, tasks.flat)


def _on_classes(rows: Iterable[Sequence[Any]]) -> dict[str, Any]:
    """Return what the paper printed of each user on each class of servers, by name."""
    return {
        f"user {n} on {name}": v
        for n, row in enumerate(rows, 1)
        for name, v in zip("ABCD", row, strict=True)
    }


@PAPER.item("Table IV, TSF", "Totals 35 + 170, 22.5 + 85, 58.33 and 8.05 + 27.5")
def table_4_tsf(run: Run) -> ItemAnswer:
    """Totals of TSF; where tasks run is not unique."""
    totals = allocate(examples.khamse_ashari_table_3(), "tsf").totals
    largest = (totals / [205, 107.5, 58.33, 35.55] - 1).abs().max()
    why = (
        f"by {100 * largest:.1g} % at most; levels of the printed totals are not quite equal, as "
        "those of TSF are"
    )
    return beside(named("user", ["≈205", "≈107.5", "≈58.33", "≈35.55"]), totals, otherwise=why)


@PAPER.item(
    "§V, full resources",
    "The CPUs of classes A and B and the memory of all classes are fully utilised under all three "
    "mechanisms",
)
def fully_utilised(run: Run) -> ItemAnswer:
    """The smallest utilisation of what is said to be full."""
    instance = examples.khamse_ashari_table_3()
    used = {name: allocate(instance, name).utilization for name in (RDM, "tsf", "c-drfh")}
    full = {
        f"CPUs of A and B, {name}": table.loc[["A", "B"], "cpu"].min()
        for name, table in used.items()
    }
    full |= {f"memory, {name}": table["memory"].min() for name, table in used.items()}
    demands = instance.demands.copy()
    demands[1, 0] = 2 / 15  # the most that Table III leaves open
    largest = (
        allocate(instance.replace(demands=demands), RDM).utilization.loc[["A", "B"], "cpu"].max()
    )
    why = (
        f"user 2's CPU is not printed; with the most that Table III allows {largest:.3g} of the CPUs "
        "are in use"
    )
    return beside(dict.fromkeys(full, 1), full.values(), otherwise=why, witness=in_words(instance))


def _less_in_use(cpu_of_user_2: float) -> str:
    """Return where PS-DSF leaves more CPU of C or D idle than TSF or C-DRFH, in words."""
    cluster = examples.khamse_ashari_table_3()
    demands = cluster.demands.copy()
    demands[1, 0] = cpu_of_user_2
    cluster = cluster.replace(demands=demands)
    places = []
    for when, users in (("all four", range(4)), ("without user 4", range(3))):
        present = cluster.select_users(np.array(users))
        used = {
            name: allocate(present, name).usage["cpu"].to_numpy() for name in (RDM, "tsf", "c-drfh")
        }
        for k in (2, 3):
            others = max(used["tsf"][k], used["c-drfh"][k])
            if used[RDM][k] < others * (1 - AUDIT):
                places.append(f"{cluster.servers[k]}, {when}")
    return f"less on {'; '.join(places)}" if places else "nowhere less"


@PAPER.item(
    "Figure 6",
    "CPU of C and D: PS-DSF uses more than TSF and C-DRFH; it converges promptly when user 4 "
    "leaves and returns",
    "c-drfh",
    "psdsf-rdm",
    "tsf",
)
def figure_6(run: Run) -> ItemAnswer:
    """Run the distributed procedure for 300 s; compare the use with and without user 4."""
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
    in_use = tracked.utilization
    lines = []
    for server in "CD":
        panel = f"class {server}"
        lines += [
            line(name, in_use.index, in_use[name, server, "cpu"], panel=panel)
            for name in (RDM, "tsf", "c-drfh")
        ]
        label = "paper: user 4 leaves, returns"
        lines.append(line(label, [100, 250], [0, 0], printed=True, panel=panel))
    chart = Chart(
        "Khamse-Ashari et al., Fig. 6: CPUs in use", "time [s]", "fraction in use", tuple(lines)
    )
    why = (
        "it depends on a number that the paper does not print, the CPU of user 2, which Table III "
        f"leaves open: {_less_in_use(0.1)} with 0.1, {_less_in_use(2 / 15)} with 2/15"
    )
    return picture(checks, why, chart=chart)


# Khamse-Ashari et al.: the theorems, lemmas and algorithms of PS-DSF, each in the paper's own
# terms.


def _unconstrained(rng: np.random.Generator, zeros: float = 0.2) -> Instance:
    """Return a random cluster of two or three servers whose users may run everywhere."""
    return integers(rng, users=(2, 5), servers=(2, 3), resources=(2, 3), zeros=zeros)


def _clusters(rng: np.random.Generator, zeros: float = 0.2) -> Instance:
    """Return a small random cluster with weights and placement constraints.

    With ``zeros`` some demands are zero.
    """
    plain = _unconstrained(rng, zeros)
    n = plain.demands.shape[0]
    k = plain.capacities.shape[0]
    eligible = rng.random((n, k)) < 0.75
    eligible[np.arange(n), rng.integers(0, k, n)] = True
    return plain.replace(weights=rng.integers(1, 4, n), eligible=eligible)


def _levels(instance: Instance, tasks: np.ndarray) -> np.ndarray:
    """Return s[n,i]/φ[n]; infinite where n may not run."""
    alone = instance.gamma() * instance.weights[:, None]
    return np.asarray(
        np.divide(
            tasks.sum(axis=1)[:, None], alone, out=np.full_like(alone, np.inf), where=alone > 0
        )
    )


def bottlenecks_of(instance: Instance, tasks: np.ndarray) -> np.ndarray:
    """Return whether resource r is a bottleneck of user n on server i (Definition 6); (N, K, R)."""
    level = _levels(instance, tasks)
    used = np.einsum("ni,nr->ir", tasks, instance.demands)
    full = used >= instance.capacities * (1 - AUDIT)
    alone = instance.gamma()
    runs_here = tasks > AUDIT * alone
    needs = instance.demands[:, None, :] > 0
    holds = runs_here[:, :, None] & needs
    finite_level = np.where(np.isfinite(level), level, 0.0)
    highest = np.where(holds, finite_level[:, :, None], 0.0).max(axis=0)
    lowest = level[:, :, None] >= highest[None] * (1 - AUDIT)
    return np.asarray(needs & full[None] & lowest)


def satisfies_theorem_1(instance: Instance, tasks: np.ndarray) -> bool:
    """Whether every user has a bottleneck on every server where it may run."""
    return bool((bottlenecks_of(instance, tasks).any(axis=2) | (instance.gamma() == 0)).all())


def _theorem_2(instance: Instance, tasks: np.ndarray) -> bool:
    """Whether all time is used, by users of the lowest level on the server."""
    alone = instance.gamma()
    level = _levels(instance, tasks)
    time = quotients(tasks, alone)
    someone = alone.any(axis=0)
    full = time.sum(axis=0) >= 1 - AUDIT
    lowest = level.min(axis=0)
    return bool(
        (full | ~someone).all()
        and (
            level[time > AUDIT] <= np.broadcast_to(lowest, level.shape)[time > AUDIT] * (1 + AUDIT)
        ).all()
    )


def _equivalent(run: Run, division: Literal["rdm", "tdm"]) -> ItemAnswer:
    """Return whether Definition 5 and the theorem's condition agree.

    They are compared on fixed points and on other allocations.
    """
    condition, name = (satisfies_theorem_1, RDM) if division == "rdm" else (_theorem_2, TDM)

    def agree(instance: Instance) -> CheckAnswer:
        fixed = allocate(instance, name).tasks_array
        half = 0.9 * fixed + 0.1 * allocate(instance, "naive-drf").tasks_array
        for tasks in (
            fixed,
            allocate(instance, RDM if division == "tdm" else "tsf").tasks_array,
            half,
        ):
            if division == "tdm":
                tasks = tasks / np.maximum(quotients(tasks, instance.gamma()).sum(axis=0), 1)
            if condition(instance, tasks) != check.check(instance, tasks, division).holds:
                return f"tasks {shown(tasks)}; {in_words(instance)}"
        return True

    return over(
        run, _clusters, agree, why="on PS-DSF, on another mechanism's allocation, and on a mixture"
    )


@PAPER.item(
    "Theorem 1",
    "Resources divided: PS-DSF if and only if every user has a bottleneck on every eligible server",
    "naive-drf",
    "psdsf-rdm",
    "tsf",
)
def theorem_1(run: Run) -> ItemAnswer:
    """Definition 6, in plain NumPy, beside the check by Definition 5."""
    return _equivalent(run, "rdm")


@PAPER.item(
    "Theorem 2",
    "Time divided: PS-DSF if and only if all time is used, by users of the lowest level there",
    "naive-drf",
    "psdsf-rdm",
    "psdsf-tdm",
)
def theorem_2(run: Run) -> ItemAnswer:
    """Formula (13), in plain NumPy, beside the check by Definition 5."""
    return _equivalent(run, "tdm")


@PAPER.statement(
    "Formula (11)", "Time division implies resource division", _clusters, of=("psdsf-tdm",)
)
def formula_11(instance: Instance) -> CheckAnswer:
    """Allocations under time division, audited for resources."""
    return audit(instance, allocate(instance, TDM), "feasible", division="rdm").holds.iloc[0]


PAPER.audited(
    "Theorem 3, resources divided",
    "Single-resource and bottleneck fairness, envy-freeness and the sharing incentive",
    RDM,
    "single-resource",
    "bottleneck",
    "envy-free",
    "sharing incentive",
    why="results.md proves the sharing incentive anew",
)
PAPER.audited(
    "Theorem 3, time divided",
    "The same, and Pareto optimality",
    TDM,
    "single-resource",
    "bottleneck",
    "envy-free",
    "sharing incentive",
    "Pareto-optimal",
)
PAPER.audited(
    "Theorem 3, strategy-proofness",
    "No user gains by lying where time is divided",
    TDM,
    "strategy-proof",
    lies=True,
    why="no lie that was tried pays",
)


@PAPER.statement(
    "§III-B, lies about the eligible servers",
    "No user gains by lying about its eligible servers under PS-DSF with time division, TSF and C-DRFH",
    _clusters,
    few=4,
    many=100,
    why="every set of servers is claimed; tasks on servers on which a user may not run are of no use to it",
    of=(
        "c-drfh",
        "psdsf-tdm",
        "tsf",
    ),
)
def lies_about_servers(instance: Instance) -> CheckAnswer:
    """Useful tasks of every such lie beside the honest ones."""
    servers = range(len(instance.servers))
    claims = [
        np.array(claim) for claim in product([False, True], repeat=len(servers)) if any(claim)
    ]
    for mechanism in (TDM, "tsf", "c-drfh"):
        honest = allocate(instance, mechanism).totals.to_numpy()
        for user, claimed in product(range(len(honest)), claims):
            eligible = instance.eligible.copy()
            eligible[user] = claimed
            tasks = allocate(instance.replace(eligible=eligible), mechanism).tasks_array[user]
            useful_tasks = tasks[instance.eligible[user]].sum()
            if useful_tasks > honest[user] * (1 + VERIFIED):
                may = ", ".join(compress(map(str, instance.servers), claimed))
                return f"{mechanism}: user {user + 1} claims {may}; {in_words(instance)}"
    return True


PAPER.shipped(
    "§III-B, Pareto optimality",
    "Where resources are divided PS-DSF is not Pareto-optimal",
    RDM,
    "Pareto-optimal",
    missing=True,
)
PAPER.shipped(
    "§III-B, strategy-proofness",
    "Where resources are divided PS-DSF is not strategy-proof in general",
    RDM,
    "strategy-proof",
    missing=True,
    tries=100,
)


@PAPER.item("§II-B, bottleneck fairness", "C-DRFH and TSF do not satisfy it")
def not_bottleneck(run: Run) -> ItemAnswer:
    """Fig. 1, audited."""
    instance = examples.khamse_ashari_figure_1()
    verdicts = [
        audit(instance, allocate(instance, name), "bottleneck").iloc[0]
        for name in ("c-drfh", "tsf")
    ]
    broken = all(verdict["holds"] is False for verdict in verdicts)
    return on_instance(
        instance, broken, "; ".join(verdict["witness"] for verdict in verdicts), missing=True
    )


PAPER.shipped(
    "§II-B, DRFH",
    "DRFH achieves bottleneck fairness",
    "drfh",
    "bottleneck",
    "by §III-B's definition, on every server; by Wang et al.'s, of the pool, it does (002, "
    "Proposition 6)",
)
PAPER.shipped(
    "§II-B, DRFH and sharing",
    "DRFH fails to provide the sharing incentive",
    "drfh",
    "sharing incentive",
    missing=True,
)


@PAPER.item(
    "§II-B, CDRF",
    "Without constraints: Pareto-optimal, strategy-proof, envy-free, with the sharing incentive",
)
def cdrf(run: Run) -> ItemAnswer:
    """Audited on random clusters without placement constraints, and a search for lies."""
    properties = ["Pareto-optimal", "envy-free", "sharing incentive"]

    def keeps(instance: Instance) -> CheckAnswer:
        answer = audit(instance, allocate(instance, "cdrf"), properties)
        broken = answer[answer.holds.eq(False)]
        return f"{broken.witness.iloc[0]}; {in_words(instance)}" if len(broken) else True

    answer = over(run, _unconstrained, keeps, few=12)
    lies = kept(run, "cdrf", "strategy-proof", lies=True)
    if lies.verdict is not Agreement.HOLDS:
        return lies
    return replace(answer, why=f"no lie on {lies.count} more pays")


def _by_eligible_servers(instance: Instance) -> np.ndarray:
    """Return the leximin of shares of a user's dominant resource on its eligible servers."""
    shares = [
        (demand / instance.total_capacities[may_run].sum(axis=0)).max()
        for demand, may_run in zip(instance.demands, instance.eligible, strict=True)
    ]
    of_pool = (instance.demands / instance.pool).max(axis=1)
    return allocate(instance.replace(weights=of_pool / shares), "drfh").tasks_array


@PAPER.item(
    "§II-B, eligible servers",
    "Where the dominant resource is that of the servers on which a user may run, users may have an "
    "incentive to misreport these",
)
def eligible_servers(run: Run) -> ItemAnswer:
    """The first user claims a server that has nothing of its second resource."""
    instance = Instance.from_arrays(
        [[1, 0.4], [1, 0]], [[1, 1], [1, 0]], eligible=[[True, False], [True, False]]
    )
    honest = _by_eligible_servers(instance)[0].sum()
    claimed = _by_eligible_servers(instance.replace(eligible=[[True, True], [True, False]]))
    useful = claimed[0, 0]
    return on_instance(
        instance,
        useful > honest * (1 + AUDIT),
        f"'user1' runs {honest:.6g} tasks, and {useful:.6g} where it claims the second server, too",
        missing=True,
    )


@PAPER.statement(
    "§I, one server",
    "On a single server PS-DSF is DRF",
    lambda rng: integers(rng, zeros=0.2),
    why="where resources are divided",
)
def one_server(instance: Instance) -> CheckAnswer:
    """PS-DSF where resources are divided, beside extended DRF, with zero demands too."""
    return np.allclose(
        allocate(instance, RDM).totals, allocate(instance, "edrf").totals, rtol=AUDIT
    )


def has_bottlenecks(instance: Instance, tasks: Sequence[Sequence[Fraction]]) -> bool:
    """Whether tasks are feasible and a fixed point by Theorem 1, in fractions, without weights."""
    need, capacity = (
        [[Fraction(float(entry)) for entry in row] for row in table]
        for table in (instance.demands, instance.capacities)
    )
    users = range(len(need))
    resources = range(len(need[0]))
    totals = [sum(row) for row in tasks]
    for i, available in enumerate(capacity):
        used = [sum(tasks[n][i] * need[n][r] for n in users) for r in resources]
        if any(used[r] > available[r] for r in resources):
            return False
        alone = {
            n: min(available[r] / need[n][r] for r in resources if need[n][r])
            for n in users
            if instance.eligible[n, i]
        }
        for n, own in alone.items():
            level = totals[n] / own
            if not any(
                need[n][r] > 0
                and used[r] == available[r]
                and all(totals[m] / alone[m] <= level for m in alone if tasks[m][i] * need[m][r])
                for r in resources
            ):
                return False
    return True


@PAPER.item(
    "Lemma 1",
    "All demands positive, resources divided: no lie about demands or the eligible servers takes from others without "
    "costing the liar",
)
def lemma_1(run: Run) -> ItemAnswer:
    """Bob, who may run on server 1 only, claims server 2: what ann has, and what bob can use."""
    users = ["ann", "bob"]
    honest = Instance.from_arrays(
        [[1, 2], [3, 2]], [[3, 3], [6, 9]], eligible=[[True, True], [True, False]], users=users
    )
    lie = honest.replace(eligible=np.ones((2, 2), dtype=bool))
    zero, one = Fraction(0), Fraction(1)
    truth = [[zero, Fraction(9, 2)], [one, zero]]
    outcome = [[zero, Fraction(99, 26)], [one, Fraction(9, 13)]]
    proved = has_bottlenecks(honest, truth) and has_bottlenecks(lie, outcome)
    is_ours = np.allclose(
        np.stack([allocate(instance, RDM).tasks_array for instance in (honest, lie)]),
        np.array([truth, outcome], dtype=float),
        rtol=AUDIT,
    )
    ann_loses = sum(outcome[0]) < sum(truth[0])
    bob_keeps = outcome[1][0] >= sum(truth[1])  # what bob has on server 2 is of no use to it
    ours = (
        f"ann has {sum(truth[0])} tasks, and {sum(outcome[0])} when bob claims server 2; of use to "
        f"bob is {outcome[1][0]} either way; both are fixed points, proved in fractions"
    )
    why = "lies about demands alone: Lemma 1, lies about demands"
    return on_instance(honest, proved and is_ours and ann_loses and bob_keeps, ours, why)


@PAPER.statement(
    "Lemma 1, lies about demands",
    "All demands positive, resources divided: no lie about demands takes from others without costing the liar",
    lambda rng: (_clusters(rng, zeros=0.0), rng),
    few=8,
    many=300,
    of=("psdsf-rdm",),
)
def lies_about_demands(drawn: tuple[Instance, np.random.Generator]) -> CheckAnswer:
    """Random lies about demands: others with less, and the liar with no less."""
    instance, rng = drawn
    honest = allocate(instance, RDM).totals.to_numpy()
    for user in range(len(instance.users)):
        for _ in range(8):
            claimed = auditing.nearby(instance.demands[user], rng)
            demands = instance.demands.copy()
            demands[user] = claimed
            lie = allocate(instance.replace(demands=demands), RDM).totals.to_numpy()
            useful_tasks = lie[user] * auditing.own_use(instance.demands[user], claimed)
            others = np.delete(lie / honest, user)
            if (
                useful_tasks >= honest[user] * (1 - AUDIT)
                and others.min() < 1 - tolerances.SHRINKING_MARGIN
            ):
                return (
                    f"user {user + 1} claims {shown(claimed)}, has {useful_tasks:.6g} tasks, not "
                    f"{honest[user]:.6g}, and "
                    f"another has {others.min():.4g} of what it had; {in_words(instance)}"
                )
    return True


@PAPER.statement(
    "Corollary 1",
    "A saturated resource is a bottleneck of a user of the lowest level if those of higher levels "
    "hold none of it",
    _clusters,
    of=("psdsf-rdm",),
)
def corollary_1(instance: Instance) -> CheckAnswer:
    """Wherever the corollary's conditions are met in a PS-DSF allocation."""
    tasks = allocate(instance, RDM).tasks_array
    level = _levels(instance, tasks)
    alone = instance.gamma()
    full = np.einsum("ni,nr->ir", tasks, instance.demands) >= instance.capacities * (1 - AUDIT)
    bottlenecks = bottlenecks_of(instance, tasks)
    conditions_met = False
    for i, r in np.argwhere(full):
        users = np.flatnonzero(
            (alone[:, i] > 0) & (instance.demands[:, r] > 0)
        )  # a user: it is full of tasks
        n = users[level[users, i].argmin()]
        higher = users[level[users, i] > level[n, i] * (1 + AUDIT)]
        if (tasks[higher, i] <= AUDIT * alone[higher, i]).all():
            conditions_met = True
            if not bottlenecks[n, i, r]:
                return f"user {n + 1}, server {i + 1}, resource {r + 1}; {in_words(instance)}"
    return True if conditions_met else None


@PAPER.item(
    "Lemma 2",
    "Time divided: of two users who exchange tasks of two servers, one at least has fewer in all",
)
def lemma_2(run: Run) -> ItemAnswer:
    """Equal users who each have one of two equal servers swap them."""
    instance = Instance.from_arrays([[1], [1]], [[1], [1]])
    tasks = np.eye(2)
    exchanged = tasks[:, ::-1]
    is_fixed = check.check(instance, tasks, "tdm").holds
    fits = (quotients(exchanged, instance.gamma()).sum(axis=0) <= 1).all()
    nobody_loses = (exchanged.sum(axis=1) >= tasks.sum(axis=1)).all()
    ours = f"they have {shown(tasks.sum(axis=1))} before, {shown(exchanged.sum(axis=1))} after"
    why = "where one has more, the other has fewer, as the proof says: Lemma 2, where one gains"
    return on_instance(instance, is_fixed and fits and nobody_loses, ours, why)


@PAPER.statement(
    "Lemma 2, where one gains",
    "Time divided: if one of two users who exchange tasks of two servers has more in all, the other has fewer",
    _clusters,
)
def where_one_gains(instance: Instance) -> CheckAnswer:
    """Rates of exchange are at most 1: γ[m,i]/γ[n,i]·γ[n,j]/γ[m,j], for n on i and m on j.

    The pairs are those of users n and m who hold tasks there.
    """
    tasks = allocate(instance, TDM).tasks_array
    alone = instance.gamma()
    holds = tasks > AUDIT * alone
    for n, i in np.argwhere(holds):
        for m, j in np.argwhere(holds):
            if n == m or i == j:
                continue
            tasks_of_other = alone[m, i] * alone[n, j]
            rate = tasks_of_other / (alone[n, i] * alone[m, j])
            if rate > 1 + AUDIT:
                return (
                    f"users {n + 1} and {m + 1}, servers {i + 1} and {j + 1}; {in_words(instance)}"
                )
    return True


def _reached(run: Run, method: str, few: int, why: str) -> ItemAnswer:
    """Return whether a method ends at a fixed point."""

    def reached(instance: Instance) -> CheckAnswer:
        try:
            allocation = allocate(instance, RDM, method=method)
        except NotConvergedError as error:
            return f"{error}; {in_words(instance)}"
        return check.check(instance, allocation).holds

    return over(run, _clusters, reached, few=few, many=300, why=why)


@PAPER.item(
    "Algorithm I",
    "Begins with DRF on each server and ends at a PS-DSF allocation; convergence is future work",
)
def algorithm_1(run: Run) -> ItemAnswer:
    """The paper's algorithm with the repairs that docs/per-server-fairness.md names."""
    return _reached(run, "algorithm-1", 30, "with the repairs that per-server-fairness.md names")


@PAPER.item(
    "§III-D, distributed", "Servers that act on their own, asynchronously, may achieve PS-DSF"
)
def distributed(run: Run) -> ItemAnswer:
    """Servers with clocks of their own."""
    return _reached(
        run, "distributed", 10, "each server has a clock of its own; settling is not proved"
    )
