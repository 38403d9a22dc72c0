"""Numbers that tell a mechanism from others: who judges a statement of one computes that one.

Most properties hold of several mechanisms; an item that claims something *of a mechanism* first asks
whether it is that one, by the tasks of an instance on which others differ.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from fairlp import Instance, allocate, examples

from .verdicts import AUDIT


def _satisfied_in_a_queue() -> Instance:
    """Return 30 units; bob, in a queue below ann's, is guaranteed both tasks that it has."""
    return Instance.from_arrays(
        [[1], [1], [1]],
        [[30]],
        task_limits=[np.inf, 2, np.inf],
        queue=["q", "q/b", ""],
        queues={"q/b": {"guarantee": {"resource1": 2}}},
    )


#: Mechanism → an instance, and the tasks of its users. Printed: Ghodsi et al. (2011), Wang et al.,
#: Khamse-Ashari et al. (Figure 1), Dolev et al. (Figure 2). By hand: two users who take turns on one
#: server; 20, 40 and the rest of 60 units for users who arrive.
GOLDEN: dict[str, tuple[Callable[[], Instance], tuple[str, ...]]] = {
    "drf": (examples.ghodsi, ("3", "2")),
    "edrf": (examples.ghodsi, ("3", "2")),
    "asset": (examples.ghodsi, ("63/25", "54/25")),
    "ceei": (examples.ghodsi, ("45/11", "18/11")),
    "drfh": (examples.khamse_ashari_figure_1, ("60/23", "72/23", "144/23")),
    "c-drfh": (examples.khamse_ashari_figure_1, ("60/23", "72/23", "144/23")),
    "tsf": (examples.khamse_ashari_figure_1, ("2", "2", "8")),
    "psdsf-rdm": (examples.khamse_ashari_figure_1, ("3", "3", "6")),
    "psdsf-tdm": (examples.dolev_section_4, ("1/2", "1/2")),
    "naive-drf": (examples.wang_figure_1, ("6", "6")),
    "njc": (examples.dolev_figure_2, ("1/3", "1/3", "5/6")),
    "pdrf": (examples.cycles, ("5", "2", "1")),
    "drf-discrete": (examples.cycles, ("6", "3", "1")),
    "dynamic-drf": (examples.bhattacharya_starvation, ("40", "40", "20")),
    "cautious-lp": (examples.bhattacharya_starvation, ("30", "30", "30")),
    "h-drf": (_satisfied_in_a_queue, ("14", "2", "14")),
    "h-drf-counted": (_satisfied_in_a_queue, ("13", "2", "15")),
}


def other_than(mechanism: str) -> str:
    """Return how a mechanism that is computed differs from itself; empty where it does not.

    >>> other_than("drf")
    ''
    """
    if mechanism not in GOLDEN:
        return ""
    instance, printed = GOLDEN[mechanism]
    tasks = allocate(instance(), mechanism).totals.to_numpy()
    right = np.array([float(Fraction(number)) for number in printed])
    if np.allclose(tasks, right, rtol=AUDIT, atol=AUDIT):
        return ""
    told = ", ".join(f"{number:.6g}" for number in tasks)
    return f"what is computed is not {mechanism}: {told} tasks, and {', '.join(printed)} are right"


__all__ = ["GOLDEN", "other_than"]
