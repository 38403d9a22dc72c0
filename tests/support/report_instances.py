"""Small clusters for reports: one with queues where everything there is to say occurs, and one with hostile names."""

from __future__ import annotations

import pandas as pd

import fairlp

HOSTILE = [
    "<script>window.broken=1</script>",
    '"><img src=x onerror="window.broken=2">',
    "'];window.broken=3;//",
    "</script><script>window.broken=4</script>",
    "${window.broken=5}{{7*7}}",
    'a"]+alert(1)+datum["b',
]


def queued():
    """Queues with guarantees and a cap; some wait, some hold more than is fair, some could have what is free."""
    instance = fairlp.Instance.from_arrays(
        [[1.0, 4.0, 0.0], [2.0, 2.0, 1.0], [1.0, 8.0, 0.0], [4.0, 4.0, 0.0], [1.0, 1.0, 0.0]],
        [[16.0, 64.0, 0.0], [16.0, 64.0, 4.0]],
        users=["ann", "bob", "cid", "dee", "eva"],
        servers=["plain", "gpus"],
        resources=["cpu", "memory", "gpu"],
        counts=[3, 2],
        queue=["org/red", "org/red", "org/blue", "lab", "lab"],
        queues={
            "org": {"weight": 2, "guarantee": {"cpu": 16.0}},
            "org/blue": {"cap": {"memory": 160.0}},
            "lab": {"weight": 1, "guarantee": {"cpu": 8.0}},
        },
        task_limits=[40, 10, 60, 20, 2],
        units={"memory": "GiB"},
        server_attributes=pd.DataFrame({"kind": ["plain", "with GPUs"]}),
        name="example",
    )
    return instance, [[10, 8], [0, 4], [12, 8], [2, 1], [1, 1]]


def hostile():
    """Everything that has a name has a hostile one."""
    count = len(HOSTILE)
    queue = [name.replace("/", "%2F") for name in HOSTILE]
    instance = fairlp.Instance.from_arrays(
        [[1.0 + k, 2.0] for k in range(count)],
        [[20.0, 40.0], [30.0, 30.0]],
        users=HOSTILE,
        servers=[f"{HOSTILE[0]} 1", f"{HOSTILE[3]} 2"],
        resources=[HOSTILE[1], HOSTILE[5]],
        queue=[f"{queue[0]}/{name}" for name in queue],
        units={HOSTILE[1]: HOSTILE[2]},
        server_attributes=pd.DataFrame({"kind": HOSTILE[2:4]}),
        name=HOSTILE[3],
    )
    return instance, [[2, 0]] + [[0, 1]] * (count - 1)
