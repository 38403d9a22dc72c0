"""THE table: every mechanism with its source, its formulation, its algorithms and what it promises."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from ..callable_module import make_callable
from ..errors import UnknownNameError, nearest
from .mechanism import Algorithm, Mechanism

if TYPE_CHECKING:
    import pandas as pd

_DRF = "fairlp.formulations.max_min"
_GAMMA = "fairlp.formulations.normalisers"
_ROUNDS = "fairlp.mechanisms.max_min.rounds"
_RUN_CORE = "fairlp.mechanisms.max_min.methods:combinatorial"
LP = Algorithm("lp", "fairlp.mechanisms.max_min.methods:leximin_lp", cost="one LP a round", solves=True)
INTERIOR_POINT = Algorithm(
    "interior-point",
    "fairlp.mechanisms.max_min.methods:leximin_interior",
    pays="fairlp.mechanisms.max_min.choice:pays",
    cost="O(NKR·min(N, KR)) an iteration, 10–40 iterations a round",
)
ROUNDS = Algorithm(
    "rounds",
    _RUN_CORE,
    f"{_ROUNDS}:edrf_rounds",
    applies=f"{_ROUNDS}:is_one_server",
    needs="one server",
    cost="O(NR(R + log N))",
)
CLOSED_FORM = Algorithm(
    "closed-form",
    _RUN_CORE,
    f"{_ROUNDS}:edrf_closed_form",
    applies=f"{_ROUNDS}:closed_form_applies",
    needs="one server, all demands positive, no task limits",
    cost="O(NR)",
)
SEPARATE = Algorithm("rounds", _RUN_CORE, f"{_ROUNDS}:separate_servers", cost="O(KNR(R + log N))")
SEPARATE_LP = Algorithm(
    "lp", "fairlp.mechanisms.max_min.methods:separate_lp", cost="one LP a round and server", solves=True
)

_DISCRETE = "fairlp.mechanisms.whole_tasks.methods"
FAST = Algorithm("fast", f"{_DISCRETE}:fast_filling", cost="O(NR) a pass, a few passes")
LOOP = Algorithm("loop", f"{_DISCRETE}:loop_filling", cost="O(R + log N) a task")
EXACT = Algorithm("exact", f"{_DISCRETE}:precomputed_drf", cost="O(NR)")
FLOATING = Algorithm("floating-point", f"{_DISCRETE}:precomputed_drf", cost="O(NR)")
CYCLES_LP = Algorithm("lp", f"{_DISCRETE}:precomputed_drf", cost="one LP of one variable", solves=True)
MILP = Algorithm("milp", f"{_DISCRETE}:leximin_milp", cost="two integer programs a level", solves=True)
_WHOLE = "fairlp.formulations.whole_tasks:whole_tasks"
_CHECKS = "fairlp.mechanisms.whole_tasks.validation"

_ARRIVALS, _STEPS = "fairlp.mechanisms.arrivals.methods", "fairlp.mechanisms.arrivals.algorithms"
STACK = Algorithm("stack", f"{_ARRIVALS}:drf", f"{_STEPS}:stack", cost="O(NR) for all steps, amortised O(R) a step")
LINEAR = Algorithm("linear", f"{_ARRIVALS}:drf", f"{_STEPS}:linear", cost="O(NR) a step")
WATER = Algorithm("water-filling", f"{_ARRIVALS}:drf", f"{_STEPS}:water_filling", cost="O(NR) a stage")
CAUTIOUS = Algorithm("closed-form", f"{_ARRIVALS}:cautious", cost="O(NR) for all steps")
STEPS_LP = Algorithm("lp", f"{_ARRIVALS}:lp", cost="one LP a step", solves=True)
_IN_TURN = ("one server", "no placement constraints", "no rates", "no task limits", "one weight a user")

_PER_SERVER, _SERVERS = "fairlp.formulations.per_server", "fairlp.mechanisms.per_server.methods"
BEST_RESPONSE = Algorithm("best-response", f"{_SERVERS}:sweeps", cost="O(NK(R + log N)) a sweep, tens of sweeps")
SWEEPS = Algorithm("sweeps", f"{_SERVERS}:sweeps", cost="O(NK(R + log N)) a sweep, thousands of sweeps")
ALGORITHM_1 = Algorithm("algorithm-1", f"{_SERVERS}:sweeps", cost="Algorithm I; as many sweeps, twice the time of each")
DISTRIBUTED = Algorithm("distributed", f"{_SERVERS}:distributed", cost="as sweeps; a simulation of clocks and messages")
_CLOCKS = ("most_sweeps", "period", "jitter", "delay", "damping", "step", "clock_seed", "seconds")
INTERIOR_TIME = replace(INTERIOR_POINT, runner=f"{_SERVERS}:interior_point")
MARKET = Algorithm("convex", f"{_SERVERS}:convex", cost="one convex program", solves=True)
PER_SERVER_MILP = Algorithm("milp", f"{_SERVERS}:milp", cost="one integer program (small instances)", solves=True)

_COMPLAINTS = "fairlp.mechanisms.complaints.methods"
EXACT_MARKET = Algorithm(
    "eg",
    f"{_COMPLAINTS}:market",
    applies=f"{_ROUNDS}:is_one_server",
    needs="one server",
    cost="O(NR²) a Newton step, some 20 steps",
)
INTERIOR_EG = replace(INTERIOR_POINT, runner=f"{_COMPLAINTS}:interior_point")
EISENBERG_GALE = Algorithm("convex", f"{_COMPLAINTS}:convex", cost="one convex program", solves=True)
BEST_FAIR = Algorithm("milp", f"{_COMPLAINTS}:best_fair", cost="one integer program of R binaries", solves=True)
CANDIDATES = Algorithm("candidates", f"{_COMPLAINTS}:best_fair", cost="up to 2^R linear programs", solves=True)
TRAJECTORY = Algorithm("trajectory", f"{_COMPLAINTS}:trajectory", cost="O(NR²) a step, hundreds of steps")
NEWTON = Algorithm("newton", f"{_COMPLAINTS}:trajectory", cost="O(NR²) a step, hundreds of steps")
EXACT_CEEI = replace(EXACT_MARKET, runner="fairlp.mechanisms.complaints.proportional:one_server")
INTERIOR_CEEI = replace(INTERIOR_POINT, runner="fairlp.mechanisms.complaints.proportional:interior_point")
CEEI = Algorithm("convex", "fairlp.mechanisms.complaints.proportional:convex", cost="one convex program", solves=True)
_MARKET = ("sharing incentive", "envy-free", "Pareto-optimal", "bottleneck", "single-resource")

PLACEMENT = Algorithm(
    "placement", "fairlp.mechanisms.whole_tasks.placement_methods:placed", cost="O(SR + log N) a task"
)

_FAIR = ("Pareto-optimal", "envy-free", "strategy-proof", "bottleneck", "single-resource")
_WANG = "Wang, Li and Liang, INFOCOM 2014"


def _placement(name: str, title: str, source: str, options: tuple[str, ...] = ("ties",)) -> Mechanism:
    """Return the row of a policy that places whole tasks on servers."""
    return Mechanism(
        name,
        title,
        source,
        f"{_DRF}:drfh",
        f"{_GAMMA}:dominant",
        (PLACEMENT,),
        (),
        ("no rates", "one weight a user"),
        options=options,
        validator=f"{_CHECKS}:check_placement",
        compared=False,
        whole_tasks=True,
    )


_ROWS = (
    Mechanism(
        "drf",
        "Dominant Resource Fairness",
        "Ghodsi et al., NSDI 2011",
        f"{_DRF}:drf",
        f"{_GAMMA}:dominant",
        (ROUNDS, INTERIOR_POINT, LP),
        ("sharing incentive", *_FAIR, "population-monotonic"),
        ("one server",),
    ),
    Mechanism(
        "edrf",
        "Extended DRF (per-resource weights, zero demands)",
        "Parkes, Procaccia and Shah, EC 2012",
        f"{_DRF}:edrf",
        f"{_GAMMA}:dominant",
        (CLOSED_FORM, ROUNDS, INTERIOR_POINT, LP),
        ("sharing incentive", *_FAIR, "population-monotonic"),
        ("one server",),
    ),
    Mechanism(
        "asset",
        "Asset fairness (equal sums of shares)",
        "Ghodsi et al., NSDI 2011, §4.1",
        f"{_DRF}:asset",
        f"{_GAMMA}:asset",
        (ROUNDS, INTERIOR_POINT, LP),
        ("envy-free", "strategy-proof", "Pareto-optimal", "single-resource", "population-monotonic"),
        ("one weight a user",),
    ),
    Mechanism(
        "drfh",
        "DRF on heterogeneous servers (global dominant share)",
        "Wang, Li and Liang, INFOCOM 2014",
        f"{_DRF}:drfh",
        f"{_GAMMA}:dominant",
        (ROUNDS, INTERIOR_POINT, LP),
        ("envy-free", "Pareto-optimal", "strategy-proof", "bottleneck", "single-resource", "population-monotonic"),
    ),
    Mechanism(
        "c-drfh",
        "DRFH under placement constraints",
        "Wang, Li and Liang; Khamse-Ashari et al., ICC 2017, §II",
        f"{_DRF}:drfh",
        f"{_GAMMA}:dominant",
        (ROUNDS, INTERIOR_POINT, LP),
        ("Pareto-optimal", "envy-free", "strategy-proof"),
    ),
    Mechanism(
        "cdrf",
        "Containerised DRF (share of what one could run alone)",
        "Friedman, Ghodsi and Psomas, EC 2014",
        f"{_DRF}:cdrf",
        f"{_GAMMA}:containerized",
        (ROUNDS, INTERIOR_POINT, LP),
        ("Pareto-optimal", "sharing incentive", "envy-free", "strategy-proof"),
        ("no placement constraints", "one weight a user"),
    ),
    Mechanism(
        "tsf",
        "Task-share fairness under placement constraints",
        "Wang et al., SC 2016",
        f"{_DRF}:tsf",
        f"{_GAMMA}:task_share",
        (ROUNDS, INTERIOR_POINT, LP),
        ("Pareto-optimal", "sharing incentive", "envy-free", "strategy-proof"),
        ("one weight a user",),
    ),
    Mechanism(
        "naive-drf",
        "DRF on each server separately",
        "Wang, Li and Liang, INFOCOM 2014, §III-D",
        f"{_DRF}:naive_drf",
        f"{_GAMMA}:dominant",
        (SEPARATE, SEPARATE_LP),
        ("sharing incentive",),
        ("one weight a user",),
    ),
    Mechanism(
        "psdsf-rdm",
        "Per-server dominant share fairness, resources divided",
        "Khamse-Ashari et al., ICC 2017",
        f"{_PER_SERVER}:psdsf_rdm",
        f"{_GAMMA}:containerized",
        (BEST_RESPONSE, SWEEPS, ALGORITHM_1, DISTRIBUTED, PER_SERVER_MILP),
        ("sharing incentive", "envy-free", "bottleneck", "single-resource"),
        ("one weight a user",),
        options=_CLOCKS,
        validator="fairlp.mechanisms.per_server.check:validate_methods",
    ),
    Mechanism(
        "psdsf-tdm",
        "Per-server dominant share fairness, time divided",
        "Khamse-Ashari et al., ICC 2017",
        f"{_PER_SERVER}:psdsf_tdm",
        f"{_GAMMA}:containerized",
        (BEST_RESPONSE, SWEEPS, ALGORITHM_1, DISTRIBUTED, INTERIOR_TIME, MARKET, PER_SERVER_MILP),
        ("sharing incentive", "envy-free", "bottleneck", "single-resource", "Pareto-optimal", "strategy-proof"),
        ("one weight a user",),
        options=_CLOCKS,
        validator="fairlp.mechanisms.per_server.check:validate_methods",
    ),
    Mechanism(
        "njc",
        "No justified complaints (entitlements and bottlenecks)",
        "Dolev et al., ITCS 2012; Gutman and Nisan, AAMAS 2012",
        "fairlp.formulations.complaints:njc",
        f"{_GAMMA}:dominant",
        (EXACT_MARKET, INTERIOR_EG, EISENBERG_GALE, BEST_FAIR, CANDIDATES, TRAJECTORY, NEWTON),
        _MARKET,
        ("one server", "no rates", "one weight a user"),
        options=("criterion",),
        validator="fairlp.mechanisms.complaints.validation:check_njc",
    ),
    Mechanism(
        "ceei",
        "Proportional fairness (competitive equilibrium from given incomes)",
        "Eisenberg and Gale, 1959; Varian, 1974",
        "fairlp.formulations.proportional:ceei",
        f"{_GAMMA}:containerized",
        (EXACT_CEEI, INTERIOR_CEEI, CEEI),
        _MARKET,
        ("no rates", "one weight a user"),
        validator="fairlp.mechanisms.complaints.validation:check_ceei",
    ),
    Mechanism(
        "drf-discrete",
        "DRF with whole tasks (progressive filling)",
        "Ghodsi et al., NSDI 2011, Algorithm 1",
        _WHOLE,
        f"{_GAMMA}:dominant",
        (FAST, LOOP),
        ("Pareto-optimal",),
        ("one server", "no rates"),
        options=("rule", "ties", "trace"),
        validator=f"{_CHECKS}:check_filling",
        whole_tasks=True,
    ),
    Mechanism(
        "drf-milp",
        "DRF with whole tasks, leximin-optimal (integer programs; small instances)",
        "Ghodsi et al., NSDI 2011, §4; leximin over whole tasks",
        _WHOLE,
        f"{_GAMMA}:dominant",
        (MILP,),
        ("Pareto-optimal",),
        ("one server", "no rates"),
        validator=f"{_CHECKS}:check_milp",
        compared=False,
        whole_tasks=True,
    ),
    Mechanism(
        "pdrf",
        "Precomputed DRF",
        "Metin, Precomputed Dominant Resource Fairness, Algorithm 1",
        "fairlp.formulations.whole_tasks:precomputed_drf",
        f"{_GAMMA}:dominant",
        (EXACT, FLOATING, CYCLES_LP),
        (),
        ("one server", "no rates"),
        options=("divisible", "repair", "higher_order", "ties"),
        validator=f"{_CHECKS}:check_precomputed",
        whole_tasks=True,
    ),
    Mechanism(
        "sequential-minmax",
        "Sequential Minmax (whole tasks)",
        "Parkes, Procaccia and Shah, EC 2012, §5",
        _WHOLE,
        f"{_GAMMA}:dominant",
        (FAST, LOOP),
        ("Pareto-optimal",),
        ("one server", "no rates"),
        options=("ties", "trace"),
        validator=f"{_CHECKS}:check_filling",
        whole_tasks=True,
    ),
    Mechanism(
        "dynamic-drf",
        "Dynamic DRF (users arrive one by one and never leave)",
        "Kash, Procaccia and Shah, JAIR 2014; Li et al., 2019",
        f"{_ARRIVALS}:formulate_drf",
        f"{_GAMMA}:dominant",
        (STACK, WATER, LINEAR, STEPS_LP),
        (
            "dynamic sharing incentive",
            "dynamically envy-free",
            "dynamically Pareto-optimal",
            "strategy-proof",
            "irrevocable",
        ),
        _IN_TURN,
        options=("horizon",),
        validator=f"{_ARRIVALS}:check_steps",
        compared=False,
    ),
    Mechanism(
        "cautious-lp",
        "Cautious LP (keeps enough for users still to come)",
        "our reading of Kash, Procaccia and Shah, JAIR 2014",
        f"{_ARRIVALS}:formulate_cautious",
        f"{_GAMMA}:dominant",
        (CAUTIOUS, STEPS_LP),
        ("dynamic sharing incentive", "envy-free", "irrevocable"),
        _IN_TURN,
        options=("horizon",),
        validator=f"{_ARRIVALS}:check_steps",
        compared=False,
    ),
    _placement("drfh-first-fit", "First-Fit DRFH (whole tasks; the first server that fits)", f"{_WANG}, §V-B"),
    _placement(
        "drfh-best-fit", "Best-Fit DRFH (whole tasks; the server most like the task)", f"{_WANG}, §V-B, eq. (9)"
    ),
    _placement(
        "slots",
        "Slots (every server cut into equal slots, one a task)",
        f"Hadoop's fair scheduler; {_WANG}, §VI",
        options=("ties", "slots"),
    ),
)

#: name → mechanism, in the order of the documentation
TABLE: dict[str, Mechanism] = {row.name: row for row in _ROWS}


def find(name: str) -> Mechanism:
    """Return the mechanism of that name."""
    if name not in TABLE:
        raise UnknownNameError(f"no mechanism is called {name!r}; {nearest(name, TABLE)}")
    return TABLE[name]


def table() -> pd.DataFrame:
    """Return every mechanism as a DataFrame indexed by name: title, source, methods, options, domain, promises."""
    import pandas as pd

    rows = {
        row.name: {
            "title": row.title,
            "source": row.source,
            "methods": ", ".join(row.methods),
            "options": ", ".join(row.options),
            "defined_for": ", ".join(row.domain) or "any instance",
            "promises": ", ".join(row.promises),
        }
        for row in TABLE.values()
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("mechanism")


make_callable(sys.modules[__name__], table)
